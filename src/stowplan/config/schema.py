"""The fields that a document may have and their types, as `decode.py` checks them: derived from structs.

`types.py` has the structs of a configuration, each plugin that of its arguments. Type names are those of the API
(`int32`, `v1.Plugin`): they appear in error messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from stowplan.model.affinity import NodeSelectorRequirement, TopologySpreadConstraint
from stowplan.model.duration import Duration
from stowplan.model.meta import Int32, LabelSelectorRequirement

GROUP = "kubescheduler.config.k8s.io"
VERSION = "v1"
KIND = "KubeSchedulerConfiguration"


@dataclass(frozen=True)
class Text:
    type_name: str = "string"


@dataclass(frozen=True)
class Boolean:
    type_name: str = "bool"


@dataclass(frozen=True)
class Whole:
    bits: int

    @property
    def type_name(self) -> str:
        return f"int{self.bits}"


@dataclass(frozen=True)
class Real:
    type_name: str = "float32"


@dataclass(frozen=True)
class Span:
    """A duration; only where it `may_be_null` does null mean that none was given."""

    may_be_null: bool = False
    type_name: str = "string"


@dataclass(frozen=True)
class Bytes:
    """Base64 text."""

    type_name: str = "[]uint8"


@dataclass(frozen=True)
class Items:
    of: FieldType

    @property
    def type_name(self) -> str:
        return f"[]{self.of.type_name}"


@dataclass(frozen=True)
class TextMap:
    type_name: str = "map[string]string"


@dataclass(frozen=True)
class Record:
    type_name: str
    fields: Mapping[str, FieldType]

    @property
    def short_name(self) -> str:
        return self.type_name.rpartition(".")[2]


@dataclass(frozen=True)
class Opaque:
    """Anything; it is read later, by somebody who knows what it should be."""

    type_name: str = "runtime.RawExtension"


FieldType = Text | Boolean | Whole | Real | Span | Bytes | Items | TextMap | Record | Opaque

_TYPE_META: dict[str, FieldType] = {"apiVersion": Text(), "kind": Text()}
_SIMPLE: Mapping[Any, FieldType] = {
    str: Text(),
    bool: Boolean(),
    int: Whole(64),
    Int32: Whole(32),
    float: Real(),
    Duration: Span(may_be_null=True),
    dict[str, str]: TextMap(),
}
#: What the API calls texts of which it knows the meaning. Our structs say it by `Annotated[str, Text("v1.Mode")]`.
_TEXT_TYPES: Mapping[tuple[type[msgspec.Struct], str], Text] = {
    (LabelSelectorRequirement, "operator"): Text("v1.LabelSelectorOperator"),
    (NodeSelectorRequirement, "operator"): Text("v1.NodeSelectorOperator"),
    (TopologySpreadConstraint, "when_unsatisfiable"): Text("v1.UnsatisfiableConstraintAction"),
    (TopologySpreadConstraint, "node_affinity_policy"): Text("v1.NodeInclusionPolicy"),
    (TopologySpreadConstraint, "node_taints_policy"): Text("v1.NodeInclusionPolicy"),
}


@cache
def record_of(struct: type[msgspec.Struct]) -> Record:
    """Derive the record of a struct from its fields; raise TypeError for one of a type that files cannot have.

    `api_name`, a class variable, is what the API calls it where that is not the name of the class; one that `has_kind`
    may say what it is.
    """
    hints = get_type_hints(struct, include_extras=True)
    fields = {
        one.encode_name: _TEXT_TYPES.get((struct, one.name)) or _type_of(hints[one.name], struct)
        for one in msgspec.structs.fields(struct)
    }
    name = getattr(struct, "api_name", f"v1.{struct.__name__}")
    return Record(name, (_TYPE_META if getattr(struct, "has_kind", False) else {}) | fields)


def _type_of(hint: Any, struct: type[msgspec.Struct]) -> FieldType:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return record_of(hint)
    origin, inner = get_origin(hint), [one for one in get_args(hint) if one is not NoneType]
    if origin is Annotated:
        return next((one for one in inner[1:] if isinstance(one, FieldType)), None) or _type_of(inner[0], struct)
    if origin is tuple and inner[1:] == [...]:
        return Items(_type_of(inner[0], struct))
    if origin in (Union, UnionType) and len(inner) == 1:
        return _type_of(inner[0], struct)
    raise TypeError(f"{struct.__name__}: a field cannot be of type {hint}; see PluginArgs for those it can be of")
