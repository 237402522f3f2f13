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

from stowplan.model.affinity import NodeAffinity, TopologySpreadConstraint
from stowplan.model.duration import Duration

GROUP = "kubescheduler.config.k8s.io"
VERSION = "v1"
KIND = "KubeSchedulerConfiguration"


@dataclass(frozen=True)
class Text:
    type_name: str = "string"


@dataclass(frozen=True)
class Flag:
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
    of: Kind

    @property
    def type_name(self) -> str:
        return f"[]{self.of.type_name}"


@dataclass(frozen=True)
class TextMap:
    type_name: str = "map[string]string"


@dataclass(frozen=True)
class Record:
    type_name: str
    fields: Mapping[str, Kind]

    @property
    def short_name(self) -> str:
        return self.type_name.rpartition(".")[2]


@dataclass(frozen=True)
class Opaque:
    """Anything; it is read later, by somebody who knows what it should be."""

    type_name: str = "runtime.RawExtension"


Kind = Text | Flag | Whole | Real | Span | Bytes | Items | TextMap | Record | Opaque

_INT32, _INT64, _TEXT, _FLAG = Whole(32), Whole(64), Text(), Flag()
_TYPE_META: dict[str, Kind] = {"apiVersion": _TEXT, "kind": _TEXT}

_SELECTOR_REQUIREMENT = Record(
    "v1.LabelSelectorRequirement",
    {"key": _TEXT, "operator": Text("v1.LabelSelectorOperator"), "values": Items(_TEXT)},
)
_LABEL_SELECTOR = Record(
    "v1.LabelSelector", {"matchLabels": TextMap(), "matchExpressions": Items(_SELECTOR_REQUIREMENT)}
)
_SPREAD_CONSTRAINT = Record(
    "v1.TopologySpreadConstraint",
    {
        "maxSkew": _INT32,
        "topologyKey": _TEXT,
        "whenUnsatisfiable": Text("v1.UnsatisfiableConstraintAction"),
        "labelSelector": _LABEL_SELECTOR,
        "minDomains": _INT32,
        "nodeAffinityPolicy": Text("v1.NodeInclusionPolicy"),
        "nodeTaintsPolicy": Text("v1.NodeInclusionPolicy"),
        "matchLabelKeys": Items(_TEXT),
    },
)
_NODE_REQUIREMENTS = Items(
    Record(
        "v1.NodeSelectorRequirement",
        {"key": _TEXT, "operator": Text("v1.NodeSelectorOperator"), "values": Items(_TEXT)},
    )
)
_NODE_TERM = Record("v1.NodeSelectorTerm", {"matchExpressions": _NODE_REQUIREMENTS, "matchFields": _NODE_REQUIREMENTS})
_NODE_AFFINITY = Record(
    "v1.NodeAffinity",
    {
        "requiredDuringSchedulingIgnoredDuringExecution": Record(
            "v1.NodeSelector", {"nodeSelectorTerms": Items(_NODE_TERM)}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": Items(
            Record("v1.PreferredSchedulingTerm", {"weight": _INT32, "preference": _NODE_TERM})
        ),
    },
)
#: For fields of structs. An `int` is an int64, a `str` a string; where the API calls a text otherwise, write
#: `Annotated[str, Text("v1.Mode")]`.
Int32 = Annotated[int, _INT32]

_KINDS: Mapping[Any, Kind] = {
    str: _TEXT,
    bool: _FLAG,
    int: _INT64,
    float: Real(),
    Duration: Span(may_be_null=True),
    dict[str, str]: TextMap(),
    NodeAffinity: _NODE_AFFINITY,
    TopologySpreadConstraint: _SPREAD_CONSTRAINT,
}


@cache
def record_of(struct: type[msgspec.Struct]) -> Record:
    """Derive the record of a struct from its fields; raise TypeError for one of a type that files cannot have.

    `api_name`, a class variable, is what the API calls it where that is not the name of the class; one that `has_kind`
    may say what it is.
    """
    hints = get_type_hints(struct, include_extras=True)
    fields = {one.encode_name: _kind_of(hints[one.name], struct) for one in msgspec.structs.fields(struct)}
    name = getattr(struct, "api_name", f"v1.{struct.__name__}")
    return Record(name, (_TYPE_META if getattr(struct, "has_kind", False) else {}) | fields)


def _kind_of(hint: Any, struct: type[msgspec.Struct]) -> Kind:
    if hint in _KINDS:
        return _KINDS[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return record_of(hint)
    origin, inner = get_origin(hint), [one for one in get_args(hint) if one is not NoneType]
    if origin is Annotated:
        return next((one for one in inner[1:] if isinstance(one, Kind)), None) or _kind_of(inner[0], struct)
    if origin is tuple and inner[1:] == [...]:
        return Items(_kind_of(inner[0], struct))
    if origin in (Union, UnionType) and len(inner) == 1:
        return _kind_of(inner[0], struct)
    raise TypeError(f"{struct.__name__}: a field cannot be of type {hint}; see PluginArgs for those it can be of")
