"""From a document to the fields of a KubeSchedulerConfiguration: which kind it is, then what it holds, strictly.

`strict.py` reads the fields; `defaults.py` goes on with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stowplan.config import schema, strict
from stowplan.config.document import Document, Json, Object, name_of, plain
from stowplan.config.errors import ConfigError
from stowplan.config.removed import FLAG, OLDER_VERSIONS

GROUP = "kubescheduler.config.k8s.io"
VERSION = "v1"
KIND = "KubeSchedulerConfiguration"

_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal"
_STRICT = "strict decoding error: "


class Identity(NamedTuple):
    """What a document says it is."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class _UnreadableError(Exception):
    """What is wrong, before it is said of which part of the document; `field` as in MismatchError."""

    def __init__(self, message: str, field: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.field, self.remedy = field, remedy


def decode(document: Document) -> dict[str, Any]:
    """Read a document; give its fields, with plugin arguments read too, or raise ConfigError."""
    try:
        return _decode(document)
    except (_UnreadableError, strict.MismatchError) as error:
        raise ConfigError("decode", str(error), error.field, error.remedy) from None


def _decode(document: Document) -> dict[str, Any]:
    identity = _identify(document.root, None)
    if not identity.kind:
        raise _UnreadableError(f"Object 'Kind' is missing in '{document.text}'")
    if not identity.version:
        raise _UnreadableError(f"Object 'apiVersion' is missing in '{document.text}'")
    fields, faults = strict.read(_record_of(identity), document.root)
    if identity.kind == KIND:
        faults = [*document.yaml_faults, *faults, *_decode_arguments(fields)]
    if faults:
        raise _UnreadableError(_STRICT + ", ".join(faults))
    if identity.kind != KIND:
        raise _UnreadableError(f"couldn't decode as {KIND}, got {identity.group_version}, Kind={identity.kind}: ")
    return fields


def _identify(root: Json, assumed: Identity | None) -> Identity:
    """Read apiVersion and kind; what is absent is as assumed."""
    if root is not None and not isinstance(root, Object):
        raise _UnreadableError(f"{_NO_KIND} {name_of(root)} into Go value of type {_TYPE_META}")
    said = {"apiVersion": "", "kind": ""}
    for name in said:
        value = root.get(name) if root is not None else None
        if value is not None and not isinstance(value, str):
            raise _UnreadableError(f"{_NO_KIND} {name_of(value)} into Go struct field .{name} of type string")
        said[name] = value or ""
    group, slash, version = said["apiVersion"].rpartition("/")
    if "/" in group:
        raise _UnreadableError(f"unexpected GroupVersion string: {said['apiVersion']}")
    if assumed is not None and not slash and not version:
        group, version = assumed.group, assumed.version
    return Identity(group, version, said["kind"] or (assumed.kind if assumed else ""))


def _record_of(identity: Identity) -> schema.Record:
    if (identity.group, identity.version) == (GROUP, VERSION):
        if identity.kind == KIND:
            return schema.CONFIGURATION
        if identity.kind in schema.ARGUMENTS:
            return schema.ARGUMENTS[identity.kind]
    problem = f'no kind "{identity.kind}" is registered for version "{identity.group_version}"'
    raise _UnreadableError(problem, remedy=_remedy_for(identity))


def _remedy_for(identity: Identity) -> str:
    if identity.group != GROUP or identity.version not in OLDER_VERSIONS:
        return ""
    return f"{identity.version} is gone: write {GROUP}/{VERSION}, or give {FLAG} to have the file converted"


def _decode_arguments(fields: dict[str, Any]) -> list[str]:
    """Read the arguments of every plugin in place; give the strict faults found in them."""
    faults: list[str] = []
    for index, profile in enumerate(fields.get("profiles", ())):
        for place, given in enumerate(profile.get("pluginConfig", ())):
            path = f"profiles[{index}].pluginConfig[{place}]"
            where = f"decoding .{path}"
            try:
                faults += [f"{where}: {_STRICT}{fault}" for fault in _decode_plugin_arguments(given)]
            except (_UnreadableError, strict.MismatchError) as error:
                field = f"{path}.args.{error.field}" if error.field else ""
                raise _UnreadableError(f"{where}: {error}", field, error.remedy) from None
    return faults


def _decode_plugin_arguments(given: dict[str, Any]) -> list[str]:
    """Read the arguments of an in-tree plugin by their schema; those of any other stay what they are."""
    name, raw = given.get("name", ""), given.get("args")
    if f"{name}Args" not in schema.ARGUMENTS:
        given["args"] = plain(raw)
        return []
    wanted = Identity(GROUP, VERSION, f"{name}Args")
    reading = f"decoding args for plugin {name}"
    try:
        identity = _identify(raw, wanted)
        args, faults = strict.read(_record_of(identity), raw)
    except (_UnreadableError, strict.MismatchError) as error:
        raise _UnreadableError(f"{reading}: {error}", error.field, error.remedy) from None
    if identity.kind != wanted.kind:
        raise _UnreadableError(
            f"args for plugin {name} were not of type {wanted.kind}.{GROUP}, got {identity.kind}.{identity.group}"
        )
    given["args"] = args
    return [f"{reading}: {_STRICT}{', '.join(faults)}"] if faults else []
