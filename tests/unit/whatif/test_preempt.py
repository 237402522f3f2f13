"""Whom a pod would push out: all candidates in the order of choice, and what becomes of the victims."""

from __future__ import annotations

from stowplan.app.cluster import Cluster
from stowplan.testing import make_pod
from tests.unit.whatif.questions import ask, budget, cluster_of, data, node

URGENT = data(make_pod("urgent").requests(cpu=3).priority(100).build())


def crowded(*more: object) -> Cluster:
    """Make three nodes, each with a pod that could go."""
    pods = (("low", "a", 1), ("fair", "b", 5), ("other", "c", 5))
    made = (make_pod(name).requests(cpu=3).priority(priority).label("app", name) for name, _, priority in pods)
    placed = [one.owner("ReplicaSet", at[0]).on(at[1]).build() for one, at in zip(made, pods, strict=True)]
    return cluster_of(node("a"), node("b"), node("c"), *placed, *more)


def test_all_candidates_are_told_the_one_that_is_taken_first() -> None:
    found = ask(crowded(), "preempt", pod=URGENT)
    assert (found["findsRoom"], found["needsPreemption"]) == (True, True)
    assert [one["node"] for one in found["candidates"]] == ["a", "b", "c"]
    assert found["candidates"][0] == {
        "node": "a",
        "victims": [{"pod": "default/low", "priority": 1}],
        "pdbViolations": 0,
    }
    assert found["placed"] == {"pod": "default/urgent", "node": "a", "message": ""}
    assert found["message"].startswith("0/3 nodes are available: 3 Insufficient cpu. preemption: found a potential")


def test_a_budget_that_would_be_violated_makes_a_node_the_last_choice() -> None:
    found = ask(crowded(budget("low", max_unavailable=0)), "preempt", pod=URGENT)
    assert [(one["node"], one["pdbViolations"]) for one in found["candidates"]] == [("b", 0), ("c", 0), ("a", 1)]


def test_victims_look_for_another_node_when_the_pod_has_theirs() -> None:
    (homeless,) = ask(crowded(), "preempt", pod=URGENT)["victims"]
    assert (homeless["pod"], homeless["fromNode"], homeless["to"]) == ("default/low", "a", None)
    assert homeless["message"].startswith("0/3 nodes are available: 3 Insufficient cpu.")
    # A node that takes the victim, and not the pod that it goes for.
    large = data(make_pod("urgent").requests(cpu=4).priority(100).build())
    (moved,) = ask(crowded(node("d", cpu=3)), "preempt", pod=large)["victims"]
    assert (moved["to"], moved["message"]) == ("d", "")


def test_who_fits_as_it_is_pushes_nobody_out() -> None:
    found = ask(crowded(node("d")), "preempt", pod=URGENT)
    assert (found["needsPreemption"], found["candidates"], found["placed"]["node"]) == (False, [], "d")


def test_where_nobodys_end_helps_there_is_no_candidate() -> None:
    found = ask(crowded(), "preempt", pod=data(make_pod("urgent").requests(cpu=9).priority(100).build()))
    assert (found["findsRoom"], found["candidates"], found["placed"]) == (False, [], None)
    assert "Insufficient cpu. preemption: 0/3 nodes are available" in found["message"]


def test_nothing_comes_of_it() -> None:
    cluster = crowded()
    assert ask(cluster, "preempt", pod=URGENT) == ask(cluster, "preempt", pod=URGENT)
    assert [one.name for one in cluster.pods_on("a")] == ["low"]
