"""The columns of custom resources: the name, and those that the definition asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from stowplan.embedded.custom.resource import PrinterColumn
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.age import age_of, moment_of
from stowplan.embedded.tables.column import NAME, Column, Sheet


def sheet(columns: Iterable[PrinterColumn]) -> Sheet:
    return Sheet((NAME, *(_column(each) for each in columns)))


def _column(printed: PrinterColumn) -> Column:
    return Column(printed.name, _reader(printed), printed.type, printed.format, printed.priority, printed.description)


def _reader(printed: PrinterColumn) -> Callable[[Object, datetime], Any]:
    def read(obj: Object, now: datetime) -> Any:
        found = printed.path.first(obj)
        return None if found is None else cell(printed.type, found, now)

    return read


def cell(kind: str, found: Any, now: datetime) -> Any:
    """Show a value as the type of its column asks; one that does not fit the type leaves the cell empty."""
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    match kind:
        case "string":
            return found if isinstance(found, str) else msgspec.json.encode(found).decode()
        case "date" if isinstance(found, str):
            return "<invalid>" if moment_of(found) is None else age_of(found, now)
        case "integer" if is_number:
            return int(found)
        case "number" if is_number:
            return found
        case "boolean" if isinstance(found, bool):
            return found
        case _:
            return None
