"""Play every scenario of this directory: what is given, then the steps, each as the file puts it.

A step is a mapping; `at`/`after` say when, the rest what: `create`, `update`, `delete`, `terminate`, `fault`, `call`
(`Plugin.method pod`), `bind_elsewhere`, `restart`, `expect`. When the last step is taken, nothing may be under way any
more, unless the scenario says `settles: false`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stowplan.config import feature_gates
from stowplan.engine.ports import Dropped, Timeouts
from stowplan.simulate import virtual_time
from tests.scenarios.reading import changed, read_object, scenarios
from tests.scenarios.stage import Fault, Stage, configuration, configuration_of

CASES = [pytest.param(case, id=name) for name, case in scenarios()]


@pytest.mark.parametrize("case", CASES)
def test_scenario(case: dict[str, Any]) -> None:
    virtual_time.run(play(case))


async def play(case: dict[str, Any]) -> None:
    given = dict(case["given"])
    stage = _stage(given)
    for words in given.get("objects", []):
        stage.book.create(read_object(words))
    stage.start()
    await stage.wait(0)
    for step in case["steps"]:
        await _take(stage, dict(step))
    if case.get("settles", True):
        await stage.wait(0)
        assert not any(stage.leftovers().values()), stage.leftovers()
    await stage.finish()
    stage.validate()


def _stage(given: dict[str, Any]) -> Stage:
    timeouts = Timeouts(**given.get("timeouts", {}))
    gates = feature_gates.parse(given.get("gates", ""))
    notebook = {f"{name}_seconds": given[name] for name in ("lag", "grace") if name in given}
    if "profiles" in given:
        return Stage(configuration_of(given["profiles"]), timeouts, gates, **notebook)
    return Stage(configuration(given.get("plugins", ()), **given.get("profile", {})), timeouts, gates, **notebook)


async def _take(stage: Stage, step: dict[str, Any]) -> None:
    now = asyncio.get_running_loop().time()
    wait = step.pop("at") - now if "at" in step else step.pop("after", 0)
    assert wait >= 0, f"step {step} comes too late: it is {now}"
    if wait:
        await stage.wait(wait)
    for verb, what in step.items():
        await VERBS[verb](stage, what)
    await stage.wait(0)


async def _create(stage: Stage, what: list[Any]) -> None:
    for words in what:
        stage.book.create(read_object(words))


async def _update(stage: Stage, what: list[Any]) -> None:
    for words in what:
        stage.book.update(changed(_known(stage, words), words))


async def _delete(stage: Stage, what: list[Any]) -> None:
    for words in what:
        stage.book.delete(_known(stage, words))


async def _terminate(stage: Stage, what: list[Any]) -> None:
    for words in what:
        stage.book.terminate(_known(stage, words))


async def _go_wrong(stage: Stage, what: dict[str, Any]) -> None:
    stage.faults.append(Fault(**what))


async def _call(stage: Stage, what: str) -> None:
    plugin, method, pod = what.replace(".", " ").split()
    getattr(stage.plugin(plugin), method)(stage.book.pods[f"default/{pod}"])


async def _bind_elsewhere(stage: Stage, what: dict[str, str]) -> None:
    """Let somebody else bind a pod."""
    for name, node_name in what.items():
        stage.book.update(changed(stage.book.pods[f"default/{name}"], {"pod": name, "on": node_name}))


async def _restart(stage: Stage, what: Any) -> None:
    await stage.crash()
    stage.start()


async def _expect(stage: Stage, what: dict[str, Any]) -> None:
    for view, expected in what.items():
        assert _without_lines(VIEWS[view](stage, expected)) == expected, view


def _without_lines(seen: Any) -> Any:
    """Leave the name of the file that a fault came from; where in it and on which machine changes."""
    match seen:
        case str():
            return re.sub(r"\bat \S*/(\w+\.py):\d+", r"at \1", seen)
        case dict():
            return {key: _without_lines(value) for key, value in seen.items()}
        case list():
            return [_without_lines(each) for each in seen]
        case tuple():
            return tuple(_without_lines(each) for each in seen)
        case _:
            return seen


VERBS: dict[str, Callable[[Stage, Any], Coroutine[Any, Any, None]]] = {
    "create": _create,
    "update": _update,
    "delete": _delete,
    "terminate": _terminate,
    "fault": _go_wrong,
    "call": _call,
    "bind_elsewhere": _bind_elsewhere,
    "restart": _restart,
    "expect": _expect,
}


def _known(stage: Stage, words: Any) -> Any:
    if isinstance(words, str):
        return stage.book.pods.get(f"default/{words}") or stage.book.objects["Node", f"/{words}"]
    if "pod" in words:
        return stage.book.pods[f"default/{words['pod']}"]
    if "node" in words:
        return stage.book.objects["Node", f"/{words['node']}"]
    found = read_object(words)
    return stage.book.objects[found.kind, f"{found.metadata.namespace}/{found.metadata.name}"]


def _bound(stage: Stage, expected: Any) -> dict[str, str]:
    return {pod.name: pod.spec.node_name for pod in stage.book.pods.values() if pod.spec.node_name}


def _bindings(stage: Stage, expected: Any) -> list[str]:
    return [f"{key.partition('/')[2]} -> {node_name}" for key, node_name in stage.book.bindings]


def _pending(stage: Stage, expected: Any) -> dict[str, str]:
    """Return reason and message of the condition of every pod that is not bound; "" if it has none."""
    found = {}
    for pod in stage.book.pods.values():
        if not pod.spec.node_name:
            condition = pod.status.condition("PodScheduled")
            found[pod.name] = f"{condition.reason}: {condition.message}" if condition is not None else ""
    return found


def _places(stage: Stage, expected: Any) -> dict[str, str]:
    return {key.partition("/")[2]: place for key, place in stage.places().items()}


def _nominated(stage: Stage, expected: Any) -> dict[str, str]:
    """Return the nominated nodes as the cluster has them; in memory they must be the same."""
    found = {pod.name: pod.status.nominated_node_name for pod in stage.book.pods.values()}
    for pod in stage.book.pods.values():
        if stage.scheduler.state.cache.placed(pod) is None:
            assert stage.scheduler.state.queue.nominations.node_of(pod) == found[pod.name], pod.name
    return {name: node_name for name, node_name in found.items() if node_name}


def _events(stage: Stage, expected: Any) -> list[str]:
    """Return the events since the last look."""
    found = [f"{note.reason} {note.pod.name}: {note.text}" for note in stage.book.notes]
    stage.book.notes.clear()
    return found


def _calls(stage: Stage, expected: Any) -> list[str]:
    """Return the calls to the scenario's plugins since the last look."""
    found = list(stage.cluster.calls)
    stage.cluster.calls.clear()
    return found


def _tried(stage: Stage, expected: dict[str, Any]) -> dict[str, list[float]]:
    return {name: stage.tried(f"default/{name}") for name in expected}


def _troubles(stage: Stage, expected: Any) -> list[str]:
    return stage.troubles()


def _evicted(stage: Stage, expected: Any) -> list[str]:
    return [key.partition("/")[2] for key in stage.book.evicted]


def _dropped(stage: Stage, expected: Any) -> list[str]:
    return [f"{report.pod.name}: {report.why}" for _, report in stage.reports if isinstance(report, Dropped)]


VIEWS: dict[str, Callable[[Stage, Any], Any]] = {
    "bound": _bound,
    "bindings": _bindings,
    "pending": _pending,
    "places": _places,
    "nominated": _nominated,
    "events": _events,
    "calls": _calls,
    "tried": _tried,
    "troubles": _troubles,
    "evicted": _evicted,
    "dropped": _dropped,
    "leftovers": lambda stage, expected: {name: count for name, count in stage.leftovers().items() if count},
}
