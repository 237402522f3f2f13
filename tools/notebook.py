"""Runs the notebook of the examples and writes what its cells show, without Jupyter: `python -m tools.notebook`.

Code cells are run in their order in one namespace, from the root of the repository. What a cell prints, and what its
last line is if that is an expression, are its outputs; nothing else is (no pictures; a cell that fails ends it).
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
NOTEBOOK: Final = ROOT / "examples" / "notebook.ipynb"
Cell = dict[str, Any]


def outputs_of(notebook: dict[str, Any]) -> list[list[Cell]]:
    """Run the code cells; return the outputs of each."""
    known: dict[str, Any] = {"__name__": "__main__"}
    with _at_the_root():
        return [_run(cell, number, known) for number, cell in enumerate(code_cells(notebook), start=1)]


def code_cells(notebook: dict[str, Any]) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def written(notebook: dict[str, Any]) -> str:
    """Return the file of a notebook."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _run(cell: Cell, number: int, known: dict[str, Any]) -> list[Cell]:
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, shown = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), known)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), known)
    return [*_stream(printed.getvalue()), *_result(shown, number)]


def _stream(text: str) -> Iterator[Cell]:
    if text:
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def _result(shown: Any, number: int) -> Iterator[Cell]:
    if shown is None:
        return
    data = {"text/plain": repr(shown).splitlines(keepends=True)}
    if hasattr(shown, "_repr_html_"):
        data["text/html"] = shown._repr_html_().splitlines(keepends=True)
    yield {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


@contextmanager
def _at_the_root() -> Iterator[None]:
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> int:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for number, (cell, outputs) in enumerate(zip(code_cells(notebook), outputs_of(notebook), strict=True), start=1):
        cell.update(execution_count=number, outputs=outputs)
    NOTEBOOK.write_text(written(notebook), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
