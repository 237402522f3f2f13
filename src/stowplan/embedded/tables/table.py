"""Lays out objects as a Table, with the columns of their resource."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec

from stowplan.embedded.custom.resource import CustomResource, PrinterColumn
from stowplan.embedded.objects.errors import bad_request
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.tables import cluster, network, pods, server_settings, storage, workloads
from stowplan.embedded.tables.column import CREATED_AT, NAME, Columns, TableColumn
from stowplan.embedded.tables.wording import age_of, moment_of

_BUILT_IN: Final[Columns] = {
    **pods.COLUMNS,
    **workloads.COLUMNS,
    **cluster.COLUMNS,
    **storage.COLUMNS,
    **network.COLUMNS,
    **server_settings.COLUMNS,
}
#: What is said of a whole row.
_CONDITIONS: Final[dict[str, Callable[[Object], list[Object]]]] = {"pods": pods.conditions}


def as_table(resource: Resource, objects: Sequence[Object], now: datetime, include_object: str = "") -> Object:
    """Lay out objects as a Table; the caller adds the metadata of the list.

    `include_object` is what the query parameter `includeObject` says of each row's object: None, Metadata or Object.
    """
    columns, conditions_of = _columns(resource), _CONDITIONS.get(resource.qualified)
    rows: list[Object] = []
    for obj in objects:
        row: Object = {"cells": [column.read(obj, now) for column in columns]}
        if conditions_of is not None and (conditions := conditions_of(obj)):
            row["conditions"] = conditions
        rows.append(row | {"object": _included(obj, include_object)})
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": rows,
    }


def check_included(include_object: str) -> None:
    """Raise StatusError 400 if `includeObject` says nothing that is known."""
    if include_object not in ("", "None", "Metadata", "Object"):
        raise bad_request(f'unrecognized includeObject value: "{include_object}"; use None, Metadata or Object')


def _columns(resource: Resource) -> tuple[TableColumn, ...]:
    if isinstance(resource, CustomResource):
        return NAME, *(_printed(each) for each in resource.printer_columns)
    found = _BUILT_IN.get(resource.qualified, (CREATED_AT,))
    return found if any(column.name == NAME.name for column in found) else (NAME, *found)


def _definition(column: TableColumn) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _included(obj: Object, include_object: str) -> Object | None:
    match include_object:
        case "" | "Metadata":
            return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj.get("metadata")}
        case "Object":
            return obj
        case _:
            return None


def _printed(column: PrinterColumn) -> TableColumn:
    """A column that the definition of a custom resource asks for."""
    return TableColumn(
        column.name, partial(_cell, column), column.type, column.format, column.priority, column.description
    )


def _cell(column: PrinterColumn, obj: Object, now: datetime) -> Any:
    """Show a value as the type of its column asks; one that does not fit the type leaves the cell empty."""
    found = column.path.first(obj)
    if found is None:
        return None
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    match column.type:
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
