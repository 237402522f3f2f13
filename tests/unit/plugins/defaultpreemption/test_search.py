"""The search on small clusters: who has to go, on how many nodes it is tried, and what is said when nobody helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stowplan.framework.contract import refuse
from stowplan.model.meta import ApiObject
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.placed_columns import PlacedColumns
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemptionArgs
from stowplan.plugins.defaultpreemption.search import VictimSearch
from stowplan.testing import make_node, make_pod
from tests.unit.plugins.defaultpreemption import crowded
from tests.unit.plugins.defaultpreemption.crowded import Summary, budget, node, placed, urgent

FULL = (
    placed("a1", "a", cpu="1", priority=1, started=10),
    placed("a2", "a", cpu="1", priority=2, started=20),
    placed("a3", "a", cpu="2", priority=1, started=5),
)


@pytest.mark.parametrize(
    ("objects", "pod", "expected"),
    [
        pytest.param([*FULL], urgent("2"), {"a": ["a3"]}, id="a smaller pod stays where a larger one before it goes"),
        pytest.param([*FULL], urgent("1"), {"a": ["a1"]}, id="the youngest of the lowest goes"),
        pytest.param([*FULL], urgent("4"), {"a": ["a2", "a3", "a1"]}, id="all go, listed by importance"),
        pytest.param([*FULL], urgent("2", priority=2), {"a": ["a3"]}, id="pods as important stay"),
        pytest.param(
            [placed("a1", "a", cpu="2", started=None), placed("a2", "a", cpu="2", started=9)],
            urgent("2"),
            {"a": ["a1"]},
            id="a pod that has not started is the youngest",
        ),
        pytest.param(
            [placed("b1", "a", cpu="2"), placed("c1", "a", cpu="2", priority=3), budget("b", 0, app="b")],
            urgent("2"),
            {"a": ["c1"]},
            id="a pod whose budget is used up is kept in place of a more important one",
        ),
        pytest.param(
            [
                placed("b1", "a", cpu="2"),
                placed("c1", "a", cpu="2", priority=3),
                budget("b", 0, app="b"),
            ],
            urgent("3"),
            {"a": ["c1", "b1"]},
            id="victims are in order of importance, over budget or not",
        ),
    ],
)
def test_as_few_and_as_unimportant_pods_as_possible_go(objects: list[ApiObject], pod: Pod, expected: Summary) -> None:
    assert crowded.candidates(crowded.cluster_of(node("a"), *objects), pod) == expected


def test_nodes_with_more_and_fewer_pods_are_tried_together() -> None:
    cluster = crowded.cluster_of(
        node("a"),
        node("b"),
        node("c"),
        placed("a1", "a", cpu="4"),
        *(placed(f"b{number}", "b", cpu="1", started=number) for number in range(4)),
        placed("c1", "c", cpu="3"),
        placed("c2", "c", cpu="1", priority=1),
    )
    assert crowded.candidates(cluster, urgent("2")) == {"a": ["a1"], "b": ["b2", "b3"], "c": ["c1"]}


def test_budgets_violated_are_counted() -> None:
    cluster = crowded.cluster_of(
        node("a"), placed("b1", "a", cpu="2"), placed("b2", "a", cpu="2"), budget("b", 1, app="b")
    )
    found = crowded.search(cluster, urgent("4")).candidates
    assert [(each.node_name, each.pdb_violations) for each in found] == [("a", 1)]


def test_room_is_left_for_pods_nominated_to_the_node() -> None:
    nominated = make_pod("other").requests(cpu="1").priority(100).nominated_to("a").build()
    pods = [placed(f"a{number}", "a", cpu="1", started=number) for number in range(4)]
    full = placed("b1", "b", cpu="4")
    alone = crowded.cluster_of(node("a"), node("b"), *pods, full)
    assert crowded.candidates(alone, urgent("1")) == {"a": ["a3"], "b": ["b1"]}
    beside = crowded.cluster_of(node("a"), node("b"), *pods, full, nominated)
    assert crowded.candidates(beside, urgent("1")) == {"a": ["a2", "a3"], "b": ["b1"]}


def test_less_important_nominated_pods_are_left_no_room() -> None:
    nominated = make_pod("other").requests(cpu="1").priority(99).nominated_to("a").build()
    cluster = crowded.cluster_of(node("a"), placed("a1", "a", cpu="4"), nominated)
    assert crowded.candidates(cluster, urgent("4")) == {"a": ["a1"]}


def test_a_node_full_of_nominated_pods_is_no_candidate() -> None:
    nominated = make_pod("other").requests(cpu="3").priority(100).nominated_to("a").build()
    cluster = crowded.cluster_of(node("a"), placed("a1", "a", cpu="4"), nominated)
    found = crowded.search(cluster, urgent("2"))
    assert not found
    assert found.message() == "0/1 nodes are available: 1 Insufficient cpu."


def test_only_nodes_that_are_not_refused_for_good_are_tried() -> None:
    tainted = make_node("t").capacity(cpu="4").taint("closed").build()
    cluster = crowded.cluster_of(node("a"), tainted, node("small", cpu="1"), placed("a1", "a", cpu="4"))
    assert crowded.candidates(cluster, urgent("2")) == {"a": ["a1"]}


def test_what_is_said_when_nothing_helps() -> None:
    tainted = make_node("t").capacity(cpu="4").taint("closed").build()
    cluster = crowded.cluster_of(
        tainted,
        node("a"),
        node("b"),
        placed("a1", "a", cpu="4", priority=100),
        placed("b1", "b", cpu="3", priority=100),
    )
    cluster.add(placed("b2", "b", cpu="1"))
    assert crowded.search(cluster, urgent("2")).message() == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


@pytest.mark.parametrize(
    ("limits", "nodes", "expected"),
    [
        pytest.param(DefaultPreemptionArgs(), 5000, 500, id="a tenth of many"),
        pytest.param(DefaultPreemptionArgs(), 300, 100, id="at least a hundred"),
        pytest.param(DefaultPreemptionArgs(), 50, 50, id="never more than there are"),
        pytest.param(DefaultPreemptionArgs(50, 0), 5, 2, id="cut off"),
    ],
)
def test_how_many_candidates_are_enough(limits: DefaultPreemptionArgs, nodes: int, expected: int) -> None:
    assert limits.enough(nodes) == expected


def many(count: int, *extra: ApiObject) -> list[ApiObject]:
    """Return as many full nodes; those whose number is odd have a pod with label `odd`."""
    nodes = [node(f"n{number}") for number in range(count)]
    pods = [placed(f"{'odd' if number % 2 else 'even'}{number}", f"n{number}", cpu="4") for number in range(count)]
    return [*nodes, *pods, *extra]


def names(cluster_objects: list[ApiObject], enough: int) -> list[str]:
    found = crowded.search(crowded.cluster_of(*cluster_objects), urgent(), enough)
    return [candidate.node_name for candidate in found.candidates]


def test_the_search_ends_with_enough_candidates() -> None:
    assert names(many(5), 3) == ["n0", "n1", "n2"]


def test_the_search_goes_on_until_a_candidate_violates_no_budget() -> None:
    violating = [budget("e", 0, app="e"), budget("o", 0, app="o")]
    assert names(many(5, *violating), 2) == ["n0", "n1"]
    late: list[ApiObject] = [
        node("last"),
        placed("free", "last", cpu="4"),
        node("never"),
        placed("free2", "never", cpu="4"),
    ]
    assert names(many(4, *violating, *late), 2) == ["last", "n0", "n1"]


def test_candidates_without_violations_are_listed_first() -> None:
    assert names(many(4, budget("e", 0, app="e")), 4) == ["n1", "n3", "n0", "n2"]


def test_a_search_of_many_nodes_is_made_in_parts() -> None:
    """Only the last of 250 nodes has a victim, and only one candidate is wanted."""
    nodes = [node(f"n{number}") for number in range(250)]
    pods = [placed(f"p{number}", f"n{number}", cpu="4", priority=0 if number == 249 else 100) for number in range(250)]
    assert names([*nodes, *pods], 1) == ["n249"]


def test_a_pod_refused_as_a_whole_has_nowhere_to_try() -> None:
    cluster = crowded.cluster_of(node("a"), placed("a1", "a", cpu="4"))
    attempt = crowded.attempt(cluster, urgent())
    refused = replace(attempt, verdict=replace(attempt.verdict, pre_filter=refuse("no")))
    columns = PlacedColumns(cluster.handle.pods)
    assert VictimSearch(urgent(), attempt, cluster.handle, columns).potential_rows().tolist() == [0]
    assert VictimSearch(urgent(), refused, cluster.handle, columns).potential_rows().tolist() == []
