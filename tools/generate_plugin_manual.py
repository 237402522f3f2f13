"""The manual of the plugins, made from their classes: `make docs-plugins` writes it to docs/plugins.

A page has what the docstring says under its headings, and what the class declares: extension points, default weight,
feature gate, kinds it lists, arguments and events. The table of feature gates in docs/configuration.md is made too.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from stowplan.app.cluster import Cluster
from stowplan.config import schema
from stowplan.config.declarations import camel
from stowplan.config.defaults import complete
from stowplan.config.feature_gates import DEFAULT_GATES, GATES, FeatureGates
from stowplan.config.gate import Gate
from stowplan.config.load import to_external
from stowplan.config.releases import CHANGES, RELEASES
from stowplan.config.types import Configuration
from stowplan.framework.changes import Action
from stowplan.framework.contract import POINTS, Plugin, Requeue
from stowplan.framework.handle import Handle
from stowplan.framework.plugin_class import declaration, points_of
from stowplan.plugins import in_tree

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "plugins"
PAGE_OF_GATES: Final = ROOT / "docs" / "configuration.md"
PAGE_OF_CHANGES: Final = ROOT / "docs" / "releases.md"
#: What a plugin does, one of which every plugin has; then what else is said of it, in the order of a page.
EFFECTS: Final = ("Gates", "Orders", "Rejects", "Scores", "Preempts", "Reserves", "Binds")
HEADINGS: Final = (*EFFECTS, "Arguments", "Requeued by", "Remedies", "Upstream")
_OF_THE_API: Final = ("v1.NodeAffinity", "v1.TopologySpreadConstraint")
_HEAD_OF_GATES: Final = (
    f"| gate | {' | '.join(RELEASES)} | needs | what it switches here |\n|---|{'---|' * len(RELEASES)}---|---|\n"
)
_TABLE_OF_GATES: Final = re.compile(re.escape(_HEAD_OF_GATES) + r"(?:\|.*\n)*")
_HEAD_OF_CHANGES: Final = "| name | since | what is different | where |\n|---|---|---|---|\n"
_TABLE_OF_CHANGES: Final = re.compile(re.escape(_HEAD_OF_CHANGES) + r"(?:\|.*\n)*")
_HEADING: Final = re.compile(r"([A-Z][a-z]+(?: [a-z]+)?):(?: (.*))?")


def pages(plugins: Sequence[type[Plugin]]) -> dict[str, str]:
    """Return every page by the name of its file."""
    handle = Cluster(feature_gates=FeatureGates(frozenset(GATES))).handle
    found = {f"{cls.__name__}.md": _page(cls, _instance(cls, handle)) for cls in plugins}
    return {"README.md": _index(plugins), **found}


def with_gates(text: str) -> str:
    """Return the page that has the table of feature gates, with the gates there are."""
    return _TABLE_OF_GATES.sub(lambda _: _table_of_gates(), text)


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


def _index(plugins: Sequence[type[Plugin]]) -> str:
    rows = [
        "# The plugins",
        "",
        "In the order in which they run. The pages are made from the classes (`make docs-plugins`): edit those.",
        "",
        "| plugin | takes part in | weight | needs the gate | what it is for |",
        "|---|---|---|---|---|",
    ]
    for cls in plugins:
        name, weight, gate = cls.__name__, cls.default_weight or "-", cls.feature_gate or "-"
        rows.append(f"| [{name}]({name}.md) | {_points(cls)} | {weight} | {gate} | {sections(cls)['']} |")
    rows.append("")
    return "\n".join(rows)


def _page(cls: type[Plugin], plugin: Plugin) -> str:
    said = sections(cls)
    path = Path(inspect.getfile(cls)).relative_to(ROOT)
    lines = [f"# {cls.__name__}", "", _sentence(said[""]), "", *_facts(cls), f"- Written in [{path}](../../{path})", ""]
    for heading in HEADINGS:
        if heading in said:
            lines += [f"## {heading}", "", _sentence(said[heading]), ""]
        if heading == "Arguments" and cls.args_type is not None:
            lines += [*_arguments(cls), ""]
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


def _arguments(cls: type[Plugin]) -> Iterator[str]:
    assert cls.args_type is not None
    yield "| argument | type | default |"
    yield "|---|---|---|"
    [profile] = to_external(_alone(cls))["profiles"]
    [default] = [each["args"] for each in profile["pluginConfig"]]
    for path, kind in _fields(schema.record_of(cls.args_type), ""):
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


def _alone(cls: type[Plugin]) -> Configuration:
    """Return the default configuration if this were the only plugin, with its feature gate on."""
    known = {cls.__name__: replace(declaration(cls, DEFAULT_GATES, is_in_tree=True), is_default=True)}
    return complete({}, known, FeatureGates(DEFAULT_GATES.on | {cls.feature_gate}))


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


def _instance(cls: type[Plugin], handle: Handle) -> Plugin:
    """Build a plugin with its default arguments."""
    [profile] = _alone(cls).profiles
    given = {"handle": handle, "args": profile.plugin_config.get(cls.__name__)}
    return cls(**{name: given[name] for name in inspect.signature(cls).parameters if name in given})


def _table_of_gates() -> str:
    rows = [
        f"| {name} | {' | '.join(_stage(gate, release) for release in RELEASES)}"
        f" | {', '.join(gate.needs) or '-'} | {gate.effect or 'nothing yet'} |\n"
        for name, gate in GATES.items()
    ]
    return "".join((_HEAD_OF_GATES, *rows))


def _stage(gate: Gate, release: str) -> str:
    stage = gate.at(release)
    if stage is None:
        return f"part of {gate.part_of}" if gate.part_of else "removed, always on" if gate.removed_in else "-"
    return f"{stage.maturity}, {'locked ' if stage.is_locked else ''}{'on' if stage.default else 'off'}"


def _table_of_changes() -> str:
    source = ROOT / "src" / "stowplan"
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    rows = [
        f"| {name} | {change.since} | {change.what} | `{place}` |\n"
        for name, change in CHANGES.items()
        for place, text in texts.items()
        if f'changed("{name}")' in text
    ]
    return "".join((_HEAD_OF_CHANGES, *rows))


def write() -> None:
    """Write the pages, take away those of plugins that are gone, and write the tables of gates and of changes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages(in_tree())
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    PAGE_OF_GATES.write_text(with_gates(PAGE_OF_GATES.read_text(encoding="utf-8")), encoding="utf-8")
    changes = PAGE_OF_CHANGES.read_text(encoding="utf-8")
    PAGE_OF_CHANGES.write_text(_TABLE_OF_CHANGES.sub(lambda _: _table_of_changes(), changes), encoding="utf-8")


if __name__ == "__main__":
    write()
