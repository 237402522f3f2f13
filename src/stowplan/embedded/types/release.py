"""The types of a release of Kubernetes, from the file that `make types` generates: `kubernetes-MAJOR.MINOR.json.gz`.

It has two documents, each a line of JSON. The first has the name of the type of each kind (`apps/v1/Deployment`), and
each type as three things: `schema` is that of upstream's OpenAPI documents, `go` has the Go type of each field, behind
the way to it (`VolumeSource. `) for one of an embedded struct, behind `*` for a pointer and before `,omitempty` for
what JSON leaves out when it is empty, and `wire` has the fields by their numbers in the binary form. The second says
what types ("") and fields mean. Each is decoded when somebody asks for it, and so is each type.

The file of the newest release is whole. That of an older one says in `beside` which release it is to be read beside,
and has only the types, and what fields mean, that are not the same there.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from stowplan.embedded.objects.releases import RELEASE
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import structural
from stowplan.embedded.types.schema import FREE, JsonForm, Schema, Wire

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META: Final = f"{_META}ObjectMeta"
#: Types that JSON shows as something else than a struct, and what Go's errors call that.
_SPECIAL: Final = {
    f"{_META}FieldsV1": FREE,
    f"{_META}MicroTime": Schema(JsonForm.MICRO_TIME, go_name="string"),
    f"{_META}Time": Schema(JsonForm.TIME, go_name="string"),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Schema(JsonForm.QUANTITY, go_name="resource.Quantity"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": FREE,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Schema(JsonForm.INT_OR_TEXT, go_name="int32"),
    # `custom` has the rules for schemas of custom resources.
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": FREE,
}
#: What OpenAPI declares for every field that is no pointer says nothing.
_ZERO: Final[tuple[Any, ...]] = ("", 0, {}, False)

#: What tells zlib that there is a header of gzip around it.
_GZIP: Final = 31


class _Definition(msgspec.Struct, frozen=True):
    """A type as it is in the file."""

    schema: Object
    go: dict[str, str] = {}
    wire: dict[str, Any] = {}


class _Types(msgspec.Struct, frozen=True):
    kinds: dict[str, str]
    types: dict[str, msgspec.Raw]
    #: The release that has all other types; "" if all are here.
    beside: str = ""


def of_kind(resource: Resource) -> Schema | None:
    """The type of a built-in kind, None for one whose fields are not known."""
    return None if resource.is_custom else _built_in(resource.api_version, resource.kind, resource.release)


@cache
def _built_in(api_version: str, kind: str, release: str) -> Schema | None:
    name = name_of(api_version, kind, release)
    return None if name is None else type_named(name, release)


def name_of(api_version: str, kind: str, release: str = RELEASE) -> str | None:
    """The name of the type of a kind, such as `io.k8s.api.apps.v1.Deployment`; None if there is none.

    Some kinds, such as the options of a deletion, are the same in every group.
    """
    group, _, version = api_version.rpartition("/")
    name = _types(release).kinds.get(f"{group}/{version}/{kind}", f"{_META}{kind}")
    return name if _encoded(name, release) is not None else None


@cache
def type_named(name: str, release: str = RELEASE) -> Schema:
    """A type by its name in OpenAPI."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    definition = _definition(name, release)

    def resolve(other: str) -> Schema:
        # One that contains itself is not looked into any deeper.
        return FREE if other == name else type_named(other, release)

    properties = definition.schema.get("properties", {})
    fields = {field: _field(schema, resolve, definition.go[field]) for field, schema in properties.items()}
    return Schema(
        JsonForm.STRUCT,
        name=name,
        go_name=".".join(name.split(".")[-2:]),
        fields=fields,
        wire=_numbered(definition.wire),
        is_atomic=definition.schema.get("x-kubernetes-map-type") == "atomic",
    )


@cache
def choices(name: str, field: str, release: str = RELEASE) -> tuple[str, ...]:
    """The values that a field of a type may have, or the items of a list, in upstream's order."""
    schema = _definition(name, release).schema["properties"][field]
    return tuple(schema.get("items", schema)["enum"])


def object_meta(release: str = RELEASE) -> Schema:
    """The type of the metadata of any object."""
    return type_named(OBJECT_META, release)


def of_custom(schema: Object | None) -> Schema:
    """The type of a custom resource, by its `openAPIV3Schema`; without one, nothing but its metadata is known."""
    whole = FREE if schema is None else structural.read(schema, lambda _: FREE)
    return replace(whole, fields={**whole.fields, "metadata": object_meta()})


def openapi_schema(name: str, release: str = RELEASE) -> Object:
    """The schema of a type as upstream's OpenAPI document has it, descriptions included."""
    texts = _meaning(name, release)
    schema = dict(_definition(name, release).schema)
    if "properties" in schema:
        schema["properties"] = {
            field: {**({"description": texts[field]} if texts[field] else {}), **described}
            for field, described in schema["properties"].items()
        }
    return {"description": texts[""], **schema} if texts[""] else schema


def _field(schema: Object, resolve: structural.Resolve, go: str) -> Schema:
    told, _, options = go.partition(",")
    embedded, _, spelled = told.rpartition(" ")
    found = structural.read(schema, resolve, spelled.lstrip("*"))
    is_pointer, default = spelled.startswith("*"), schema.get("default")
    return replace(
        found,
        embedded_in=embedded,
        is_pointer=is_pointer,
        is_omitted_empty=bool(options) and found.form in (JsonForm.LIST, JsonForm.MAP),
        default=default if is_pointer or default not in _ZERO else None,
    )


def _numbered(wire: dict[str, Any]) -> Wire:
    return {int(number): told if isinstance(told, str) else _numbered(told) for number, told in wire.items()}


def _definition(name: str, release: str) -> _Definition:
    encoded = _encoded(name, release)
    if encoded is None:
        raise LookupError(f"Kubernetes {release} has no type {name}")
    return msgspec.json.decode(encoded, type=_Definition)


def _encoded(name: str, release: str) -> msgspec.Raw | None:
    known = _types(release)
    if name in known.types or not known.beside:
        return known.types.get(name)
    return _encoded(name, known.beside)


def _meaning(name: str, release: str) -> Mapping[str, str]:
    beside, own = _types(release).beside, _descriptions(release).get(name, {})
    return {**_meaning(name, beside), **own} if beside else own


@cache
def _types(release: str) -> _Types:
    return msgspec.json.decode(_documents(release)[0], type=_Types)


@cache
def _descriptions(release: str) -> Mapping[str, Mapping[str, str]]:
    compressed = _documents(release)[1]
    return msgspec.json.decode(zlib.decompress(compressed, _GZIP), type=dict[str, dict[str, str]])


def _documents(release: str) -> tuple[bytes, bytes]:
    """The types of a release, and what they mean; the latter as it is in the file, for hardly anybody asks."""
    first = zlib.decompressobj(_GZIP)
    types = first.decompress(Path(__file__).with_name(f"kubernetes-{release}.json.gz").read_bytes())
    return types, first.unused_data
