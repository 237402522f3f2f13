"""What a column of a table is, and the columns that almost every table has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.age import age_of


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `read` gives the cell of an object at a time."""

    name: str
    read: Callable[[Object, datetime], Any]
    type: str = "string"
    format: str = ""
    #: Columns above 0 are shown by `-o wide` only.
    priority: int = 0
    description: str = ""


def _no_conditions(obj: Object) -> list[Object]:
    return []


@dataclass(frozen=True, slots=True)
class Sheet:
    """The columns of one resource, and what is said of a whole row."""

    columns: tuple[Column, ...]
    conditions: Callable[[Object], list[Object]] = _no_conditions


def column(name: str, read: Callable[[Object], Any], type_: str = "string") -> Column:
    """Make a column whose cells do not depend on the time."""
    return Column(name, lambda obj, now: read(obj), type_)


def wide(name: str, read: Callable[[Object], Any]) -> Column:
    """Make a column that only `-o wide` shows."""
    return Column(name, lambda obj, now: read(obj), priority=1)


def value(name: str, *path: str, absent: str = "", priority: int = 0) -> Column:
    """Make a column of the text at a path."""
    return Column(name, lambda obj, now: reading.text(obj, *path) or absent, priority=priority)


def number(name: str, *path: str) -> Column:
    """Make a column of the whole number at a path."""
    return Column(name, lambda obj, now: reading.count(obj, *path), "integer")


NAME: Final = Column("Name", lambda obj, now: reading.text(obj, "metadata", "name"), format="name")
AGE: Final = Column("Age", lambda obj, now: age_of(reading.text(obj, "metadata", "creationTimestamp"), now))
CREATED_AT: Final = Column("Created At", lambda obj, now: reading.text(obj, "metadata", "creationTimestamp"), "date")
