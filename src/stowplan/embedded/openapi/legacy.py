"""OpenAPI version 2: what types there are, for clients that do not know version 3. Paths are only told in version 3.

kubectl asks for it as a protobuf message, `openapi.v2.Document` of gnostic.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.openapi import documents
from stowplan.embedded.requests.discovery import version_of
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.types import structural

#: What is asked for has an @ in the place of the dot, which is no valid media type.
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_TITLE: Final = "Kubernetes"
_EXTENSION: Final = "x-"
#: What version 2 says in the same words, and the numbers of the fields in the message.
_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_REQUIRED, _ENUM, _MEMBERS, _TYPE, _ITEMS, _PROPERTIES, _EXTENSIONS = 19, 20, 21, 22, 23, 25, 31


def document(catalogue: Catalogue) -> Object:
    """Answer GET /openapi/v2 as JSON."""
    info = {"title": _TITLE, "version": version_of(catalogue)}
    definitions = {**_built_in(catalogue.built_in()), **_custom(catalogue)}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions}


def wants_protobuf(accept: str) -> bool:
    return "proto-openapi.spec.v2" in accept


def protobuf(catalogue: Catalogue) -> bytes:
    """Answer GET /openapi/v2 as the message."""
    info = _field(1, _TITLE.encode()) + _field(2, version_of(catalogue).encode())
    definitions = _built_in_messages(catalogue.built_in()) + _named(_custom(catalogue))
    return _field(1, b"2.0") + _field(2, info) + _field(8, b"") + _field(9, definitions)


@cache
def _built_in(resources: tuple[Resource, ...]) -> dict[str, Object]:
    return {name: _converted(schema) for name, schema in documents.described(resources).items()}


@cache
def _built_in_messages(resources: tuple[Resource, ...]) -> bytes:
    return _named(_built_in(resources))


def _custom(catalogue: Catalogue) -> dict[str, Object]:
    found, known = documents.described(catalogue.custom()), _built_in(catalogue.built_in())
    return {name: _converted(schema) for name, schema in found.items() if name not in known}


def _converted(schema: Object) -> Object:
    """A schema of version 3 as version 2 would have it: without choices, and with references as they are."""
    kept = {name: value for name, value in schema.items() if name in _TEXTS or name.startswith(_EXTENSION)}
    if name := structural.referenced(schema):
        return {**kept, "$ref": f"#/definitions/{name}"}
    # What custom resources say may be of any form.
    kept |= {name: schema[name] for name in ("required", "enum") if isinstance(schema.get(name), list)}
    # Without a type, but a choice of them, it is a number or text.
    if "type" in schema or "oneOf" in schema:
        kept["type"] = schema.get("type", "string")
    if isinstance(schema.get("properties"), dict):
        kept["properties"] = {name: _converted(field) for name, field in schema["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            kept[name] = _converted(schema[name])
    return kept


def _message(schema: Object) -> bytes:
    """Write the message `Schema`."""
    parts = [_field(number, str(schema[name]).encode()) for name, number in _TEXTS.items() if name in schema]
    parts += [_field(_REQUIRED, str(name).encode()) for name in schema.get("required", ())]
    parts += [_field(_ENUM, _yaml(value)) for value in schema.get("enum", ())]
    if "additionalProperties" in schema:
        parts.append(_field(_MEMBERS, _field(1, _message(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(_field(_TYPE, _field(1, str(schema["type"]).encode())))
    if "items" in schema:
        parts.append(_field(_ITEMS, _field(1, _message(schema["items"]))))
    if "properties" in schema:
        parts.append(_field(_PROPERTIES, _named(schema["properties"])))
    for name, value in schema.items():
        if name.startswith(_EXTENSION):
            parts.append(_field(_EXTENSIONS, _field(1, name.encode()) + _field(2, _yaml(value))))
    return b"".join(parts)


def _named(described: dict[str, Object]) -> bytes:
    """Write schemas by their names."""
    return b"".join(
        _field(1, _field(1, name.encode()) + _field(2, _message(schema))) for name, schema in described.items()
    )


def _yaml(value: Any) -> bytes:
    """Write the message `Any`, which has YAML in it; JSON is a part of that."""
    return _field(2, msgspec.json.encode(value))


def _field(number: int, content: bytes) -> bytes:
    """Write a field of bytes."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))
