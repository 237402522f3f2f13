"""The fields that a document may have and their types, as `decode.py` checks them: derived from structs.

`types.py` has the structs of a configuration, each plugin that of its arguments. Type names are those of the API
(`int32`, `v1.Plugin`): they appear in error messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from stowplan.model.affinity import NodeSelectorRequirement, TopologySpreadConstraint
from stowplan.model.duration import Duration
from stowplan.model.meta import Int32, LabelSelectorRequirement

GROUP = "kubescheduler.config.k8s.io"
VERSION = "v1"
KIND = "KubeSchedulerConfiguration"


@dataclass(frozen=True)
class Scalar:
    """What is written as one value: what it has to be, and what the API calls its type.

    "any" is read later, by somebody who knows what it should be.
    """

    form: Literal["text", "truth", "whole", "real", "duration", "base64", "any"]
    type_name: str
    #: Whether null means that none was given; a duration may be one that has to be there.
    may_be_null: bool = True


def text(type_name: str = "string") -> Scalar:
    """Return the type of texts; the API has names for some of which it knows the meaning."""
    return Scalar("text", type_name)


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
    #: The fields that the API has in a struct within this one, and the name of that; files do not tell them apart.
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        return self.type_name.rpartition(".")[2]


FieldType = Scalar | Items | TextMap | Record

_TYPE_META: dict[str, FieldType] = {"apiVersion": text(), "kind": text()}
_SIMPLE: Mapping[Any, FieldType] = {
    str: text(),
    bool: Scalar("truth", "bool"),
    int: Scalar("whole", "int64"),
    Int32: Scalar("whole", "int32"),
    float: Scalar("real", "float32"),
    Duration: Scalar("duration", "string"),
    dict[str, str]: TextMap(),
}
#: What the API calls texts of which it knows the meaning. Our structs say it by `Annotated[str, text("v1.Mode")]`.
_TEXT_TYPES: Mapping[tuple[type[msgspec.Struct], str], Scalar] = {
    (LabelSelectorRequirement, "operator"): text("v1.LabelSelectorOperator"),
    (NodeSelectorRequirement, "operator"): text("v1.NodeSelectorOperator"),
    (TopologySpreadConstraint, "when_unsatisfiable"): text("v1.UnsatisfiableConstraintAction"),
    (TopologySpreadConstraint, "node_affinity_policy"): text("v1.NodeInclusionPolicy"),
    (TopologySpreadConstraint, "node_taints_policy"): text("v1.NodeInclusionPolicy"),
}


@cache
def record_of(struct: type[msgspec.Struct], absent: frozenset[str] = frozenset()) -> Record:
    """Derive the record of a struct from its fields; raise TypeError for one of a type that files cannot have.

    `api_name`, a class variable, is what the API calls it where that is not the name of the class; one that `has_kind`
    may say what it is; `api_parts` names the struct within it that has a field. Fields of a name in `absent` are not
    known, at whatever depth.
    """
    hints = get_type_hints(struct, include_extras=True)
    fields = {
        one.encode_name: _TEXT_TYPES.get((struct, one.name)) or _type_of(hints[one.name], struct, absent)
        for one in msgspec.structs.fields(struct)
        if one.encode_name not in absent
    }
    name = getattr(struct, "api_name", f"v1.{struct.__name__}")
    kind = _TYPE_META if getattr(struct, "has_kind", False) else {}
    return Record(name, kind | fields, getattr(struct, "api_parts", {}))


def _type_of(hint: Any, struct: type[msgspec.Struct], absent: frozenset[str]) -> FieldType:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return record_of(hint, absent)
    origin, inner = get_origin(hint), [one for one in get_args(hint) if one is not NoneType]
    if origin is Annotated:
        return next((one for one in inner[1:] if isinstance(one, FieldType)), None) or _type_of(
            inner[0], struct, absent
        )
    if origin is tuple and inner[1:] == [...]:
        return Items(_type_of(inner[0], struct, absent))
    if origin in (Union, UnionType) and len(inner) == 1:
        return _type_of(inner[0], struct, absent)
    raise TypeError(f"{struct.__name__}: a field cannot be of type {hint}; see PluginArgs for those it can be of")
