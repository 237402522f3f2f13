"""What a column of a table is, and the columns that almost every table has. `wording` has the text of cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.wording import age_of, labels


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column: `read` gives the cell of an object at a time."""

    name: str
    read: Callable[[Object, datetime], Any]
    type: str = "string"
    format: str = ""
    #: Columns above 0 are shown by `-o wide` only.
    priority: int = 0
    description: str = ""


#: The columns of each resource, by its qualified name; that of its own name comes first and is left out here.
Columns = Mapping[str, tuple[TableColumn, ...]]


def column(name: str, read: Callable[[Object], Any], type_: str = "string") -> TableColumn:
    """Make a column whose cells do not depend on the time."""
    return TableColumn(name, lambda obj, now: read(obj), type_)


def wide(name: str, read: Callable[[Object], Any]) -> TableColumn:
    """Make a column that only `-o wide` shows."""
    return TableColumn(name, lambda obj, now: read(obj), priority=1)


def value(name: str, path: str, absent: str = "", priority: int = 0) -> TableColumn:
    """Make a column of the text at a path."""
    keys = path.split(".")
    return TableColumn(name, lambda obj, now: reading.text(obj, *keys) or absent, priority=priority)


def shown(name: str, path: str, absent: Any, say: Callable[[Any], Any] = str, type_: str = "string") -> TableColumn:
    """Make a column of what is at a path, whatever that is, in the words of `say`."""
    keys = path.split(".")

    def read(obj: Object, now: datetime) -> Any:
        found = reading.at(obj, *keys)
        return absent if found is None else say(found)

    return TableColumn(name, read, type_)


def pairs(name: str, path: str, priority: int = 0) -> TableColumn:
    """Make a column of the labels at a path, or of a selector that is written like them."""
    keys = path.split(".")
    return TableColumn(name, lambda obj, now: labels(reading.mapping(obj, *keys)), priority=priority)


def number(name: str, path: str, type_: str = "integer") -> TableColumn:
    """Make a column of the whole number at a path; upstream declares some of them as text."""
    keys = path.split(".")
    return TableColumn(name, lambda obj, now: reading.count(obj, *keys), type_)


def count(name: str, path: str) -> TableColumn:
    """Make a column of how many items the list at a path has."""
    keys = path.split(".")
    return TableColumn(name, lambda obj, now: len(reading.entries(obj, *keys)), "integer")


def flag(name: str, path: str, *, absent: bool = False) -> TableColumn:
    """Make a column of whether something is said at a path."""
    return shown(name, path, absent, bool, "boolean")


NAME: Final = TableColumn("Name", lambda obj, now: reading.text(obj, "metadata", "name"), format="name")
AGE: Final = TableColumn("Age", lambda obj, now: age_of(reading.text(obj, "metadata", "creationTimestamp"), now))
CREATED_AT: Final = TableColumn(
    "Created At", lambda obj, now: reading.text(obj, "metadata", "creationTimestamp"), "date"
)
