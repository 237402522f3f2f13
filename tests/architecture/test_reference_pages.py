"""The pages of the manual that are made from the code are what the code says, and leave nothing out."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from stowplan.app.what_if_page import WHATIF
from stowplan.config.types import Configuration
from stowplan.plugins import in_tree
from stowplan.serving import debug_pages
from stowplan.serving.routes import Pages
from tests.architecture.source_tree import PACKAGE, ROOT, label, parse
from tools.documentation.stage import sections
from tools.reference_pages import command_line, configuration, events, http_interface
from tools.reference_pages.pages import PAGES

#: What is not the scheduler of a cluster: it writes for others, or nowhere.
NOT_THE_SCHEDULER = ("bench", "embedded", "local", "simulate", "testing")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"run `make docs-generated` and commit docs/{name}"


def test_the_index_leads_to_every_page_of_the_manual() -> None:
    listed = sections((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    targets = [(ROOT / "docs" / path).resolve() for entries in listed.values() for _, path in entries]
    found = {path for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"}
    missing = sorted(label(path) for path in found - set(targets))
    assert missing == [], "give each a line in docs/index.md, under the heading where a reader would look"
    assert [path for path in targets if not path.is_file()] == []
    assert len(targets) == len(set(targets))


# Configuration


def test_every_field_of_a_configuration_has_a_meaning() -> None:
    starts: list[configuration.Struct] = [Configuration, *(one.args_type for one in in_tree() if one.args_type)]
    found = {struct for start in starts for struct in configuration.structs(start)}
    bare = [
        f"{struct.__name__}.{name}"
        for struct in found
        for name, meaning in configuration.meanings(struct).items()
        if not meaning and struct.__name__ != "Plugins" and name in struct.__struct_fields__
    ]
    assert [
        one for one in bare if one.rpartition(".")[2] not in ("field_of_ignored_resources", "is_checked_when_made")
    ] == []


# The command line


def test_every_command_is_on_the_page_with_every_option() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = dict(command_line.commands())
    assert {"stowplan run", "stowplan up", "stowplan whatif drain", "stowplan config check"} <= commands.keys()
    for name, command in commands.items():
        _, _, part = page.partition(f" {name}\n\n")
        assert part, name
        options = [one for one in command.params if getattr(one, "opts", None) and not getattr(one, "hidden", False)]
        named = [opt for one in options for opt in one.opts if opt.startswith("--")]
        assert [opt for opt in named if f"`{opt}`" not in part and opt != "--help"] == []


# Events and conditions


@cache
def nodes() -> list[tuple[Path, ast.Call | ast.Dict]]:
    """List every call and every dict of the scheduler."""
    paths = [one for one in sorted(PACKAGE.rglob("*.py")) if one.relative_to(PACKAGE).parts[0] not in NOT_THE_SCHEDULER]
    words = ("Note(", "announce(", "Condition(", '"Event"')
    told = [path for path in paths if any(word in path.read_text(encoding="utf-8") for word in words)]
    return [(path, node) for path in told for node in ast.walk(parse(path)) if isinstance(node, ast.Call | ast.Dict)]


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    for path, node in nodes():
        if isinstance(node, ast.Call) and name in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
            yield path, node


def value(path: Path, node: ast.expr) -> str:
    """Return what an expression is: a text, or a constant of the module that is one."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.Name), f"{label(path)}: write the reason out, or as a constant of the module"
    for one in parse(path).body:
        target = (
            one.target if isinstance(one, ast.AnnAssign) else one.targets[0] if isinstance(one, ast.Assign) else None
        )
        if isinstance(target, ast.Name) and target.id == node.id:
            return str(cast(ast.Constant, cast(Any, one).value).value)
    return f"<{node.id}>"


def test_every_event_that_is_written_is_on_the_page() -> None:
    notes = {tuple(value(path, one) for one in call.args[1:4]) for path, call in calls("Note")}
    # A plugin's own events go through the handle, which passes the reason on.
    notes.remove(("Normal", "<reason>", "Scheduling"))
    announced = {("Normal", value(path, call.args[1]), "Scheduling") for path, call in calls("announce")}
    told = {(one.type, one.reason, one.action) for one in events.EVENTS}
    leases = {("Normal", reason, "-") for reason in raw_events()}
    assert notes | announced | leases == told


def raw_events() -> Iterator[str]:
    """Yield the reasons of events that are written as they are, not by the recorder."""
    for path, node in nodes():
        if isinstance(node, ast.Dict):
            texts = zip(node.keys, node.values, strict=True)
            found = {key.value: one for key, one in texts if isinstance(key, ast.Constant)}
            if is_text(found.get("kind")) and value(path, found["kind"]) == "Event":
                yield value(path, found["reason"])


def is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_every_condition_that_is_written_is_on_the_page() -> None:
    types, reasons = set(), set()
    for path, call in calls("Condition"):
        given = {one.arg: one.value for one in call.keywords}
        if {"type", "status", "reason"} <= given.keys():
            types.add(value(path, given["type"]))
            reasons |= {one for node in ast.walk(given["reason"]) for one in named(path, node)}
    assert types == {"PodScheduled", "DisruptionTarget", "<condition_type>"}
    assert reasons <= {one.reason for one in events.CONDITIONS} | {"<reason>"}
    assert {one.type for one in events.CONDITIONS} == {"PodScheduled", "DisruptionTarget", "PodGroupInitiallyScheduled"}


def named(path: Path, node: ast.AST) -> Iterator[str]:
    if is_text(cast(ast.expr, node)) or (isinstance(node, ast.Name) and node.id != "failure"):
        yield value(path, cast(ast.expr, node))


# What is served


def test_every_page_that_is_routed_is_told() -> None:
    nothing: Any = None

    pages = Pages(
        healthz=nothing,
        readyz=nothing,
        metrics=nothing,
        health_metrics=nothing,
        pod_resources=nothing,
        configuration=nothing,
        flags={},
        version="",
        release="",
        started_at=0.0,
        now=lambda: 0.0,
        set_verbosity=str,
    )
    assert {route.path for route in pages.routes()} == set(http_interface.PAGES)
    own = {debug_pages.EXPLAIN, debug_pages.QUEUE, debug_pages.NODES, WHATIF}
    assert own == set(http_interface.QUESTIONS)
