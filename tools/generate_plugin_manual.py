"""The manual of the plugins, made from their classes: `make docs-plugins` writes it to docs/plugins.

A page has what the docstring says under its headings, and what the class declares: extension points, default weight,
feature gate, kinds it lists, arguments and events.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stowplan.app.cluster import Cluster
from stowplan.config import schema
from stowplan.config.declarations import PluginArgs, camel
from stowplan.config.feature_gates import parse
from stowplan.config.load import to_external
from stowplan.framework.changes import Action
from stowplan.framework.contract import POINTS, Plugin, Requeue
from stowplan.framework.per_node import unwrapped
from stowplan.framework.plugin_class import points_of
from stowplan.plugins import NOT_BUILT, in_tree

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "plugins"
#: What a plugin does, one of which every plugin has; then what else is said of it, in the order of a page.
EFFECTS: Final = ("Gates", "Orders", "Rejects", "Scores", "Preempts", "Reserves", "Binds")
HEADINGS: Final = (*EFFECTS, "Arguments", "Requeued by", "Remedies", "Upstream")
_OF_THE_API: Final = ("v1.NodeAffinity", "v1.TopologySpreadConstraint")
_HEADING: Final = re.compile(r"([A-Z][a-z]+(?: [a-z]+)?):(?: (.*))?")


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    instances = _instances()
    found = {f"{cls.__name__}.md": _page(cls, instances[cls.__name__]) for cls in in_tree()}
    return {"README.md": _index(), **found}


def sections(cls: type[Plugin]) -> dict[str, str]:
    """Return what a docstring says, by heading; what comes before the first is under the empty one."""
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in (inspect.getdoc(cls) or "").splitlines():
        match = _HEADING.fullmatch(line)
        if match:
            heading, line = match[1], match[2] or ""
            found[heading] = []
        found[heading].append(line.strip())
    return {name: " ".join(filter(None, lines)) for name, lines in found.items()}


def _index() -> str:
    rows = [
        "# The plugins",
        "",
        "In the order in which they run. The pages are made from the classes (`make docs-plugins`): edit those.",
        "",
        "| plugin | takes part in | weight | needs the gate | what it is for |",
        "|---|---|---|---|---|",
    ]
    for cls in in_tree():
        name, weight, gate = cls.__name__, cls.default_weight or "-", cls.feature_gate or "-"
        rows.append(f"| [{name}]({name}.md) | {_points(cls)} | {weight} | {gate} | {sections(cls)['']} |")
    missing = " and ".join(NOT_BUILT)
    rows += ["", f"{missing} are known by name only: configuration files that list them load.", ""]
    return "\n".join(rows)


def _page(cls: type[Plugin], plugin: Plugin) -> str:
    said = sections(cls)
    path = Path(inspect.getfile(cls)).relative_to(ROOT)
    lines = [f"# {cls.__name__}", "", _sentence(said[""]), "", *_facts(cls), f"- Written in [{path}](../../{path})", ""]
    for heading in HEADINGS:
        if heading in said:
            lines += [f"## {heading}", "", _sentence(said[heading]), ""]
        if heading == "Arguments" and cls.args_type is not None:
            lines += [*_arguments(cls.args_type), ""]
        if heading == "Requeued by" and isinstance(plugin, Requeue):
            lines += [*_events(plugin), ""]
    return "\n".join(lines)


def _facts(cls: type[Plugin]) -> Iterator[str]:
    yield f"- Takes part in {_points(cls)}"
    if cls.is_optional:
        yield "- A profile has it only if it lists it"
    else:
        gate = f" if the feature gate {cls.feature_gate} is on" if cls.feature_gate else ""
        weight = f" with weight {cls.default_weight}" if cls.default_weight else ""
        yield f"- A default plugin{weight}{gate}"
    if cls.lists:
        yield f"- Lists {', '.join(cls.lists)}"


def _points(cls: type[Plugin]) -> str:
    return ", ".join(camel(point) for point in POINTS if point in points_of(cls))


def _arguments(args_type: type[PluginArgs]) -> Iterator[str]:
    yield "| argument | type | default |"
    yield "|---|---|---|"
    default = _default_arguments()[args_type.__name__]
    for path, kind in _fields(schema.record_of(args_type), ""):
        yield f"| `{path}` | {kind} | {_default(default, path)} |"


def _fields(kind: schema.Record, path: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a record by their paths; structures of the Kubernetes API are left to its documentation."""
    for name, of_field in kind.fields.items():
        if name not in ("apiVersion", "kind"):
            yield from _field(of_field, f"{path}.{name}" if path else name)


def _field(kind: schema.FieldType, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(kind, schema.Record) or kind.type_name in _OF_THE_API:
        yield path, "duration" if getattr(kind, "form", "") == "duration" else kind.type_name.replace("v1.", "")
    inside, place = (kind.of, f"{path}[]") if isinstance(kind, schema.Items) else (kind, path)
    if isinstance(inside, schema.Record) and inside.type_name not in _OF_THE_API:
        yield from _fields(inside, place)


def _default_arguments() -> dict[str, Any]:
    """Return the arguments of the default profile, as a file would have them, by their kind."""
    [profile] = to_external(Cluster().config)["profiles"]
    return {each["args"]["kind"]: each["args"] for each in profile["pluginConfig"]}


def _default(value: Any, path: str) -> str:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    match value:
        case None:
            return "-"
        case bool():
            return f"`{str(value).lower()}`"
        case list():
            return ", ".join(f"`{_spelled_item(one)}`" for one in value)
        case _:
            return f"`{value}`"


def _spelled_item(one: Any) -> str:
    return ", ".join(f"{key}: {value}" for key, value in one.items()) if isinstance(one, dict) else str(one)


def _events(plugin: Requeue) -> Iterator[str]:
    yield "| resource | changes | asked |"
    yield "|---|---|---|"
    for awaited in plugin.events():
        asked = "each is looked at" if awaited.hint is not None else "any"
        yield f"| {awaited.resource} | {', '.join(_actions(awaited.actions))} | {asked} |"


def _actions(actions: Action) -> Iterator[str]:
    if Action.UPDATE in actions:
        yield from (_spelled(one) for one in (Action.ADD, Action.DELETE, Action.UPDATE) if one in actions)
    else:
        yield from map(_spelled, actions)


def _spelled(action: Action) -> str:
    return "".join(word.capitalize() for word in (action.name or "").split("_"))


def _sentence(text: str) -> str:
    """Begin with a capital, unless a path or a name comes first, and wrap."""
    is_word = re.match(r"[a-z]+[,;:]? ", text) is not None
    return textwrap.fill(text[0].upper() + text[1:] if is_word else text, 120, break_on_hyphens=False)


def _instances() -> dict[str, Plugin]:
    """Build every plugin, with all alpha features on."""
    profile = {"plugins": {"preEnqueue": {"enabled": [{"name": "Coscheduling"}]}}}
    version = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    cluster = Cluster({**version, "profiles": [profile]}, feature_gates=parse("AllAlpha=true"))
    [built] = cluster.profiles.values()
    listed = [plugin for point in POINTS if point != "score" for plugin in getattr(built, point)]
    return {plugin.name: unwrapped(plugin) for plugin in (*listed, *(plugin for plugin, _ in built.score))}


def write() -> None:
    """Write the pages, and take away those of plugins that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
