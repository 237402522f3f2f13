"""The fields of every built-in kind, read from the lists in `types/`.

Each line there is a struct: `Taint: effect TaintEffect, key string, timeAdded Time, value string`. A name without a
path is looked for in the same file first; a name that no file defines is a kind of text. A field with an exclamation
mark is written even if it has nothing in it; any other list or map is then left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from stowplan.embedded.objects.resource import Resource

_FOLDER: Final = Path(__file__).with_name("types")
_ENTRY: Final = re.compile(r"^(\w+):", re.MULTILINE)
#: Groups whose Go package is not the first word of their name.
_PACKAGES: Final = {"": "core"}
_MAP: Final = "map[string]"
_LIST: Final = "[]"
_BYTES: Final = "[]uint8"
_KEPT: Final = "!"


class Form(Enum):
    """What a value looks like in JSON."""

    STRUCT = "object"
    MAP = "map"
    LIST = "array"
    TEXT = "string"
    BYTES = "bytes"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "float64"
    FLAG = "bool"
    QUANTITY = "quantity"
    TIME = "time"
    MICRO_TIME = "microtime"
    INT_OR_TEXT = "intstr"
    ANY = "any"


_SIMPLE: Final = {
    "string": Form.TEXT,
    "int32": Form.INT32,
    "int64": Form.INT64,
    "float64": Form.NUMBER,
    "bool": Form.FLAG,
    _BYTES: Form.BYTES,
    "Quantity": Form.QUANTITY,
    "Time": Form.TIME,
    "MicroTime": Form.MICRO_TIME,
    "IntOrString": Form.INT_OR_TEXT,
    "any": Form.ANY,
}
_GO_NAMES: Final = {"Time": "string", "MicroTime": "string", "IntOrString": "int32", "Quantity": "resource.Quantity"}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One type: how it looks, what Go calls it, and what is in it."""

    form: Form
    go_name: str
    #: Of a list or a map.
    items: Shape | None = None
    #: Of a struct, by JSON name; filled once, while the table is built, for types that contain each other.
    fields: Mapping[str, Shape] = field(default_factory=dict)
    #: Of a list or a map: whether it is left out where there is nothing in it.
    is_left_out_empty: bool = False

    @property
    def struct_name(self) -> str:
        """The name without its package."""
        return self.go_name.rpartition(".")[2]


def of_kind(resource: Resource) -> Shape | None:
    """The shape of a built-in kind, None for one whose fields are not known."""
    if resource.is_custom:
        return None
    package = _PACKAGES.get(resource.group, resource.group.partition(".")[0])
    return _structs().get(f"{package}/{resource.version}.{resource.kind}")


def metadata() -> Shape:
    """The shape of the metadata of any object."""
    return _structs()["meta/v1.ObjectMeta"]


@cache
def _structs() -> Mapping[str, Shape]:
    """Every struct by its path, such as `core/v1.Pod`."""
    lines: dict[str, str] = {}
    for file in sorted(_FOLDER.glob("*.txt")):
        section = file.stem.replace("-", "/")
        _, *parts = _ENTRY.split(file.read_text(encoding="utf-8"))
        lines.update((f"{section}.{name}", text) for name, text in zip(parts[::2], parts[1::2], strict=True))
    members: dict[str, dict[str, Shape]] = {path: {} for path in lines}
    structs = {path: Shape(Form.STRUCT, _shown(path), fields=members[path]) for path in lines}
    for path, text in lines.items():
        section = path.partition(".")[0]
        for declaration in text.split(","):
            if words := declaration.split():
                name = words[0].removesuffix(_KEPT)
                shape = _shape(words[1], section, structs)
                members[path][name] = shape if words[0] != name else _left_out_empty(shape)
    return structs


def _left_out_empty(shape: Shape) -> Shape:
    return replace(shape, is_left_out_empty=True) if shape.form in (Form.LIST, Form.MAP) else shape


def _shape(name: str, section: str, structs: Mapping[str, Shape]) -> Shape:
    if name in _SIMPLE:
        return Shape(_SIMPLE[name], _GO_NAMES.get(name, name))
    if name.startswith(_LIST):
        items = _shape(name.removeprefix(_LIST), section, structs)
        return Shape(Form.LIST, _LIST + items.go_name, items)
    if name.startswith(_MAP):
        items = _shape(name.removeprefix(_MAP), section, structs)
        return Shape(Form.MAP, _MAP + items.go_name, items)
    path = name if "/" in name else f"{section}.{name}"
    if path.endswith(".ResourceList"):
        return Shape(Form.MAP, "v1.ResourceList", _shape("Quantity", section, structs))
    return structs.get(path) or Shape(Form.TEXT, _shown(path))


def _shown(path: str) -> str:
    """What Go's messages call a type: its package and its name."""
    return path.rpartition("/")[2]
