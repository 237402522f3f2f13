"""Lists and objects as tables: the columns that `kubectl get` shows.

`as_table` is the way in. The columns of the built-in resources are in one file per area, those of a custom resource
come from its definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.objects.errors import bad_request
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.tables import (
    access,
    cluster,
    devices,
    network,
    pods,
    printed,
    server_settings,
    storage,
    workloads,
)
from stowplan.embedded.tables.column import CREATED_AT, NAME, Column, Sheet

_DEFAULT: Final = Sheet((NAME, CREATED_AT))

_BUILT_IN: Final = {
    **pods.SHEETS,
    **workloads.SHEETS,
    **cluster.SHEETS,
    **storage.SHEETS,
    **devices.SHEETS,
    **network.SHEETS,
    **access.SHEETS,
    **server_settings.SHEETS,
}


_INCLUDED: Final = ("", "None", "Metadata", "Object")


def as_table(resource: Resource, objects: Sequence[Object], now: datetime, include_object: str = "") -> Object:
    """Lay out objects as a Table; the caller adds the metadata of the list.

    `include_object` is what the query parameter `includeObject` says of each row's object: None, Metadata or Object.
    """
    sheet = _sheet(resource)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [_definition(column) for column in sheet.columns],
        "rows": [_row(sheet, each, now, include_object) for each in objects],
    }


def check_included(include_object: str) -> None:
    """Raise StatusError 400 if `includeObject` says nothing that is known."""
    if include_object not in _INCLUDED:
        raise bad_request(f'unrecognized includeObject value: "{include_object}"; use None, Metadata or Object')


def _sheet(resource: Resource) -> Sheet:
    if isinstance(resource, CustomResource):
        return printed.sheet(resource.printer_columns)
    return _BUILT_IN.get(resource.qualified, _DEFAULT)


def _definition(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(sheet: Sheet, obj: Object, now: datetime, include_object: str) -> Object:
    row: Object = {"cells": [column.read(obj, now) for column in sheet.columns]}
    conditions = sheet.conditions(obj)
    if conditions:
        row["conditions"] = conditions
    return row | {"object": _included(obj, include_object)}


def _included(obj: Object, include_object: str) -> Object | None:
    match include_object:
        case "" | "Metadata":
            return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj.get("metadata")}
        case "Object":
            return obj
        case _:
            return None
