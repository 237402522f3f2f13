"""PreFilter: skipping, refusing, narrowing, and what becomes of it when the cluster changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from stowplan.engine.failure import Chosen, Refused
from stowplan.framework.contract import SKIP, Filter, Narrowed, PreFilter, Reject, refuse, reject
from stowplan.framework.kept.pre_filtering import PreFiltering
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.testing import make_pod
from tests.unit.framework.stand import Stand, nodes

POD = make_pod("web").build()


class First(PreFilter, Filter):
    """Answers as told, and refuses the nodes that its state names."""

    def __init__(self, answer: Callable[[Nodes], Any]) -> None:
        self.answer = answer
        self.asked = 0

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        self.asked += 1
        return self.answer(nodes)

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(nodes.with_names(frozenset(state or ())), "named")


class Second(First):
    pass


class Third(First):
    pass


def only(*names: str, state: Any = None) -> Callable[[Nodes], Any]:
    return lambda nodes: Narrowed(frozenset(names), state)


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        pytest.param(
            [First(only("a")), Second(only("b"))],
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [First Second] simultaneously.",
            id="two plugins want different nodes",
        ),
        pytest.param(
            [Third(only("a", "b")), Second(only("b", "c")), First(only("a", "c"))],
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [First Second Third] simultaneously.",
            id="three that agree two by two",
        ),
        pytest.param(
            [First(only())],
            "0/3 nodes are available: node(s) didn't satisfy plugin First.",
            id="one that wants none",
        ),
        pytest.param(
            [First(only("z"))],
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [First].",
            id="one that wants a node which is not there",
        ),
        pytest.param(
            [First(only("b", state=["b"])), Second(only("b", "c"))],
            "0/3 nodes are available: 1 named, 2 node(s) didn't satisfy plugin(s) [First Second].",
            id="the only node left is refused",
        ),
        pytest.param(
            [First(lambda nodes: refuse("out", "of luck")), Second(only())],
            "0/3 nodes are available: out, of luck.",
            id="a refusal comes before any contradiction",
        ),
    ],
)
def test_nobody_is_left(plugins: list[First], message: str) -> None:
    result = Stand(nodes("a", "b", "c"), *plugins).choose(POD)
    assert isinstance(result, Refused)
    assert result.message == message


def test_a_contradiction_is_no_plugins_word_alone_and_evicting_does_not_help() -> None:
    verdict = Stand(nodes("a", "b"), First(only("a")), Second(only("b"))).verdict(POD)
    assert verdict.pre_filter is not None
    assert verdict.pre_filter.code is Code.UNRESOLVABLE
    assert verdict.pre_filter.plugin == ""
    assert verdict.unschedulable_plugins() == {"First", "Second"}
    assert not verdict.feasible.any()


def test_after_a_contradiction_nobody_is_asked() -> None:
    def must_not_ask(nodes: Nodes) -> Any:
        raise AssertionError("a third plugin was asked")

    verdict = Stand(nodes("a", "b"), First(only("a")), Second(only("b")), Third(must_not_ask)).verdict(POD)
    assert verdict.fit_error() == (
        "0/2 nodes are available: node(s) didn't satisfy plugin(s) [First Second] simultaneously."
    )


def test_only_nodes_that_all_plugins_name_are_evaluated() -> None:
    first, second = First(only("a", "b")), Second(only("b", "c"))
    result = Stand(nodes("a", "b", "c"), first, second).choose(POD)
    assert isinstance(result, Chosen)
    assert (result.node_name, result.feasible_count) == ("b", 1)


def test_the_plugins_that_narrowed_are_waited_for() -> None:
    verdict = Stand(nodes("a", "b"), First(only("b", state=["b"]))).verdict(POD)
    assert verdict.narrowed_to == frozenset("b")
    assert verdict.unschedulable_plugins() == {"First"}
    assert verdict.rejected == {"b": Rejection(("named",), Code.UNSCHEDULABLE, "First")}


def test_a_plugin_that_skips_is_not_asked_to_filter() -> None:
    verdict = Stand(nodes("a"), First(lambda nodes: SKIP), Second(lambda nodes: None)).verdict(POD)
    assert verdict.skipped == {"First"}
    assert verdict.feasible.tolist() == [True]


def test_after_a_refusal_nobody_else_is_asked() -> None:
    second = Second(lambda nodes: None)
    verdict = Stand(nodes("a"), First(lambda nodes: refuse("no")), second).verdict(POD)
    assert verdict.pre_filter == Rejection(("no",), Code.UNRESOLVABLE, "First")
    assert verdict.unschedulable_plugins() == {"First"}
    assert second.asked == 0


MAYBE = refuse("not now", unresolvable=False)


@pytest.mark.parametrize(
    ("answers", "sentence", "plugins"),
    [
        pytest.param((MAYBE, "state"), "not now", {"First"}, id="the others have nothing against it"),
        pytest.param((MAYBE, refuse("later", unresolvable=False)), "later", {"Second"}, id="the last of several"),
        pytest.param((MAYBE, refuse("never")), "never", {"Second"}, id="one that is for good"),
        pytest.param((MAYBE, Narrowed(frozenset("a"))), "not now", {"First", "Second"}, id="and who narrowed"),
        pytest.param(
            (MAYBE, Narrowed(frozenset())), "node(s) didn't satisfy plugin Second", {"Second"}, id="no node is left"
        ),
    ],
)
def test_a_refusal_that_evictions_may_help_ends_nothing(
    answers: tuple[Any, ...], sentence: str, plugins: set[str]
) -> None:
    first, second = (cls(partial(_say, answer)) for cls, answer in zip((First, Second), answers, strict=True))
    verdict = Stand(nodes("a", "b"), first, second).verdict(POD)
    assert verdict.fit_error() == f"0/2 nodes are available: {sentence}."
    assert verdict.unschedulable_plugins() == plugins
    assert second.asked == 1


def test_a_refusal_that_comes_and_goes_is_found_with_kept_answers_too() -> None:
    first = First(lambda nodes: MAYBE if nodes.requested.any() else None)
    stand = Stand(nodes("a", "b"), first, Second(lambda nodes: None), Third(only("b")))
    for _ in range(2):
        assert stand.verdict(POD).feasible.tolist() == [False, True]
        stand.cache.add_pod(make_pod("other").on("a").build())
        assert stand.verdict(POD).pre_filter == Rejection(("not now",), Code.UNSCHEDULABLE, "First")
        stand.cache.remove_pod(make_pod("other").build())


def test_a_plugin_is_asked_again_only_if_what_it_read_has_changed() -> None:
    reader, blind = First(lambda nodes: [] if nodes.requested.any() else None), Second(lambda nodes: None)
    stand = Stand(nodes("a"), reader, blind)
    stand.choose(POD)
    stand.choose(POD)
    assert (reader.asked, blind.asked) == (1, 1)
    stand.cache.add_pod(make_pod("other").on("a").build())
    stand.choose(POD)
    assert (reader.asked, blind.asked) == (2, 1)


def by_pods(nodes: Nodes) -> Any:
    """Refuse the pod as soon as there are pods on the first node, skip it with two, name a node with three."""
    pods = int(nodes.requested[3, 0])
    return [["a"], refuse("not now"), SKIP, Narrowed(frozenset("b"))][pods]


def test_an_answer_of_another_kind_takes_the_place_of_the_old_one() -> None:
    stand, plain = (Stand(nodes("a", "b"), First(by_pods), keep_answers=keeps) for keeps in (True, False))
    expected = [
        ({"a": Rejection(("named",), Code.UNSCHEDULABLE, "First")}, [False, True], ""),
        ({}, [False, False], "not now"),
        ({}, [True, True], ""),
        ({}, [False, True], ""),
    ]
    for pods, (rejected, feasible, refusal) in enumerate(expected):
        for one in (stand, plain):
            if pods:
                one.cache.add_pod(make_pod(f"pod-{pods}").on("a").build())
            verdict = one.verdict(POD)
            assert verdict.rejected == rejected
            assert verdict.feasible.tolist() == feasible
            assert (verdict.pre_filter.reasons[0] if verdict.pre_filter else "") == refusal
    for pods in (3, 2, 1):
        stand.cache.remove_pod(make_pod(f"pod-{pods}").build())
        rejected, feasible, _ = expected[pods - 1]
        assert stand.verdict(POD).rejected == rejected
        assert stand.verdict(POD).feasible.tolist() == feasible


@pytest.mark.parametrize(
    ("answers", "prepared"),
    [
        pytest.param(("first", SKIP, "third"), {"First", "Second", "Third"}, id="all of them"),
        pytest.param(("first", refuse("no"), "third"), {"First", "Second"}, id="up to the first that refuses"),
        pytest.param(
            ("first", refuse("no", unresolvable=False), "third"),
            {"First", "Second", "Third"},
            id="all of them, if evictions may help",
        ),
        pytest.param(
            (Narrowed(frozenset("a")), Narrowed(frozenset("b")), "third"),
            {"First", "Second"},
            id="up to the first that leaves no node",
        ),
    ],
)
def test_who_was_prepared(answers: tuple[Any, ...], prepared: set[str]) -> None:
    plugins = [cls(partial(_say, answer)) for cls, answer in zip((First, Second, Third), answers, strict=True)]
    stand = Stand(nodes("a", "b"), *plugins)
    pre = PreFiltering(stand.profile, stand.cache.table.reads)
    pre.refresh(POD, Nodes(stand.cache.table))
    assert pre.prepared == prepared


def _say(answer: Any, nodes: Nodes) -> Any:
    return answer
