"""A plugin that raises is told with file and line, and with the whole way there once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.engine.failure import Failed
from stowplan.engine.ports import Report, Trouble
from stowplan.framework import plugin_faults
from stowplan.framework.registry import RegistryError, load
from stowplan.simulate import FakeCluster, run
from stowplan.testing import make_node, make_pod
from tests.unit.config.writing import HEADER

FAULTY = """import json

from stowplan.framework.contract import FilterNode, Score


class Faulty(FilterNode, Score):
    columns = {"warmth": lambda node: node.metadata.annotations["warmth"]}

    def __init__(self, *, greatest: int = 3) -> None:
        if greatest > 10:
            raise LookupError("not so many")

    def filter_node(self, pod, node, state):
        return self.read(pod.metadata.labels["rule"])

    def read(self, text):
        return json.loads(text)

    def score(self, pod, nodes, state):
        return nodes.column("warmth")
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "faulty.py"
    path.write_text(FAULTY, encoding="utf-8")
    return path


def cluster_with(path: Path, **arguments: int) -> Cluster:
    return Cluster(
        read_configuration(
            HEADER + f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{path}:Faulty'}}]}}}},"
            f" pluginConfig: [{{name: Faulty, args: {arguments}}}]}}]"
        )
    )


def told_by(cluster: Cluster) -> list[str]:
    """Put a scheduler together around a cluster; return what it tells from then on."""
    told: list[str] = []
    scheduler = assemble(cluster, FakeCluster(), lambda: 0)

    def hear(report: Report) -> None:
        if isinstance(report, Trouble):
            told.append(report.text)

    scheduler.environment.tell = hear
    return told


def test_the_place_is_the_last_line_of_the_plugins_own_file(faulty: Path) -> None:
    cluster = cluster_with(faulty)
    cluster.add(make_node("n1").capacity(cpu="4", pods="9").build())
    failed = cluster.choose(make_pod("web").label("rule", "{").build())
    assert isinstance(failed, Failed)
    # Line 17 calls the library that raises.
    assert failed.message.startswith("plugin 'Faulty' failed in Filter for pod 'default/web': JSONDecodeError: ")
    assert failed.message.endswith(f" (at {faulty}:17)")


def test_the_whole_way_is_told_once_for_each_fault_and_then_how_often_it_came(faulty: Path) -> None:
    cluster = cluster_with(faulty)
    told = told_by(cluster)
    cluster.add(make_node("n1").capacity(cpu="4", pods="9").build())
    for name in ("a", "b"):
        cluster.choose(make_pod(name).label("rule", "{").build())
    cluster.choose(make_pod("c").build())
    failed, way = (
        "plugin 'Faulty' failed in Filter for pod 'default/{}' at {}:{}",
        "and how it came to that is told this once:",
    )
    first, second, other = told
    assert first.splitlines()[0] == f"{failed.format('a', faulty, 17)}, {way}"
    assert f'File "{faulty}", line 14, in filter_node' in first
    assert second.startswith(f"{failed.format('b', faulty, 17)}, for the 2nd time: Expecting property name")
    assert other.splitlines()[0] == f"{failed.format('c', faulty, 14)}, {way}"
    assert other.endswith("KeyError: 'rule'")


def test_a_fault_that_comes_all_the_time_is_told_once_a_minute_with_its_count(faulty: Path) -> None:
    times, told = [0], list[str]()
    stopwatch = plugin_faults.Stopwatch()
    stopwatch.wind(lambda: times[0] * plugin_faults.SECOND_NS, (5, 30), told.append)
    pod, plugin = make_pod("web").label("rule", "{").build(), load(f"{faulty}:Faulty")()
    for second in range(200):
        times[0] = second
        try:
            plugin.filter_node(pod, None, None)  # type: ignore[attr-defined]
        except ValueError as error:
            stopwatch.trace(error, ("Faulty", "Filter", pod))
    counts = [text.partition(", ")[2].partition(" time")[0] for text in told]
    assert counts[1:] == ["for the 2nd", "for the 62nd", "for the 122nd", "for the 182nd"]


RAISES = """from stowplan.framework import (
    FilterNode, Permit, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, Reserve, Score
)

class Raises({}):
    def {}(self, *details):
        return {{}}["nothing"]
    {}
"""


@pytest.mark.parametrize(
    ("inherits", "method", "words", "rest"),
    [
        pytest.param("PreFilter", "pre_filter", "failed in PreFilter for pod", "", id="PreFilter"),
        pytest.param("FilterNode", "filter_node", "failed in Filter for pod", "", id="Filter"),
        pytest.param("PreScore", "pre_score", "failed in PreScore for pod", "", id="PreScore"),
        pytest.param("Score", "score", "failed in Score for pod", "", id="Score"),
        pytest.param(
            "Reserve", "reserve", "running Reserve plugin", "def unreserve(self, *details): pass", id="Reserve"
        ),
        pytest.param("Permit", "permit", "running Permit plugin", "", id="Permit"),
        pytest.param("PreBind", "pre_bind", "running PreBind plugin", "", id="PreBind"),
    ],
)
def test_the_event_of_a_pod_names_plugin_point_and_line(
    tmp_path: Path, inherits: str, method: str, words: str, rest: str
) -> None:
    path = tmp_path / "faulty.py"
    text = RAISES.format(inherits, method, rest)
    path.write_text(text.replace(" def pre_bind", " async def pre_bind"), encoding="utf-8")
    enabled = f"{{multiPoint: {{enabled: [{{name: '{path}:Raises'}}]}}}}"
    cluster, api = Cluster(HEADER + f"profiles: [{{plugins: {enabled}}}]"), FakeCluster()

    async def story() -> None:
        loop: Any = asyncio.get_running_loop()
        scheduler = assemble(cluster, api, loop.now_ns)
        api.connect(scheduler)
        flow = asyncio.ensure_future(scheduler.run())
        for name in ("n1", "n2"):
            api.create(make_node(name).capacity(cpu="4", memory="8Gi", pods="9").build())
        api.create(make_pod("web").build())
        await asyncio.sleep(0.5)
        flow.cancel()
        await asyncio.gather(flow, return_exceptions=True)

    run(story())
    told = [note.text for note in api.notes if note.reason == "FailedScheduling"]
    assert told
    assert "Raises" in told[0]
    assert words in told[0]
    assert told[0].endswith(f"KeyError: 'nothing' (at {path}:7)")


def test_a_column_that_cannot_be_read_is_told_with_its_node(faulty: Path) -> None:
    cluster = cluster_with(faulty)
    told = told_by(cluster)
    for name in ("n1", "n2"):
        cluster.add(make_node(name).capacity(cpu="4", pods="9").build())
    failed = cluster.choose(make_pod("web").label("rule", "null").build())
    assert isinstance(failed, Failed)
    assert told[0].startswith("plugin 'Faulty': column 'warmth' cannot be read off node 'n1'")
    assert told[0].endswith("KeyError: 'warmth'")


def test_a_constructor_that_raises_is_told_with_its_place(faulty: Path) -> None:
    with pytest.raises(RegistryError) as refused:
        cluster_with(faulty, greatest=11)
    assert str(refused.value) == f"plugin 'Faulty': cannot be made: not so many (at {faulty}:11)"


def test_a_file_that_cannot_be_loaded_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "faulty.py"
    path.write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    with pytest.raises(RegistryError) as refused:
        cluster_with(path)
    assert str(refused.value) == f"plugin '{path}:Faulty': cannot load '{path}': division by zero (at {path}:2)"


def test_what_no_plugin_had_a_part_in_has_no_place() -> None:
    assert plugin_faults.place_of(ValueError("never raised")) == ""
    assert not plugin_faults.is_foreign("")
