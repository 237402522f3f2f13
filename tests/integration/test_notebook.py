"""The notebook of the examples, run cell by cell: what it shows is what is stored in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools import notebook

STORED: dict[str, Any] = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))


def test_every_cell_shows_what_is_stored_in_it() -> None:
    cells = notebook.code_cells(STORED)
    for cell, outputs in zip(cells, notebook.outputs_of(STORED), strict=True):
        assert cell["outputs"] == outputs, "".join(cell["source"])
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) > 5


def test_the_file_is_written_as_the_tool_writes_it() -> None:
    assert notebook.NOTEBOOK.read_text(encoding="utf-8") == notebook.written(STORED)
    assert (STORED["nbformat"], STORED["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in STORED["cells"]]
    assert len(set(ids)) == len(ids)


def test_outputs_are_what_is_printed_and_the_last_expression() -> None:
    made = {"cells": [{"cell_type": "code", "source": ["x = 2\n", "print('two')\n", "x + 1"]}]}
    ((printed, shown),) = notebook.outputs_of(made)
    assert printed == {"name": "stdout", "output_type": "stream", "text": ["two\n"]}
    assert shown["data"] == {"text/plain": ["3"]}


def test_a_cell_that_fails_ends_it() -> None:
    with pytest.raises(ZeroDivisionError):
        notebook.outputs_of({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]})
