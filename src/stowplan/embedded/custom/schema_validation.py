"""What is wrong with the schema of a definition, in upstream's words: it has to be structural."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.embedded.custom import object_validation, structure
from stowplan.embedded.custom.causes import forbidden, invalid_value, required, unsupported
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_MAP_TYPES: Final = ("atomic", "granular")
_UNSUPPORTED: Final = ("$ref", "id", "additionalItems", "patternProperties", "definitions", "dependencies")
#: What only the schema itself may say, not what it is combined with.
_OF_STRUCTURE: Final = (
    *("description", "type", "title", "default", "nullable", "x-kubernetes-embedded-resource"),
    *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
)
_METADATA: Final = frozenset(("name", "generateName"))
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_LIST_TYPES: Final = ("atomic", "set", "map")


def faults(schema: Object, path: str) -> Iterator[Cause]:
    """Yield everything that is wrong with the schema of a version."""
    if schema.get("type") != "object":
        yield invalid_value(f"{path}.type", schema.get("type", ""), "must be object at the root")
    if schema.get("nullable") is True:
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    metadata = reading.mapping(schema, "properties", "metadata")
    if not _METADATA.issuperset(reading.mapping(metadata, "properties")):
        what = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(f"{path}.properties[metadata]", what)
    yield from _below(schema, path, "", is_root=True)


def not_evaluated(schema: Any, path: str, *, is_root: bool = True) -> Iterator[str]:
    """Yield the rules that are not evaluated, which is warned of."""
    if not isinstance(schema, dict):
        return
    if schema.get(structure.RULES):
        from stowplan.embedded.custom import rule_validation

        is_object = is_root or schema.get("x-kubernetes-embedded-resource") is True
        yield from rule_validation.not_evaluated(schema, path, is_object=is_object)
    for where, below in _parts(schema, path):
        yield from not_evaluated(below, where, is_root=False)


def _below(schema: Any, path: str, unrelated: str, *, is_root: bool = False) -> Iterator[Cause]:
    """Yield the faults of a schema and of all below; `unrelated` is the list within which values have no past."""
    if not isinstance(schema, dict):
        yield _no_schema(schema, path)
        return
    found = [*_own_faults(schema, path), *_list_faults(schema, path), *_combined(schema, path)]
    yield from found
    if not found:
        yield from _default(schema, path)
    if schema.get(structure.RULES):
        from stowplan.embedded.custom import rule_validation

        is_object = is_root or schema.get("x-kubernetes-embedded-resource") is True
        yield from rule_validation.faults(schema, path, unrelated, is_object=is_object)
    is_related = schema.get("type") != "array" or schema.get("x-kubernetes-list-type") == "map"
    for where, below in _parts(schema, path):
        yield from _below(below, where, unrelated if is_related else unrelated or path)


def _no_schema(schema: Any, path: str) -> Cause:
    if isinstance(schema, list) and path.endswith(".items"):
        return forbidden(path, "items must be a schema object and not an array")
    return invalid_value(path, schema, "must be an object")


def _parts(schema: Object, path: str) -> Iterator[tuple[str, Any]]:
    for name, below in reading.mapping(schema, "properties").items():
        yield f"{path}.properties[{name}]", below
    if isinstance(schema.get("additionalProperties"), dict):
        yield f"{path}.additionalProperties", schema["additionalProperties"]
    if schema.get("items") is not None:
        yield f"{path}.items", schema["items"]


def _own_faults(schema: Object, path: str) -> Iterator[Cause]:
    kind = schema.get("type")
    is_open = schema.get(_INT_OR_STRING) is True or schema.get(_PRESERVES) is True
    if not kind and not is_open:
        yield required(f"{path}.type", "must not be empty for specified object fields")
    elif kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems") is True:
        what = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", what)
    if schema.get("additionalProperties") and schema.get("properties"):
        what = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", what)
    if kind == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if schema.get("x-kubernetes-map-type") not in (None, *_MAP_TYPES):
        yield unsupported(f"{path}.x-kubernetes-map-type", schema["x-kubernetes-map-type"], _MAP_TYPES)
    if schema.get("x-kubernetes-embedded-resource") is True and not (schema.get("properties") or is_open):
        what = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", what)
    yield from _pattern(schema.get("pattern"), path)


def _pattern(pattern: Any, path: str) -> Iterator[Cause]:
    if not isinstance(pattern, str):
        return
    from stowplan.cel import patterns

    try:
        patterns.check(pattern)
    except patterns.PatternError as error:
        problem = f"must be a valid regular expression, but isn't: {error}"
        yield invalid_value(f"{path}.pattern", pattern, problem)


def _default(schema: Object, path: str) -> Iterator[Cause]:
    value = schema.get("default")
    if value is None:
        return
    if structure.unknown_fields_below(schema, value):
        yield invalid_value(f"{path}.default", value, "must not have unknown fields")
    for cause in object_validation.problems(schema, value):
        where = f"{path}.default.{cause.field}" if cause.field else f"{path}.default"
        yield Cause(cause.reason, where, cause.message.replace(": . in body", ":  in body", 1))


def _combined(schema: Object, path: str) -> Iterator[Cause]:
    """Yield what schemas that are combined with this one say, and may not."""
    for name in ("allOf", "anyOf", "oneOf"):
        for index, nested in enumerate(reading.entries(schema, name)):
            # The usual way to say what is an integer or a string.
            allowed = "type" if schema.get(_INT_OR_STRING) is True and name != "oneOf" else ""
            yield from _nested(nested, f"{path}.{name}[{index}]", allowed)
    if isinstance(schema.get("not"), dict):
        yield from _nested(schema["not"], f"{path}.not", "")


def _nested(schema: Object, path: str, allowed: str) -> Iterator[Cause]:
    for name in _OF_STRUCTURE:
        if schema.get(name) and name != allowed:
            yield forbidden(f"{path}.{name}", "must be empty to be structural")
    yield from _pattern(schema.get("pattern"), path)
    for where, below in _parts(schema, path):
        if isinstance(below, dict):
            yield from _nested(below, where, "")
    yield from _combined({**schema, _INT_OR_STRING: bool(allowed)}, path)


def _list_faults(schema: Object, path: str) -> Iterator[Cause]:
    """Yield what is wrong with a schema as one of a list."""
    kind = schema.get(_LIST_TYPE)
    if kind not in (None, *_LIST_TYPES):
        yield unsupported(f"{path}.{_LIST_TYPE}", kind, _LIST_TYPES)
    if schema.get(_KEYS) and kind != "map":
        what = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid_value(f"{path}.{_LIST_TYPE}", kind, what) if kind else required(f"{path}.{_LIST_TYPE}", what)
    if kind in ("set", "map") and reading.mapping(schema, "items").get("nullable") is True:
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {kind}")
    if kind == "set":
        yield from _set_faults(reading.mapping(schema, "items"), path)
    if kind == "map":
        yield from _map_faults(schema, reading.mapping(schema, "items"), path)


def _set_faults(items: Object, path: str) -> Iterator[Cause]:
    problem = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE) not in (None, "atomic"):
        yield invalid_value(f"{path}.items.{_LIST_TYPE}", items.get(_LIST_TYPE), problem)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        # Upstream shows the type of the list here.
        yield invalid_value(f"{path}.items.x-kubernetes-map-type", items.get(_LIST_TYPE), problem)


def _map_faults(schema: Object, items: Object, path: str) -> Iterator[Cause]:
    keys = reading.texts(schema, _KEYS)
    if not keys:
        yield required(f"{path}.{_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    if items.get("type") != "object":
        problem = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.items.type", items.get("type", ""), problem)
        return
    properties, needed = reading.mapping(items, "properties"), reading.texts(items, "required")
    for index, key in enumerate(keys):
        if key not in properties:
            yield invalid_value(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        if key in keys[:index]:
            yield invalid_value(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")
    for key in keys:
        if key in properties:
            yield from _key_faults(reading.mapping(properties, key), f"{path}.items.properties[{key}]", key in needed)


def _key_faults(schema: Object, path: str, is_required: bool) -> Iterator[Cause]:
    if schema.get("type") in ("array", "object"):
        problem = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.type", "object", problem)
    if not is_required and schema.get("default") is None:
        problem = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
        yield required(f"{path}.default", problem)
    if schema.get("nullable") is True:
        yield forbidden(f"{path}.nullable", "this property is in x-kubernetes-list-map-keys, so it cannot be nullable")
