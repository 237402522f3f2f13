"""Rows that nominated pods take: what is left to others, and about which rows the filters are asked again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import Filter, PreFilter, PreScore, Reject, Score, reject
from stowplan.framework.kept.incremental import TellsVolumesApart
from stowplan.framework.plugin_faults import PluginError
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.table.resources import PODS
from stowplan.testing import make_node, make_pod
from tests.unit.framework.stand import Stand, nodes
from tests.unit.plugins.volumes import storage

POD = make_pod("web").build()
THREE = ("a", "b", "c")


class OnePod(PreFilter, Filter):
    """Refuses nodes with a pod on them; what it prepares depends on the label `odd` of any node."""

    def __init__(self) -> None:
        #: The nodes that each question about hypothetical rows was about.
        self.supposed: list[str] = []
        self.fails = False

    def pre_filter(self, pod: Pod, nodes: Nodes) -> object:
        nodes.label("odd")
        return object()

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if nodes.is_hypothetical:
            self.supposed.append("".join(sorted(nodes.node(position).name for position in range(len(nodes)))))
            if self.fails:
                raise ValueError("no idea")
        yield reject(nodes.requested[PODS] > 0, "taken")


class Desk:
    """Three nodes, and what is left of them for one pod after another of the same kind."""

    def __init__(self) -> None:
        self.plugin = OnePod()
        self.stand = Stand(nodes(*THREE), self.plugin)
        self.nominations = self.stand.field.nominations

    def left(self, pod: Pod = POD) -> str:
        verdict = self.stand.verdict(pod)
        return "".join(sorted(set(verdict.names) - set(verdict.rejected)))

    def nominate(self, name: str, node_name: str, priority: int = 0) -> None:
        self.nominations.put(make_pod(name).priority(priority).build(), node_name)

    def asked_next(self) -> list[str]:
        """Return what is asked from now on, for another pod of the same kind."""
        self.plugin.supposed.clear()
        self.left()
        return self.plugin.supposed


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.nominate("first", "a")
    desk.nominate("second", "b")
    # A signature is kept from its second pod on.
    assert [desk.left(), desk.left()] == ["c", "c"]
    return desk


def test_nothing_is_asked_again_while_nothing_changes(desk: Desk) -> None:
    assert (desk.asked_next(), desk.left()) == ([], "c")


@pytest.mark.parametrize(
    ("change", "asked", "left"),
    [
        pytest.param(lambda desk: desk.nominate("third", "c"), ["c"], "", id="the node of a new nomination"),
        pytest.param(lambda desk: desk.nominate("second", "c"), ["c"], "b", id="the node that it has moved to"),
        pytest.param(lambda desk: desk.nominate("second", ""), [], "bc", id="nobody where it is taken back"),
        pytest.param(
            lambda desk: desk.stand.cache.add_pod(make_pod("x").on("b").build()), ["b"], "c", id="a node that gets pods"
        ),
        pytest.param(
            lambda desk: desk.stand.cache.add_pod(make_pod("x").on("c").build()), [], "", id="nobody if others get them"
        ),
        pytest.param(
            lambda desk: desk.stand.cache.add_node(make_node("c").label("odd", "yes").build()),
            ["ab"],
            "c",
            id="all if what is prepared is new",
        ),
        pytest.param(lambda desk: desk.stand.cache.remove_node("a"), ["b"], "c", id="those left if one goes"),
        pytest.param(
            lambda desk: desk.stand.cache.add_node(make_node("d").build()), ["ab"], "cd", id="all if a node comes"
        ),
    ],
)
def test_only_what_has_changed_is_asked_again(
    desk: Desk, change: Callable[[Desk], object], asked: list[str], left: str
) -> None:
    change(desk)
    assert (desk.asked_next(), desk.left()) == (asked, left)


def test_a_node_that_comes_after_the_nomination_is_taken(desk: Desk) -> None:
    desk.nominate("third", "d")
    assert desk.left() == "c"
    desk.stand.cache.add_node(make_node("d").build())
    assert desk.left() == "c"


def test_the_nominated_pod_need_not_leave_room_for_itself(desk: Desk) -> None:
    first = make_pod("first").build()
    assert desk.left(first) == "ac"
    desk.nominate("third", "a")
    assert desk.left(first) == "c"
    assert desk.left(make_pod("third").build()) == "c"
    desk.nominate("third", "")
    assert (desk.left(first), desk.left()) == ("ac", "c")


def test_less_important_pods_leave_their_nodes_to_others(desk: Desk) -> None:
    important = make_pod("important").priority(5).build()
    assert [desk.left(important), desk.left(important)] == ["abc", "abc"]
    desk.nominate("third", "b", priority=7)
    assert (desk.left(important), desk.left()) == ("ac", "c")


def test_after_a_failure_everybody_is_asked_again(desk: Desk) -> None:
    desk.nominate("third", "c")
    desk.plugin.fails = True
    with pytest.raises(PluginError, match="no idea"):
        desk.left()
    desk.plugin.fails = False
    assert (desk.asked_next(), desk.left()) == (["abc"], "")


def test_nominations_older_than_can_be_told_are_taken_in_anew(desk: Desk) -> None:
    for number in range(5000):
        desk.nominate("third", "c" if number % 2 else "b")
    assert (desk.asked_next(), desk.left()) == (["abc"], "")


class Rivals(PreScore, Score):
    """Every node scores how many nodes are left."""

    def pre_score(self, pod: Pod, nodes: Nodes) -> int:
        return int(nodes.feasible.sum())

    def score(self, pod: Pod, nodes: Nodes, state: int) -> Scores:
        return np.full(len(nodes), state)


def test_scores_are_about_the_rows_that_are_left() -> None:
    stand = Stand(nodes(*THREE), OnePod(), Rivals())
    nominations = stand.field.nominations
    assert [stand.totals(POD), stand.totals(POD)] == [{"a": 3, "b": 3, "c": 3}] * 2
    nominations.put(make_pod("first").build(), "a")
    assert stand.totals(POD) == {"b": 2, "c": 2}
    nominations.put(make_pod("first").build(), "b")
    assert stand.totals(POD) == {"a": 2, "c": 2}
    nominations.remove(make_pod("first").build())
    assert stand.totals(POD) == {"a": 3, "b": 3, "c": 3}


class NotX(TellsVolumesApart, Filter):
    """Refuses pods with the claim `x` where somebody is supposed to come; only these are told apart by name."""

    def sign(self, pod: Pod) -> None:
        return None

    def tells_names_apart(self, pod: Pod) -> bool:
        return self._is_x(pod)

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(np.full(len(nodes), nodes.is_hypothetical and self._is_x(pod)), "x")

    @staticmethod
    def _is_x(pod: Pod) -> bool:
        return pod.name == "x"


def test_what_is_said_of_a_pod_by_name_is_not_kept_for_others() -> None:
    stand = Stand(nodes(*THREE), NotX())
    stand.profile = dataclasses.replace(stand.profile, foreign=())
    stand.field.nominations.put(make_pod("first").build(), "a")
    asked = [(name, sorted(stand.verdict(storage.pod(name, name)).rejected)) for name in "yyxyxxy"]
    assert asked == [(name, ["a"] if name == "x" else []) for name in "yyxyxxy"]
