"""What rows came to is kept for other pods of the same kind: who is tried again, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from stowplan.app.cluster import Cluster
from stowplan.framework.verdict import Words
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.placed_columns import SLACK
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemption
from stowplan.table.nodes import Nodes
from stowplan.testing import make_pod
from tests.unit.plugins.defaultpreemption import crowded
from tests.unit.plugins.defaultpreemption.crowded import Summary, budget, node, placed

BOTH = {"a": ["a1"], "b": ["b1"]}


def urgent(name: str) -> Pod:
    return make_pod(name).requests(cpu="2").priority(100).build()


def waiting(name: str, on: str) -> Pod:
    return make_pod(name).requests(cpu="2").priority(100).nominated_to(on).build()


def larger(name: str, on: str) -> Pod:
    """Return a pod beside which no urgent one fits on a node."""
    return make_pod(name).requests(cpu="3").priority(100).nominated_to(on).build()


class Desk:
    """Two nodes, each with a pod that is in the way, and a search for one urgent pod after another."""

    def __init__(self) -> None:
        self.cluster = crowded.cluster_of(node("a"), node("b"), placed("a1", "a", cpu="3"), placed("b1", "b", cpu="3"))

    def search(self, pod: Pod) -> tuple[list[str], Summary]:
        """Return the nodes that the filters were asked about, each once, and the victims by node."""
        attempt = crowded.attempt(self.cluster, pod)
        asked: set[str] = set()

        def suppose(nodes: Nodes, have_passed: bool = False) -> Words:
            asked.update(nodes.node(position).name for position in range(len(nodes)))
            return attempt.suppose(nodes, have_passed)

        plugin = next(one for one in self.cluster.profile_of(pod).post_filter if isinstance(one, DefaultPreemption))
        found = plugin.search(pod, replace(attempt, suppose=suppose)).candidates
        victims = {each.node_name: [victim.name for victim in each.victims] for each in found}
        return sorted(asked), dict(sorted(victims.items()))


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    # A signature is kept from its second pod on.
    assert [desk.search(urgent(name))[1] for name in ("u1", "u2")] == [BOTH, BOTH]
    return desk


def test_a_pod_of_the_same_kind_has_nothing_tried_again(desk: Desk) -> None:
    assert desk.search(urgent("u3")) == ([], BOTH)


@pytest.mark.parametrize(
    ("change", "asked", "expected"),
    [
        pytest.param(
            lambda cluster: cluster.add(placed("b2", "b", cpu="1")), ["b"], {"a": ["a1"], "b": ["b1"]}, id="a pod comes"
        ),
        pytest.param(
            lambda cluster: cluster.add(placed("b1", "b", cpu="3", priority=100)), [], {"a": ["a1"]}, id="a pod changes"
        ),
        pytest.param(
            lambda cluster: [cluster.remove(placed("b1", "b")), cluster.add(placed("b3", "b", cpu="4"))],
            ["b"],
            {"a": ["a1"], "b": ["b3"]},
            id="a pod takes the place of another",
        ),
        pytest.param(lambda cluster: cluster.add(node("b", cpu="3")), ["b"], BOTH, id="a node shrinks"),
        pytest.param(
            lambda cluster: [cluster.add(node("c")), cluster.add(placed("c1", "c", cpu="3"))],
            ["a", "b", "c"],
            {"a": ["a1"], "b": ["b1"], "c": ["c1"]},
            id="a node comes",
        ),
        pytest.param(lambda cluster: cluster.remove(node("a")), ["b"], {"b": ["b1"]}, id="a node goes"),
        pytest.param(
            lambda cluster: cluster.add(larger("other", "a")), ["a"], {"b": ["b1"]}, id="another is nominated to it"
        ),
        pytest.param(lambda cluster: cluster.add(budget("all", 0, app="b")), ["a", "b"], BOTH, id="there are budgets"),
    ],
)
def test_only_what_has_changed_is_tried_again(
    desk: Desk, change: Callable[[Cluster], object], asked: list[str], expected: Summary
) -> None:
    change(desk.cluster)
    assert desk.search(urgent("u3")) == (asked, expected)


def test_a_pod_is_not_in_its_own_way_and_in_that_of_others_again_afterwards(desk: Desk) -> None:
    desk.cluster.add(waiting("first", "a"))
    desk.cluster.add(waiting("second", "a"))
    assert desk.search(urgent("u3"))[1] == {"b": ["b1"]}
    assert desk.search(waiting("first", "a"))[1] == BOTH
    assert desk.search(waiting("second", "a"))[1] == BOTH
    assert desk.search(urgent("u4"))[1] == {"b": ["b1"]}


def test_budgets_count_as_they_are_now(desk: Desk) -> None:
    desk.cluster.add(budget("b", 1, app="b"))
    desk.search(urgent("u3"))
    desk.cluster.add(budget("b", 0, app="b"))
    attempt = crowded.attempt(desk.cluster, urgent("u4"))
    plugin = next(
        one for one in desk.cluster.profile_of(urgent("u4")).post_filter if isinstance(one, DefaultPreemption)
    )
    found = plugin.search(urgent("u4"), attempt).candidates
    assert {each.node_name: each.pdb_violations for each in found} == {"a": 0, "b": 1}


def test_what_was_found_of_pods_that_are_cleared_away_is_found_anew(desk: Desk) -> None:
    desk.cluster.add_all([placed(f"b{number}", "b", cpu="0", started=number) for number in range(2, 60)])
    asked = set()
    for turn in range(2 * SLACK // 60):
        desk.cluster.add(placed("b2", "b", cpu="0", started=turn))
        nodes, victims = desk.search(urgent(f"u{turn}"))
        assert victims == BOTH
        asked.add("".join(nodes))
    assert asked == {"b", "ab"}
