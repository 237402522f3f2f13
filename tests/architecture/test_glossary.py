"""The glossary is true: every file in it is there, and defines the names of its rows."""

import re
from typing import NamedTuple

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, defined_names

PAGE = ROOT / "docs" / "glossary.md"
ROW = re.compile(r"^\| (?P<ours>[^|]+) \| (?P<upstream>[^|]+) \| `(?P<file>[^|]+)` \|$")
NAME = re.compile(r"`([\w.]+)`")


class Entry(NamedTuple):
    """One row of the page."""

    ours: str
    upstream: str
    file: str


def entries() -> list[Entry]:
    """Read the rows of all tables."""
    found = map(ROW.match, PAGE.read_text(encoding="utf-8").splitlines())
    return [Entry(**row.groupdict()) for row in found if row is not None]


def test_every_row_of_the_page_is_read() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(entries()) == len(rows) > 50


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.ours.strip("`"))
def test_a_name_is_defined_where_the_glossary_says(entry: Entry) -> None:
    path = PACKAGE / entry.file
    assert path.is_file(), f"{entry.file} does not exist"
    names = NAME.findall(entry.ours)
    assert names, "a row names something of ours"
    assert [name for name in names if name not in defined_names(path)] == []


def test_no_name_stands_twice() -> None:
    ours = [entry.ours for entry in entries()]
    assert sorted(ours) == sorted(set(ours))
