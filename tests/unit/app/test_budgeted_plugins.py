"""Plugins that take longer than their budget: what is told, counted and shown, and whose scores are left out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.budgeted_plugins import BudgetedPlugins
from stowplan.app.cluster import Cluster
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.engine.ports import Report, Trouble
from stowplan.framework.contract import SKIP, Plugin, PreScore, Score
from stowplan.framework.plugin_budget import PluginBudget, leaving_out
from stowplan.framework.profile import Profile
from stowplan.observe.metrics import available
from stowplan.observe.series import SeriesSet
from stowplan.simulate import FakeCluster, run
from stowplan.testing import make_node, make_pod

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#: Rejects node a, and prefers node b to node c; either may take its time, by a clock that it puts forward.
SLOW = """
from stowplan.framework import FilterNode, ScoreNode

class Slow(FilterNode, ScoreNode):
    filter_ns = score_ns = passed_ns = 0

    def filter_node(self, pod, node, state):
        Slow.passed_ns += self.filter_ns
        return "not here" if node.name == "a" else None

    def score_node(self, pod, node, state):
        Slow.passed_ns += self.score_ns
        return 100 if node.name == "b" else 0
"""
MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND


class World:
    """A scheduler with that plugin, under virtual time; its budget is 5 ms."""

    def __init__(self, folder: Path) -> None:
        path = folder / "slow.py"
        path.write_text(SLOW)
        enabled = f"[{{name: '{path}:Slow', weight: 100}}]"
        self.cluster = Cluster(HEAD + f"profiles: [{{plugins: {{multiPoint: {{enabled: {enabled}}}}}}}]")
        self.api, self.told, self.count = FakeCluster(), [""], 0
        self.slow: Any = type(self.cluster.profiles["default-scheduler"].foreign[0])
        self.series = SeriesSet(available(DEFAULT_GATES))

    async def start(self) -> list[asyncio.Task[None]]:
        loop: Any = asyncio.get_running_loop()
        scheduler = assemble(self.cluster, self.api, lambda: loop.now_ns() + self.slow.passed_ns)
        scheduler.environment.tell = self.hear
        budgeted = BudgetedPlugins(self.cluster, scheduler, 0.005, self.series)
        self.cluster.handle.stopwatch.have_noted(
            budgeted.beside(lambda blame, took_ns: None), lambda blame, end, took_ns: None
        )
        self.api.connect(scheduler)
        for name in ("a", "b", "c"):
            self.api.create(make_node(name).capacity(cpu="64", memory="64Gi", pods=110).build())
        return [asyncio.ensure_future(work) for work in (scheduler.run(), scheduler.run_timers())]

    def hear(self, report: Report) -> None:
        if isinstance(report, Trouble):
            self.told.append(report.text)

    async def place(self, count: int, cpu: str = "") -> list[str]:
        """Create pods one after the other, each of a template of its own; say where they went."""
        before = len(self.api.bindings)
        for _ in range(count):
            self.count += 1
            self.api.create(make_pod(f"p{self.count}").requests(cpu=cpu or f"{self.count}m").build())
            await asyncio.sleep(0.01)
        return [node for _, node in self.api.bindings[before:]]

    @property
    def is_left_out(self) -> bool:
        shown = self.series.gauge("stowplan_plugin_quarantined").values
        return bool(shown[("Slow",)])


def drive(folder: Path, story: Callable[[World], Coroutine[Any, Any, None]]) -> World:
    world = World(folder)

    async def told() -> None:
        tasks = await world.start()
        await story(world)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(told())
    return world


def test_scores_are_left_out_for_a_minute_and_then_asked_for_again(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        # What is said of this template is kept from the second pod on.
        assert await world.place(3, "1") == ["b", "b", "b"]
        assert not world.is_left_out
        world.slow.score_ns = 10 * MILLISECOND
        assert await world.place(3) == ["b", "b", "b"]
        assert world.is_left_out
        # Without its score, the emptier of the nodes that it accepts is the best.
        assert await world.place(2, "1") == ["c", "c"]
        asked = world.slow.passed_ns
        await asyncio.sleep(58)
        assert (world.is_left_out, await world.place(1), world.slow.passed_ns) == (True, ["c"], asked)
        world.slow.score_ns = 0
        await asyncio.sleep(2)
        assert not world.is_left_out
        assert await world.place(3, "1") == ["b", "b", "b"]

    world = drive(tmp_path, story)
    slow = "plugin 'Slow' took 20 ms in Score for pod 'default/p4', more than its budget of 5 ms"
    assert world.told[1:] == [
        f"{slow}; that is told once a minute",
        "plugin 'Slow': its score is left out for 60 s: 3 answers in a row took more than 5 ms",
    ]
    assert world.series.counter("stowplan_plugin_over_budget_total").values == {("Slow", "Score"): 3}


def test_the_time_doubles_up_to_ten_minutes_while_it_stays_slow(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.slow.score_ns = 10 * MILLISECOND
        for seconds in (60, 120, 240, 480, 600, 600):
            await world.place(3)
            assert world.is_left_out
            await asyncio.sleep(seconds - 2)
            assert world.is_left_out
            await asyncio.sleep(3)
            assert not world.is_left_out
        # Good for ten minutes, it begins as others do.
        world.slow.score_ns = 0
        await world.place(3)
        await asyncio.sleep(601)
        world.slow.score_ns = 10 * MILLISECOND
        await world.place(3)
        assert world.is_left_out
        await asyncio.sleep(61)
        assert not world.is_left_out

    drive(tmp_path, story)


def test_one_quick_answer_between_slow_ones_is_enough(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        for milliseconds in (9, 9, 0, 9, 9, 0):
            world.slow.score_ns = milliseconds * MILLISECOND
            await world.place(1)
        assert not world.is_left_out

    drive(tmp_path, story)


def test_who_says_whether_a_pod_may_go_somewhere_is_never_left_out(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.slow.filter_ns = 10 * MILLISECOND
        # Each pod is of another template, about which the filter is asked anew.
        for number in range(9):
            world.api.create(make_pod(f"other-{number}").requests(cpu=f"{number + 2}m").build())
            await asyncio.sleep(0.1)
        assert {node for _, node in world.api.bindings} == {"b"}
        assert not world.is_left_out

    world = drive(tmp_path, story)
    assert [text.partition(" for pod")[0] for text in world.told[1:]] == ["plugin 'Slow' took 30 ms in Filter"]
    assert world.series.counter("stowplan_plugin_over_budget_total").values[("Slow", "Filter")] >= 9


def test_an_explanation_says_that_a_score_is_left_out(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.slow.score_ns = 10 * MILLISECOND
        await world.place(3)
        explained = str(world.cluster.explain(make_pod("asked").requests(cpu="1m").build()))
        said = "fault: the score of plugin 'Slow' is left out for a while: it kept taking longer than its budget"
        assert said in " ".join(explained.split())
        assert "equally good: b, c" in explained
        await asyncio.sleep(61)
        assert "left out" not in str(world.cluster.explain(make_pod("asked").requests(cpu="1m").build()))

    drive(tmp_path, story)


def test_questions_that_are_only_supposed_count_for_nothing(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.place(1)
        world.slow.score_ns = 10 * MILLISECOND
        for number in range(5):
            with world.cluster.handle.stopwatch.unnoted():
                world.cluster.explain(make_pod(f"asked-{number}").requests(cpu="1m").build())
        assert not world.is_left_out
        assert not world.series.counter("stowplan_plugin_over_budget_total").values

    drive(tmp_path, story)


class Prepared(PreScore, Score):
    def pre_score(self, pod: Any, nodes: Any) -> Any:
        return None

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        return nodes.zeros()


class Plain(Score):
    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        return nodes.zeros()


@pytest.mark.parametrize("name", ["Prepared", "Plain"])
def test_a_profile_without_a_score_keeps_all_else_and_its_order(name: str) -> None:
    prepared, plain = Prepared(), Plain()
    whole = Profile("p", pre_score=(prepared,), score=((plain, 2), (prepared, 3)))
    less = leaving_out(whole, {name})
    assert [(plugin.name, weight) for plugin, weight in less.score] == [("Plain", 2), ("Prepared", 3)]
    assert less.left_out == {name}
    answers = {plugin.name: plugin.pre_score(make_pod("p").build(), None) for plugin in less.pre_score}  # type: ignore[arg-type]
    assert answers[name] is SKIP
    assert leaving_out(whole, ()) == whole


def test_plugins_of_our_own_are_not_judged() -> None:
    budget = PluginBudget(1, lambda: 0, lambda text: pytest.fail(text))
    budget.begin(("Theirs",))
    for _ in range(5):
        budget.note((Plugin.name, "Score", make_pod("p").build()), 10 * SECOND)
    assert budget.left_out == frozenset()
