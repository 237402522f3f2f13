"""The choice and the binding when extenders have a say: who is asked about what, and what their answers come to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine import scheduling_cycle
from stowplan.engine.extenders import Extenders
from stowplan.engine.failure import Chosen, Failed, Refused, Result
from stowplan.engine.ports import ExtenderSaid
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.contract import Filter, Normalize, Preemption, Reject, Score, reject
from stowplan.framework.extender import Filtered, NodesByName
from stowplan.framework.handle import ExtenderError
from stowplan.framework.profile import EXTENDER
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.kinds import Binding
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.extender.fakes import FakeExtender
from tests.unit.framework.stand import Stand

POD = make_pod("web").build()
DOWN = ExtenderError("http://fake: refused")
VICTIM = make_pod("victim").build()


class Liked(Score):
    """Scores nodes by a label; without one, 0."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Scores = nodes.label("liked").by_meaning(int, 0)
        return scores


class Relative(Liked, Normalize):
    """Scores nodes by how they are liked beside the others."""

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        return scores * 100 // high


class Roomy(Normalize):
    """Scores nodes by what is free of them."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        cpu = nodes.resource("cpu")
        free: Scores = nodes.allocatable[cpu] - nodes.requested[cpu]
        return free

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        return scores * 100 // high


class Closed(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(nodes.label("closed").codes >= 0, "closed")


class Flaky(Closed):
    """Fails when it is asked for the second time."""

    asked = 0

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        self.asked += 1
        yield from super().filter(pod, nodes, state)
        if self.asked == 2:
            raise ZeroDivisionError("by nought")


class World:
    """Nodes under a few plugins, and extenders."""

    def __init__(self, found: Sequence[Node], *extenders: FakeExtender, plugins: Sequence[Any] = ()) -> None:
        self.stand = Stand(found, *(plugins or (Closed(), Liked())))
        self.extenders = extenders
        self.ignored: list[str] = []
        #: Between how many equals was drawn.
        self.drawn: list[int] = []
        self.said: list[tuple[str, str, str]] = []
        self.asked_pods: list[str] = []

    @property
    def asking(self) -> Extenders:
        return Extenders(self.extenders, self._pods_on, self._hear, self._draw)

    def choose(self, pod: Pod = POD) -> Result:
        shape = self.stand.cache.table.shape_of(pod)
        return asyncio.run(scheduling_cycle.choose(self.stand.field, self.stand.profile, pod, shape, self.asking))

    def asked(self, number: int = 0) -> list[tuple[str, ...]]:
        return self.extenders[number].asked

    def _pods_on(self, name: str) -> Iterable[Pod] | None:
        self.asked_pods.append(name)
        return None

    def _draw(self, below: int) -> int:
        self.drawn.append(below)
        return below - 1

    def _hear(self, said: ExtenderSaid) -> None:
        if said.is_ignored:
            self.ignored.append(said.text)
        else:
            self.said.append((said.extender, said.verb, said.text))


def node(name: str, *, liked: int = 0, is_closed: bool = False) -> Node:
    builder = make_node(name).label("liked", str(liked))
    return (builder.label("closed") if is_closed else builder).build()


def chosen(result: Result) -> tuple[str, int, int | None]:
    assert isinstance(result, Chosen), result
    return result.node_name, result.feasible_count, result.total


def lets(*names: str, **refused: str) -> FakeExtender:
    return FakeExtender(filtered=Filtered(names, refused))


def gives(**scores: int) -> FakeExtender:
    return FakeExtender(scores=scores)


# Filter


def test_only_nodes_that_the_plugins_let_through_are_shown_to_an_extender() -> None:
    world = World([node("a"), node("b", is_closed=True), node("c", liked=5)], lets("a", "c"))
    assert chosen(world.choose()) == ("c", 2, 5)
    assert world.asked() == [("filter", "a", "c")]


def test_a_node_that_an_extender_drops_is_not_taken() -> None:
    world = World([node("a", liked=1), node("b", liked=9), node("c", liked=5)], lets("a", "c", b="no"))
    assert chosen(world.choose()) == ("c", 2, 5)


def test_the_only_node_that_is_left_is_taken_without_a_score() -> None:
    world = World([node("a", liked=1), node("b", liked=9)], lets("a", b="no"), gives(a=5))
    assert chosen(world.choose()) == ("a", 1, None)
    assert world.asked(1) == []


@pytest.mark.parametrize(
    ("filtered", "message", "code"),
    [
        pytest.param(
            Filtered((), {"a": "too hot", "b": "too cold"}),
            "0/3 nodes are available: 1 closed, 1 too cold, 1 too hot.",
            Code.UNSCHEDULABLE,
            id="each with its word",
        ),
        pytest.param(
            Filtered((), {}, {"a": "never", "b": "never"}),
            "0/3 nodes are available: 1 closed, 2 never.",
            Code.UNRESOLVABLE,
            id="for good",
        ),
    ],
)
def test_an_extender_that_refuses_every_node_refuses_the_pod(filtered: Filtered, message: str, code: Code) -> None:
    result = World([node("a"), node("b"), node("c", is_closed=True)], FakeExtender(filtered=filtered)).choose()
    assert isinstance(result, Refused)
    assert result.message == message
    codes = {name: rejection.code for name, rejection in result.verdict.rejected.items()}
    assert codes == {"a": code, "b": code, "c": Code.UNSCHEDULABLE}


def test_a_pod_that_an_extender_refuses_waits_for_the_extender() -> None:
    result = World([node("a")], lets(a="no")).choose()
    assert isinstance(result, Refused)
    assert result.verdict.unschedulable_plugins() == {EXTENDER}


def test_nobody_outside_is_asked_if_the_plugins_let_no_node_through() -> None:
    world = World([node("a", is_closed=True)], lets("a"))
    result = world.choose()
    assert isinstance(result, Refused)
    assert result.message == "0/1 nodes are available: 1 closed."
    assert world.asked() == []


def test_without_any_node_the_attempt_fails() -> None:
    world = World([], lets())
    assert world.choose() == Failed(POD, "no nodes available to schedule pods")
    assert world.asked() == []


def test_each_attempt_ranks_the_nodes_that_its_extenders_let_through() -> None:
    found = [node("a", liked=1), node("b", liked=3), node("c", liked=7)]
    extender = lets("a", "b", "c")
    world = World(found, extender, plugins=(Relative(),))
    seen = [chosen(world.choose())]
    for names in (("a", "b"), ("b", "c"), ("a", "b", "c")):
        extender.filtered = Filtered(names)
        seen.append(chosen(world.choose()))
    assert seen == [("c", 3, 100), ("b", 2, 100), ("c", 2, 100), ("c", 3, 100)]


# Prioritize


def test_points_are_added_to_the_totals() -> None:
    world = World([node("a", liked=5), node("b", liked=3), node("c", liked=1)], gives(b=1, c=8), gives(b=2))
    assert chosen(world.choose()) == ("c", 3, 9)
    assert (world.asked(0), world.asked(1)) == ([("prioritize", "a", "b", "c")], [("prioritize", "a", "b", "c")])


def test_points_for_nodes_that_cannot_take_the_pod_or_do_not_exist_count_for_nothing() -> None:
    found = [node("a", liked=5), node("b", liked=3), node("c", liked=1, is_closed=True), node("d")]
    world = World(found, lets("a", "b", d="no"), gives(c=90, d=90, elsewhere=90))
    assert chosen(world.choose()) == ("a", 2, 5)


def test_points_that_are_taken_away_do_not_make_a_node_better_that_cannot_take_the_pod() -> None:
    found = [node("a", liked=5), node("b", liked=3), node("c", liked=1, is_closed=True)]
    world = World(found, gives(a=-90, b=-80))
    assert chosen(world.choose()) == ("b", 2, -77)


def test_where_no_plugin_scores_a_node_that_cannot_take_the_pod_is_no_equal_of_one_that_can() -> None:
    found = [node("a", is_closed=True), node("b"), node("c")]
    world = World(found, lets("b", "c"), plugins=(Closed(),))
    assert chosen(world.choose()) == ("c", 2, 0)
    assert world.drawn == [2]


@pytest.mark.parametrize(
    ("extenders", "name", "drawn"),
    [
        pytest.param([gives(a=1, b=1, c=1)], "c", [3], id="all scored: by chance"),
        pytest.param([gives(a=0, b=0)], "b", [2], id="of two that are scored, and one that is not"),
        pytest.param([lets("a", "b", "c")], "c", [3], id="one that scores nothing gives all the same"),
        pytest.param([FakeExtender(scores=DOWN)], "a", [], id="one that fails gives nothing: as without it"),
        pytest.param([FakeExtender(scores={"c": 0}, wants=False)], "a", [], id="one that does not care: as without it"),
    ],
)
def test_equals_are_drawn_from_among_those_that_extenders_have_scored(
    extenders: list[FakeExtender], name: str, drawn: list[int]
) -> None:
    world = World([node("a"), node("b"), node("c")], *extenders)
    result = world.choose()
    assert isinstance(result, Chosen)
    assert (result.node_name, world.drawn) == (name, drawn)


def test_equals_that_nobody_scored_come_in_the_order_of_the_reply() -> None:
    extender = FakeExtender(filtered=Filtered(("b", "c", "a")), scores=DOWN)
    world = World([node("a"), node("b"), node("c")], extender)
    result = world.choose()
    assert isinstance(result, Chosen)
    assert (result.node_name, world.drawn) == ("b", [])


@pytest.mark.parametrize(
    ("has_whole_nodes", "expected"),
    [
        pytest.param(False, ("b", 2, 100), id="by name: as they are"),
        pytest.param(True, ("a", 2, 100), id="whole: as if nothing were on them"),
    ],
)
def test_nodes_that_an_extender_sends_back_whole_are_scored_as_empty(
    has_whole_nodes: bool, expected: tuple[str, int, int]
) -> None:
    found = [make_node(name).capacity(cpu=cpu, pods=9).build() for name, cpu in (("a", 8), ("b", 4))]
    extender = FakeExtender(filtered=Filtered(("a", "b"), has_whole_nodes=has_whole_nodes))
    world = World(found, extender, plugins=(Roomy(),))
    world.stand.cache.add_pod(make_pod("there").requests(cpu="6").on("a").build())
    assert chosen(world.choose()) == expected


def test_what_is_kept_of_the_plugins_scores_is_not_changed_by_extenders() -> None:
    world = World([node("a", liked=5), node("b", liked=3)], gives(a=1, b=9))
    assert [chosen(world.choose()) for _ in range(3)] == [("b", 2, 12)] * 3
    assert world.stand.totals(POD) == {"a": 5, "b": 3}


# A nominated node


def test_the_nominated_node_is_asked_about_alone_and_taken_if_it_is_let() -> None:
    world = World([node("a", liked=9), node("b")], lets("b"), gives(a=9))
    pod = make_pod("web").nominated_to("b").build()
    assert chosen(world.choose(pod)) == ("b", 2, None)
    assert (world.asked(0), world.asked(1)) == ([("filter", "b")], [])


class Choosy(FakeExtender):
    """Lets through what it is shown but for node b; fails the first so many times."""

    def __init__(self, faults: int = 0) -> None:
        super().__init__(filtered=Filtered(()))
        self.faults = faults

    async def filter(self, pod: Pod, nodes: NodesByName) -> Filtered:
        self.asked.append(("filter", *nodes))
        if len(self.asked) <= self.faults:
            raise DOWN
        return Filtered(tuple(name for name in nodes if name != "b"), {"b": "no"})


def test_a_nominated_node_that_an_extender_refuses_is_one_of_many() -> None:
    world = World([node("a", liked=9), node("b"), node("c")], Choosy())
    assert chosen(world.choose(make_pod("web").nominated_to("b").build())) == ("a", 2, 9)
    assert world.asked() == [("filter", "b"), ("filter", "a", "b", "c")]


def test_an_extender_that_fails_about_the_nominated_node_is_asked_about_all() -> None:
    world = World([node("a"), node("b"), node("c", liked=9)], Choosy(faults=1))
    assert chosen(world.choose(make_pod("web").nominated_to("a").build())) == ("c", 2, 9)
    assert world.ignored == ["http://fake: refused"]


@pytest.mark.parametrize("name", ["b", "gone"], ids=["that cannot take the pod", "that is gone"])
def test_a_nominated_node_is_not_asked_about(name: str) -> None:
    world = World([node("a", liked=9), node("b", is_closed=True), node("c")], lets("a", "c"))
    assert chosen(world.choose(make_pod("web").nominated_to(name).build())) == ("a", 2, 9)
    assert world.asked() == [("filter", "a", "c")]


# Failures


def test_an_extender_that_cannot_be_asked_fails_the_attempt() -> None:
    world = World([node("a")], lets("a"), FakeExtender(filtered=DOWN))
    assert world.choose() == Failed(POD, "http://fake: refused")
    assert world.ignored == []


def test_an_extender_that_may_be_ignored_is_told_of_and_missed() -> None:
    failing = FakeExtender(filtered=DOWN, is_ignorable=True)
    world = World([node("a"), node("b", liked=2)], failing)
    assert chosen(world.choose()) == ("b", 2, 2)
    assert world.ignored == ["http://fake: refused"]


def test_an_extender_that_cannot_score_is_told_of_and_missed() -> None:
    world = World([node("a"), node("b", liked=2)], FakeExtender(scores=DOWN), gives(a=1))
    assert chosen(world.choose()) == ("b", 2, 2)
    assert world.ignored == ["http://fake: refused"]


def test_a_plugin_that_fails_is_named_and_nothing_is_kept_of_what_it_was_about_to_say() -> None:
    world = World([node("a"), node("b", liked=2)], plugins=(Flaky(), Liked()))
    assert chosen(world.choose()) == ("b", 2, 2)
    world.stand.cache.add_node(node("b", liked=2, is_closed=True))
    problem = "plugin 'Flaky' failed in Filter for pod 'default/web': ZeroDivisionError: by nought"
    failed = world.choose()
    assert isinstance(failed, Failed)
    assert (failed.message.partition(" (at ")[0], failed.plugin) == (problem, "Flaky")
    assert chosen(world.choose()) == ("a", 1, None)


# Bind


@pytest.mark.parametrize(
    ("extenders", "answer", "ignored"),
    [
        pytest.param([], False, [], id="nobody there: for the plugins to do"),
        pytest.param([gives(a=1)], False, [], id="nobody binds: for the plugins to do"),
        pytest.param([FakeExtender(bound=True)], None, [], id="bound"),
        pytest.param([FakeExtender(bound=True, wants=False)], False, [], id="not for such pods"),
        pytest.param(
            [FakeExtender(bound=DOWN)],
            Rejection(("http://fake: refused",), Code.ERROR),
            [],
            id="a binding that fails is a fault",
        ),
        pytest.param(
            [FakeExtender(bound=DOWN, is_ignorable=True)],
            False,
            ["http://fake: refused"],
            id="a failure that may be ignored: for the plugins to do",
        ),
    ],
)
def test_what_an_extender_makes_of_a_binding(extenders: list[FakeExtender], answer: Any, ignored: list[str]) -> None:
    world = World([node("a")], *extenders)
    assert asyncio.run(world.asking.bind(POD, "a")) == answer
    assert world.ignored == ignored


def test_an_extender_is_told_the_node() -> None:
    binder = FakeExtender(bound=True)
    asyncio.run(World([node("a")], binder).asking.bind(POD, "a"))
    assert binder.asked == [("bind", "a")]


# Preempt


def test_candidates_that_an_extender_drops_are_dropped() -> None:
    both = [Preemption("a", (VICTIM,)), Preemption("b", (VICTIM,), 1)]
    world = World([node("a"), node("b")], FakeExtender(agreed=[both[1]]))
    assert list(asyncio.run(world.asking.agree(POD, both))) == [both[1]]
    assert world.asked() == [("preempt", "a", "b")]


def test_an_ignorable_extender_that_fails_about_candidates_is_told_of() -> None:
    candidates = [Preemption("a", (VICTIM,))]
    world = World([node("a")], FakeExtender(agreed=DOWN, is_ignorable=True))
    assert list(asyncio.run(world.asking.agree(POD, candidates))) == candidates
    assert world.ignored == ["http://fake: refused"]


# What is told


def test_it_is_told_what_each_extender_rejects_when_no_node_is_left() -> None:
    first = FakeExtender("http://one", filtered=Filtered(("b", "c"), {"a": "too hot"}))
    second = FakeExtender("http://two", filtered=Filtered((), {"b": "too cold"}))
    world = World([node("a"), node("b"), node("c")], first, second)
    world.choose()
    assert world.said == [
        ("http://one", "filter", "rejects 1 node: 1 too hot"),
        ("http://two", "filter", "rejects 2 nodes: 1 too cold, 1 without a word"),
    ]


def test_it_is_told_who_failed_and_at_what() -> None:
    world = World([node("a")], FakeExtender("http://one", filtered=DOWN))
    world.choose()
    assert world.said == [("http://one", "filter", "http://fake: refused")]


def test_it_is_told_who_leaves_fewer_nodes_to_preempt_on() -> None:
    both = [Preemption("a", (VICTIM,)), Preemption("b", (VICTIM,))]
    world = World([node("a"), node("b")], FakeExtender("http://one", agreed=[both[1]]))
    asyncio.run(world.asking.agree(POD, both))
    assert world.said == [("http://one", "preempt", "1 of the nodes offered may be preempted on")]


# Samples


def test_nodes_that_were_not_looked_at_are_not_spoken_of() -> None:
    # Of 120 nodes 100 are enough; the search ends on the next one that would do.
    found = [node(f"open-{number:03}") for number in range(110)]
    found += [node(f"shut-{number:03}", is_closed=True) for number in range(10)]
    extender = FakeExtender(filtered=Filtered((), {f"open-{number:03}": "no" for number in range(100)}))
    world = World(found, extender)
    world.stand.field = replace(world.stand.field, percentage_of_nodes_to_score=50)
    result = world.choose()
    assert isinstance(result, Refused)
    assert result.message == "0/120 nodes are available: 100 no."


class Book(FakeCluster):
    """A cluster that notes every binding."""

    def __init__(self) -> None:
        super().__init__()
        self.bindings: list[tuple[str, str]] = []

    async def bind(self, binding: Binding) -> None:
        self.bindings.append((binding.metadata.name, binding.target.name))


def assembled(extenders: Sequence[FakeExtender]) -> tuple[Scheduler, Book]:
    cluster, book = Cluster(), Book()
    scheduler = assemble(cluster, book, lambda: 0)
    for name in ("a", "b"):
        scheduler.event_handlers.add(make_node(name).capacity(cpu=4, memory="8Gi", pods=9).build(), 0)
    if extenders:
        scheduler.policy.extenders = Extenders(extenders, lambda name: None, lambda said: None, lambda below: 0)
    return scheduler, book


@pytest.mark.parametrize(
    ("extenders", "node"),
    [
        pytest.param([], "a", id="without extenders the plugins decide"),
        pytest.param([FakeExtender(filtered=Filtered(("b",)))], "b", id="an extender has a say"),
    ],
)
def test_who_chooses(extenders: list[FakeExtender], node: str) -> None:
    scheduler, _ = assembled(extenders)
    # Something on b, so that the plugins would rather have a.
    scheduler.event_handlers.add(make_pod("there").requests(cpu="1").on("b").build(), 0)
    policy, shape = scheduler.policy, scheduler.state.cache.table.shape_of(POD)
    profile = policy.profiles["default-scheduler"]
    result = asyncio.run(scheduling_cycle.choose(policy.field, profile, POD, shape, policy.extenders))
    assert isinstance(result, Chosen)
    assert result.node_name == node


@pytest.mark.parametrize(
    ("extenders", "rejection", "bindings"),
    [
        pytest.param([], None, [("web", "a")], id="without extenders the plugins bind"),
        pytest.param([FakeExtender(bound=True)], None, [], id="an extender binds, so nobody else does"),
        pytest.param([FakeExtender(scores={})], None, [("web", "a")], id="an extender that does not bind"),
        pytest.param([FakeExtender(bound=True, wants=False)], None, [("web", "a")], id="one that does not care"),
        pytest.param(
            [FakeExtender(bound=DOWN)],
            Rejection(("http://fake: refused",), Code.ERROR),
            [],
            id="an extender that fails to bind is not stood in for",
        ),
    ],
)
def test_who_binds(extenders: list[FakeExtender], rejection: Rejection | None, bindings: list[tuple[str, str]]) -> None:
    scheduler, book = assembled(extenders)
    found = asyncio.run(_bind(scheduler))
    assert (found, book.bindings) == (rejection, bindings)


async def _bind(scheduler: Scheduler) -> Rejection | None:
    profile = scheduler.policy.profiles["default-scheduler"]
    return await scheduler._binding.bind(profile, POD, "a")
