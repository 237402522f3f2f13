"""docs/configuration-reference.md: every type and field of a configuration, from the structs that read it.

What a field means is said where it is declared, in the comment `#:` before it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import msgspec

from stowplan.config import schema
from stowplan.config.declarations import PluginArgs, camel
from stowplan.config.defaults import complete
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import to_external
from stowplan.config.types import Configuration, PluginSet
from stowplan.framework.contract import POINTS
from stowplan.framework.plugin_class import declaration
from stowplan.model.duration import Duration
from stowplan.plugins import in_tree
from tools.reference_pages.markdown import table

Struct = type[msgspec.Struct]

_HEAD: Final = """\
# Configuration reference

Every type and field of a `KubeSchedulerConfiguration` (`kubescheduler.config.k8s.io/v1`), made from what reads it by
`make docs-generated`. [Configuration](configuration.md) says how to give, check and change one; what is in force
prints `stowplan config show`. A field that is not here is refused. Types of the Kubernetes API (`v1.NodeAffinity`,
`v1.TopologySpreadConstraint`) are described by `kubectl explain pod.spec`. A duration is written as `10s`, `1m30s`,
`500ms`.

"""
_OF_THE_API: Final = "stowplan.model."
_API_TYPES: Final = ("v1.NodeAffinity", "v1.TopologySpreadConstraint")


def text() -> str:
    """Return the page."""
    types = list(structs(Configuration))
    parts = [_section(one) for one in types]
    arguments = [one.args_type for one in in_tree() if one.args_type is not None]
    inside = [one for each in arguments for one in structs(each) if one not in types]
    parts += ["## Arguments of plugins\n\nWhat they do is on the [page of each plugin](plugins/README.md).\n"]
    return _HEAD + "\n".join([*parts, *(_section(one, 3) for one in dict.fromkeys(inside))])


def structs(start: Struct) -> Iterator[Struct]:
    """Yield a struct and all that it is made of, each once; those of the Kubernetes API are left out."""
    seen: dict[Struct, None] = {}

    def walk(struct: Struct) -> None:
        if struct in seen or struct.__module__.startswith(_OF_THE_API):
            return
        seen[struct] = None
        for hint in get_type_hints(struct).values():
            for found in _structs_in(hint):
                walk(found)

    walk(start)
    yield from seen


def _structs_in(hint: Any) -> Iterator[Struct]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in get_args(hint):
        yield from _structs_in(part)


@cache
def meanings(struct: Struct) -> dict[str, str]:
    """Return what the source says before each field of a struct."""
    source = Path(str(sys.modules[struct.__module__].__file__)).read_text(encoding="utf-8")
    lines = source.splitlines()
    (found,) = [
        one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.ClassDef) and one.name == struct.__name__
    ]
    fields = [one for one in found.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return {one.target.id: _comment(lines, one.lineno) for one in fields if isinstance(one.target, ast.Name)}


def _comment(lines: list[str], number: int) -> str:
    """Return the comment above a line."""
    found: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.strip().startswith("#:"):
            break
        found.insert(0, line.strip().removeprefix("#:").strip())
    return " ".join(found)


def _section(struct: Struct, level: int = 2) -> str:
    record = schema.record_of(struct)
    rows = [
        (f"`{field.encode_name}`", _type(record.fields[field.encode_name]), _default(struct, field), meaning)
        for field, meaning in _fields(struct)
    ]
    told = inspect.cleandoc(struct.__doc__ or "") if _is_said(struct) else ""
    intro = f"{told.partition(chr(10) * 2)[0].replace(chr(10), ' ')}\n" if told and not _is_about_us(told) else ""
    parts = [f"{'#' * level} {record.short_name}\n", intro, table(("field", "type", "default", "meaning"), rows)]
    return "\n".join(part for part in parts if part)


def _is_said(struct: Struct) -> bool:
    return struct.__doc__ is not None and struct.__doc__ != PluginArgs.__doc__


def _is_about_us(told: str) -> bool:
    """Say whether a docstring is for those who read the code: it names what a file does not have."""
    return any(word in told for word in ("_", "None", "`Arguments`"))


def _fields(struct: Struct) -> Iterator[tuple[msgspec.structs.FieldInfo, str]]:
    said = meanings(struct)
    for field in msgspec.structs.fields(struct):
        yield field, said.get(field.name) or _of_point(field)


def _of_point(field: msgspec.structs.FieldInfo) -> str:
    """Say of the plugins of an extension point when they are asked."""
    if field.type not in (PluginSet, PluginSet | None):
        return ""
    if field.name == "multi_point":
        return "Plugins of all points that they take part in; what a point says itself comes first."
    classes = " or ".join(f"`{one.__name__}`" for one in POINTS[field.name])
    return f"Plugins of the extension point `{camel(field.name)}`: {classes} of the [contract](contract-reference.md)."


def _type(kind: schema.FieldType) -> str:
    if isinstance(kind, schema.Items):
        return f"list of {_type(kind.of)}"
    if isinstance(kind, schema.Record):
        is_here = kind.type_name not in _API_TYPES
        return f"[{kind.short_name}](#{kind.short_name.lower()})" if is_here else kind.type_name
    match getattr(kind, "form", "map"):
        case "duration":
            return "duration"
        case "any":
            return "object"
        case "base64":
            return "base64"
    return kind.type_name.removeprefix("v1.")


def _default(struct: Struct, field: msgspec.structs.FieldInfo) -> str:
    if issubclass(struct, PluginArgs):
        return _shown(_external_args(struct).get(field.encode_name))
    if field.default_factory is not msgspec.NODEFAULT:
        return "-"
    value = field.default
    if isinstance(value, Duration):
        return f"`{value}`" if value else "-"
    return _shown(value) if not isinstance(value, msgspec.Struct | tuple) else "-"


@cache
def _external_args(struct: type[PluginArgs]) -> dict[str, Any]:
    """Return the default arguments as a file would spell them."""
    (plugin,) = [one for one in in_tree() if one.args_type is struct]
    known = {plugin.__name__: replace(declaration(plugin, DEFAULT_GATES, is_in_tree=True), is_default=True)}
    [profile] = to_external(complete({}, known, FeatureGates(DEFAULT_GATES.on | {plugin.feature_gate})))["profiles"]
    (found,) = [one["args"] for one in profile["pluginConfig"] if one["name"] == plugin.__name__]
    return dict(found)


def _shown(value: Any) -> str:
    if value in (None, "", [], {}, msgspec.NODEFAULT):
        return "-"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{msgspec.json.encode(value).decode()}`" if isinstance(value, dict | list) else f"`{value}`"
