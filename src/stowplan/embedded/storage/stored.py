"""An object as the store keeps it: its JSON as bytes, and beside it only what finding and selecting need.

A hundred thousand pods as dictionaries would not fit; lists and watches send the bytes as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Literal

import msgspec

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.model import json_values

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
Kind = Literal["ADDED", "MODIFIED", "DELETED"]

_NO_LABELS: Final[Mapping[str, str]] = {}
_ENCODER: Final = msgspec.json.Encoder()


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of one object."""

    resource: Resource
    #: Of the body; the resource is served in other versions too.
    api_version: str
    namespace: str
    name: str
    uid: str
    version: int
    #: The complete JSON, metadata.resourceVersion included.
    body: bytes
    labels: Mapping[str, str]
    #: The values of `resource.fields`, in that order.
    fields: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def object(self) -> Object:
        """The object decoded anew, so that its holder may change it."""
        return json_values.read_object(self.body)


class StoredChange(msgspec.Struct, frozen=True, gc=False):
    """What happened to one object; `before` is None if it was not there."""

    kind: Kind
    stored: Stored
    before: Stored | None

    @property
    def version(self) -> int:
        return self.stored.version


def encode(obj: Object) -> bytes:
    return _ENCODER.encode(obj)


def keep(resource: Resource, obj: Object) -> Stored:
    """Write an object down; its metadata must have a name and a resource version."""
    metadata = obj["metadata"]
    return Stored(
        resource,
        sys.intern(obj["apiVersion"]),
        sys.intern(metadata.get("namespace") or ""),
        metadata["name"],
        metadata.get("uid") or "",
        int(metadata["resourceVersion"]),
        _to_keep(obj),
        _labels_of(metadata),
        fields_of(resource, obj),
    )


def _to_keep(obj: Object) -> bytes:
    # The encoder writes into room for half as much again, and gives none of it back: what lives long is copied.
    return bytes(memoryview(_ENCODER.encode(obj)))


def fields_of(resource: Resource, obj: Object) -> tuple[str, ...]:
    """What field selectors see of an object."""
    found = []
    for first, ways in _ways(resource.fields):
        part = obj.get(first)
        for path, keys, absent in ways:
            value = part
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            if value is None:
                found.append(absent)
            else:
                found.append(sys.intern(value) if isinstance(value, str) else _text_of(obj, value, path))
    return tuple(found)


def _labels_of(metadata: Object) -> Mapping[str, str]:
    labels = metadata.get("labels")
    if not labels:
        return _NO_LABELS
    return {sys.intern(key): sys.intern(value) for key, value in labels.items()}


#: What a selector sees where the object says nothing.
_WHEN_ABSENT: Final = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


#: A path, the keys it goes by after the first, and what a selector sees where the object says nothing.
_Way = tuple[str, tuple[str, ...], str]


@lru_cache(maxsize=1024)
def _ways(fields: tuple[str, ...]) -> tuple[tuple[str, list[_Way]], ...]:
    """The ways to fields, by runs that have the first key in common."""
    runs = groupby(fields, key=lambda path: path.partition(".")[0])
    return tuple(
        (first, [(path, tuple(path.split(".")[1:]), _WHEN_ABSENT.get(path, "")) for path in run]) for first, run in runs
    )


def _text_of(obj: Object, value: Any, path: str) -> str:
    """What a selector sees of a value that is no text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if path == "source" and isinstance(value, dict):
        return str(value.get("component") or obj.get("reportingComponent") or "")
    if path == "status.podIPs" and isinstance(value, list):
        return ",".join(str(each.get("ip", "")) for each in value if isinstance(each, dict))
    return str(value)
