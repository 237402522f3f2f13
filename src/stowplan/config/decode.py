"""From a document to the fields of a KubeSchedulerConfiguration: which kind it is, then what it holds, strictly.

Wrong types end the reading, unknown and repeated fields are noted. Null counts as absent, and so does a field that is
not there: the result has no entry for either. `defaults.py` goes on with the fields.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from stowplan.config import schema
from stowplan.config.declarations import Declarations, PluginArgs, args_type_of, camel
from stowplan.config.document import Document, Json, JsonObject, Number, name_of, plain, sound
from stowplan.config.errors import ConfigError, suggestion
from stowplan.config.legacy import FLAG, OLDER_VERSIONS
from stowplan.config.schema import GROUP, KIND, VERSION
from stowplan.config.types import Configuration
from stowplan.model import base64_text, duration

_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal"
_STRICT = "strict decoding error: "
_INTEGER = re.compile(r"-?[0-9]{1,25}")
_FLOAT32_LARGEST = 3.4028235677973366e38
_FLOAT32_DIGITS = 9
_MOST_FAULTS = 100
_MOST_REMEDIES = 3
_WRITE_KIND = f"write apiVersion: {GROUP}/{VERSION} and kind: {KIND}"

_unreadable = partial(ConfigError, "decode")


class StrictFault(NamedTuple):
    """A field that is unknown or there twice, and what to do about it where upstream's words do not say."""

    text: str
    field: str = ""
    remedy: str = ""


class Identity(NamedTuple):
    """What a document says it is."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def decode(document: Document, known: Declarations, absent: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Read a document; give its fields, with plugin arguments read too, or raise ConfigError.

    Extension points that are absent are unknown fields.
    """
    identity = _identify(document.root, None)
    if not identity.kind:
        raise _unreadable(f"Object 'Kind' is missing in '{document.text}'", remedy=_WRITE_KIND)
    if not identity.version:
        raise _unreadable(f"Object 'apiVersion' is missing in '{document.text}'", remedy=_WRITE_KIND)
    fields, faults = read(_record_of(identity, known, _WRITE_KIND, absent), document.root)
    if identity.kind == KIND:
        faults = [*map(StrictFault, document.yaml_faults), *faults, *_decode_arguments(fields, known)]
    if faults:
        raise _strict(faults)
    if identity.kind != KIND:
        raise _unreadable(f"couldn't decode as {KIND}, got {identity.group_version}, Kind={identity.kind}: ")
    return fields


def decode_arguments(args_type: type[PluginArgs], written: Json) -> dict[str, Any]:
    """Read the arguments of one plugin, whatever kind they say they are; give their fields, or raise ConfigError."""
    fields, faults = read(schema.record_of(args_type), written)
    if faults:
        raise _strict(faults)
    return fields


def _strict(faults: list[StrictFault]) -> ConfigError:
    """Return the error of all faults; of several, the remedies of the first say which field each is for."""
    helped = [fault for fault in faults if fault.remedy][:_MOST_REMEDIES]
    remedies = [fault.remedy if len(faults) == 1 else f"{fault.field}: {fault.remedy}" for fault in helped]
    return _unreadable(_joined(faults), remedy="; ".join(remedies))


def _joined(faults: Iterable[StrictFault]) -> str:
    return _STRICT + ", ".join(fault.text for fault in faults)


def _identify(root: Json, assumed: Identity | None) -> Identity:
    """Read apiVersion and kind; what is absent is as assumed."""
    if root is not None and not isinstance(root, JsonObject):
        raise _unreadable(f"{_NO_KIND} {name_of(root)} into Go value of type {_TYPE_META}")
    said = {"apiVersion": "", "kind": ""}
    for name in said:
        value = root.get(name) if root is not None else None
        if value is not None and not isinstance(value, str):
            raise _unreadable(f"{_NO_KIND} {name_of(value)} into Go struct field .{name} of type string")
        said[name] = value or ""
    group, slash, version = said["apiVersion"].rpartition("/")
    if "/" in group:
        raise _unreadable(f"unexpected GroupVersion string: {said['apiVersion']}")
    if assumed is not None and not slash and not version:
        group, version = assumed.group, assumed.version
    return Identity(group, version, said["kind"] or (assumed.kind if assumed else ""))


def _record_of(
    identity: Identity, known: Declarations, remedy: str, absent: frozenset[str] = frozenset()
) -> schema.Record:
    """Return what a document of this kind may hold; raise ConfigError with the remedy if there is no such kind."""
    if (identity.group, identity.version) == (GROUP, VERSION):
        if identity.kind == KIND:
            return schema.record_of(Configuration, frozenset(map(camel, absent)))
        for one in known.values():
            if one.args_type is not None and one.args_type.__name__ == identity.kind:
                return schema.record_of(one.args_type)
    problem = f'no kind "{identity.kind}" is registered for version "{identity.group_version}"'
    raise _unreadable(problem, remedy=_older(identity) or remedy)


def _older(identity: Identity) -> str:
    if identity.group != GROUP or identity.version not in OLDER_VERSIONS:
        return ""
    return f"{identity.version} is gone: write {GROUP}/{VERSION}, or give {FLAG} to have the file converted"


def _decode_arguments(fields: dict[str, Any], known: Declarations) -> list[StrictFault]:
    """Read the arguments of every plugin in place; give the strict faults found in them."""
    faults: list[StrictFault] = []
    for index, profile in enumerate(fields.get("profiles", ())):
        for place, given in enumerate(profile.get("pluginConfig", ())):
            path = f"profiles[{index}].pluginConfig[{place}]"
            where = f"decoding .{path}"
            try:
                found = _decode_plugin_arguments(given, known)
                faults += [fault._replace(text=f"{where}: {_STRICT}{fault.text}") for fault in found]
            except ConfigError as error:
                field = f"{path}.args.{error.field}" if error.field else ""
                raise _unreadable(f"{where}: {error.message}", field, error.remedy) from None
    return faults


def _decode_plugin_arguments(given: dict[str, Any], known: Declarations) -> list[StrictFault]:
    """Read the arguments of a plugin that declares them by their schema; those of any other stay what they are."""
    name, raw = given.get("name", ""), given.get("args")
    args_type = args_type_of(name, known)
    if args_type is None:
        given["args"] = plain(raw)
        return []
    wanted = Identity(GROUP, VERSION, args_type.__name__)
    reading = f"decoding args for plugin {name}"
    try:
        identity = _identify(raw, wanted)
        args, faults = read(_record_of(identity, known, f"write kind: {wanted.kind}, or leave both out"), raw)
    except ConfigError as error:
        raise _unreadable(f"{reading}: {error.message}", error.field, error.remedy) from None
    if identity.kind != wanted.kind:
        raise _unreadable(
            f"args for plugin {name} were not of type {wanted.kind}.{GROUP}, got {identity.kind}.{identity.group}"
        )
    given["args"] = args
    return [faults[0]._replace(text=f"{reading}: {_joined(faults)}")] if faults else []


class FieldPath(NamedTuple):
    """Where a value stands: the struct it is in, its field names (for mismatches), its full path (for faults)."""

    struct: str = ""
    fields: str = ""
    path: str = ""

    def field(self, record: schema.Record, name: str) -> FieldPath:
        fields = ".".join(filter(None, (self.fields, record.parts.get(name), name)))
        return FieldPath(record.short_name, fields, f"{self.path}{'.' if self.path else ''}{name}")

    def item(self, index: int) -> FieldPath:
        return self._replace(path=f"{self.path}[{index}]")


def read(record: schema.Record, value: Json) -> tuple[dict[str, Any], list[StrictFault]]:
    """Read a whole object; give its fields and the strict faults, or raise ConfigError at the first wrong type."""
    faults: list[StrictFault] = []
    try:
        found = _read(record, value, FieldPath(), faults)
    except ConfigError:
        # One that is no duration ends the reading, wherever it is; upstream goes on to the end after any other.
        _read_durations(record, value, FieldPath())
        raise
    return found or {}, list(dict.fromkeys(faults))[:_MOST_FAULTS]


def _read(kind: schema.FieldType, value: Json, place: FieldPath, faults: list[StrictFault]) -> Any:
    if value is None and not (isinstance(kind, schema.Scalar) and not kind.may_be_null):
        return None
    match kind:
        case schema.Record():
            return _record(kind, value, place, faults)
        case schema.Items():
            if not isinstance(value, list):
                raise _mismatch(kind, value, place)
            # A null among the items is a zero value, which an absent entry cannot be.
            return [_zero(kind.of, _read(kind.of, each, place.item(i), faults)) for i, each in enumerate(value)]
        case schema.TextMap():
            return _text_map(kind, value, place, faults)
        case _:
            return _scalar(kind, value, place)


def _record(kind: schema.Record, value: Json, place: FieldPath, faults: list[StrictFault]) -> dict[str, Any]:
    if not isinstance(value, JsonObject):
        raise _mismatch(kind, value, place)
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for name, each in value.members:
        at = place.field(kind, name)
        if name not in kind.fields:
            faults.append(StrictFault(f'unknown field "{at.path}"', at.path, suggestion(name, kind.fields)))
            continue
        if name in seen:
            faults.append(StrictFault(f'duplicate field "{at.path}"'))
        seen.add(name)
        result = _read(kind.fields[name], each, at, faults)
        if result is not None:
            found[name] = result
    return found


def _read_durations(kind: schema.FieldType, value: Json, place: FieldPath) -> None:
    """Raise ConfigError at the first duration that is none."""
    match kind, value:
        case schema.Record(), JsonObject():
            for name, each in value.members:
                if name in kind.fields:
                    _read_durations(kind.fields[name], each, place.field(kind, name))
        case schema.Items(), list():
            for i, each in enumerate(value):
                _read_durations(kind.of, each, place.item(i))
        case schema.Scalar(form="duration"), _:
            _read(kind, value, place, [])


def _text_map(kind: schema.TextMap, value: Json, place: FieldPath, faults: list[StrictFault]) -> dict[str, str]:
    if not isinstance(value, JsonObject):
        raise _mismatch(kind, value, place)
    found: dict[str, str] = {}
    for name, each in value.members:
        if name in found:
            faults.append(StrictFault(f'duplicate field "{place.path}.{name}"'))
        found[name] = _read(schema.text(), each, place, faults) or ""
    return found


def _zero(kind: schema.FieldType, found: Any) -> Any:
    """Stand in for a null item."""
    if found is not None:
        return found
    return "" if isinstance(kind, schema.Scalar) and kind.form == "text" else {}


def _scalar(kind: schema.Scalar, value: Json, place: FieldPath) -> Any:
    match kind.form, value:
        case "any", _:
            return value
        case "text", str(text):
            return sound(text)
        case "truth", bool():
            return value
        case "whole", Number():
            return _whole(kind, value, place)
        case "real", Number():
            return _real(kind, value, place)
        case "duration", None | str():
            return _duration(value or "", place)
        case "base64", str(text):
            return _base64(text, place)
    raise _mismatch(kind, value, place)


def _whole(kind: schema.Scalar, value: Number, place: FieldPath) -> int:
    if _INTEGER.fullmatch(value.text):
        number, bits = int(value.text), int(kind.type_name.removeprefix("int"))
        if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            return number
    raise _mismatch(kind, value, place, f"number {value.text}")


def _real(kind: schema.Scalar, value: Number, place: FieldPath) -> float:
    number = float(value.text)
    if not math.isfinite(number) or abs(number) >= _FLOAT32_LARGEST:
        raise _mismatch(kind, value, place, f"number {value.text}")
    return _as_float32(number)


def _as_float32(number: float) -> float:
    """Return what is left of a number in 32 bits, with no more digits than tell it from its neighbours."""
    (exact,) = struct.unpack("f", struct.pack("f", number))
    for digits in range(1, _FLOAT32_DIGITS):
        short = float(f"{exact:.{digits}g}")
        if abs(short) < _FLOAT32_LARGEST and struct.pack("f", short) == struct.pack("f", exact):
            return short
    return float(f"{exact:.{_FLOAT32_DIGITS}g}")


def _duration(text: str, place: FieldPath) -> duration.Duration:
    try:
        return duration.parse(text)
    except ValueError as error:
        raise _unreadable(str(error), place.path) from None


def _base64(text: str, place: FieldPath) -> str:
    try:
        base64_text.decoded(text)
    except ValueError as error:
        raise _unreadable(str(error), place.path) from None
    return text


def _mismatch(kind: schema.FieldType, value: Json, place: FieldPath, shown: str = "") -> ConfigError:
    target = f"struct field {place.struct}.{place.fields}" if place.struct else "value"
    return _unreadable(f"json: cannot unmarshal {shown or name_of(value)} into Go {target} of type {kind.type_name}")
