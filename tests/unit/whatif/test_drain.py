"""What if nodes are drained: who goes where, who stays and why, and in which batch."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.model.meta import LabelSelector
from stowplan.testing import make_pod
from tests.unit.whatif.questions import FLAVOURS, ask, budget, cluster_of, cluster_with_gang, in_gang, node, pod


def drain(cluster: Cluster, *names: str, batches: int = 1, **more: Any) -> Any:
    return ask(cluster, "drain", names=names, batches=batches, **more)


def moves(answer: Any) -> dict[str, str | None]:
    return {one["pod"].removeprefix("default/"): one["to"] for batch in answer["batches"] for one in batch["moved"]}


def messages(answer: Any) -> dict[str, str]:
    found = (one for batch in answer["batches"] for one in batch["moved"])
    return {one["pod"].removeprefix("default/"): one["message"] for one in found}


def test_everybody_finds_another_node_the_most_important_first() -> None:
    important = make_pod("important").requests(cpu=3).priority(9).owner("ReplicaSet", "i").on("a").build()
    found = drain(cluster_of(node("a"), node("b", cpu=3), node("c"), pod("web-0", on="a"), important), "a")
    assert found["canBeDrained"] is True
    assert moves(found) == {"important": "c", "web-0": "b"}
    assert [one["pod"] for one in found["batches"][0]["moved"]] == ["default/important", "default/web-0"]
    assert (found["homeless"], found["heldByBudgets"], found["unmanaged"], found["alsoPlaced"]) == ([], {}, [], {})


def test_who_finds_no_node_is_homeless_and_stays_where_it_is() -> None:
    found = drain(cluster_of(node("a"), node("b", cpu=2), pod("big-0", cpu=3, on="a"), pod("web-0", on="a")), "a")
    assert (found["canBeDrained"], found["homeless"]) == (False, ["default/big-0"])
    assert moves(found) == {"web-0": "b", "big-0": None}
    said = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    assert messages(found) == {"web-0": "", "big-0": said}


def test_who_is_homeless_at_first_may_follow_when_another_has_gone() -> None:
    near = make_pod("second").requests(cpu=1).priority(5).affinity("app", "first").owner("ReplicaSet", "s")
    cluster = cluster_of(node("a"), node("b"), near.on("a").build(), pod("first-0", on="a"))
    found = drain(cluster, "a")
    assert [(one["pod"], one["to"]) for one in found["batches"][0]["moved"]] == [
        ("default/first-0", "b"),
        ("default/second", "b"),
    ]
    assert found["canBeDrained"] is True


def test_a_budget_that_does_not_let_go_is_named_with_those_who_stay() -> None:
    pods = [pod("web-0", on="a", owner=""), pod("web-1", on="a", owner="")]
    found = drain(cluster_of(node("a"), node("b"), budget("web", max_unavailable=1), *pods), "a")
    assert found["canBeDrained"] is False
    assert found["heldByBudgets"] == {"default/web": ["default/web-1"]}
    assert messages(found)["web-1"] == "evicting it would violate default/web"
    assert found["homeless"] == []


def test_of_a_controllers_pods_one_may_go_after_the_other_as_each_is_made_anew() -> None:
    pods = [pod(f"web-{number}", on="a") for number in range(3)]
    found = drain(cluster_of(node("a"), node("b"), budget("web", max_unavailable=1), *pods), "a")
    assert (found["canBeDrained"], set(moves(found).values())) == (True, {"b"})


def test_a_pod_of_two_budgets_can_be_evicted_by_nobody() -> None:
    about_web = LabelSelector(match_labels={"app": "web"})
    twice = [budget(name, about_web, max_unavailable=1) for name in ("web", "too")]
    found = drain(cluster_of(node("a"), node("b"), *twice, pod("web-0", on="a")), "a")
    assert sorted(found["heldByBudgets"]) == ["default/too", "default/web"]
    assert messages(found)["web-0"].startswith("nobody can evict it: more than one budget is about it, default/")


@pytest.mark.parametrize("owner", ["DaemonSet", "Node"])
def test_pods_that_belong_to_the_node_stay(owner: str) -> None:
    found = drain(cluster_of(node("a"), pod("agent-0", on="a", owner=owner)), "a")
    assert (found["canBeDrained"], moves(found)) == (True, {})


def test_mirror_pods_and_those_that_are_going_stay() -> None:
    mirror = make_pod("mirror").annotation("kubernetes.io/config.mirror", "x").on("a").build()
    going = pod("going-0", on="a")
    going = replace(going, metadata=replace(going.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    found = drain(cluster_of(node("a"), mirror, going), "a")
    assert (found["canBeDrained"], moves(found)) == (True, {})


def test_a_pod_without_a_controller_is_placed_and_named() -> None:
    found = drain(cluster_of(node("a"), node("b"), pod("alone", on="a", owner="")), "a")
    assert (found["canBeDrained"], moves(found), found["unmanaged"]) == (True, {"alone": "b"}, ["default/alone"])


def test_a_pod_of_another_scheduler_is_left_to_that() -> None:
    other = make_pod("other").scheduler_name("batch").owner("ReplicaSet", "o").on("a").build()
    found = drain(cluster_of(node("a"), node("b"), other), "a")
    assert messages(found) == {"other": "it is left to another scheduler, 'batch'"}
    assert found["canBeDrained"] is False


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_pod_of_a_gang_that_runs_is_made_anew_as_one_of_it(flavour: str) -> None:
    cluster = cluster_with_gang(
        flavour, node("a"), node("b"), in_gang("train-0", on="a"), in_gang("train-1", on="b"), needed=2
    )
    assert drain(cluster, "a")["canBeDrained"] is True
    # Who stays is of the gang as before.
    assert drain(cluster, "a", "b")["homeless"] == ["default/train-0", "default/train-1"]
    assert drain(cluster, "a", "b", batches=2)["canBeDrained"] is True


# Batches


def test_in_batches_nodes_come_back_before_the_next_go() -> None:
    cluster = cluster_of(node("a"), node("b"), pod("x-0", cpu=3, on="a"), pod("y-0", cpu=1, on="b"))
    found = drain(cluster, "a", "b", batches=2)
    assert [batch["nodes"] for batch in found["batches"]] == [["a"], ["b"]]
    # Back and forth: all of it would not fit on one node but for the order.
    assert found["canBeDrained"] is True
    assert [[one["pod"] for one in batch["moved"]] for batch in found["batches"]] == [
        ["default/x-0"],
        ["default/y-0", "default/x-0"],
    ]
    assert drain(cluster, "a", "b")["homeless"] == ["default/x-0", "default/y-0"]


def test_a_pod_that_goes_twice_is_named_once() -> None:
    bare = pod("bare-0", on="a", owner="")
    found = drain(cluster_of(node("a"), node("b"), bare), "a", "b", batches=2)
    assert [[one["to"] for one in batch["moved"]] for batch in found["batches"]] == [["b"], ["a"]]
    assert found["unmanaged"] == ["default/bare-0"]


def test_pods_of_one_budget_are_in_different_batches() -> None:
    nodes = [node(name) for name in "abcd"]
    pods = [pod(f"{app}-{name}", on=name) for name, app in zip("abcd", ("web", "web", "db", "db"), strict=True)]
    cluster = cluster_of(*nodes, budget("web", max_unavailable=1), budget("db", max_unavailable=1), *pods)
    found = drain(cluster, *"abcd", batches=2)
    assert [batch["nodes"] for batch in found["batches"]] == [["a", "c"], ["b", "d"]]


def test_batches_are_of_much_the_same_size() -> None:
    found = drain(cluster_of(*(node(name) for name in "abcde")), *"abcde", batches=3)
    assert sorted(len(batch["nodes"]) for batch in found["batches"]) == [1, 2, 2]


# Those who wait already


def test_a_pod_that_waits_gets_a_node_that_comes_back_and_is_told() -> None:
    cluster = cluster_of(node("a"), node("b", cpu=2), pod("x-0", cpu=2, on="a"))
    waiting = [pod("waits-0", cpu=4)]
    found = drain(cluster, "a", "b", batches=2, waiting=waiting)
    assert found["alsoPlaced"] == {"default/waits-0": "a"}
    assert drain(cluster, "a", waiting=waiting)["alsoPlaced"] == {}


def test_a_pod_that_waits_may_take_the_room_first() -> None:
    cluster = cluster_of(node("a"), node("b", cpu=2), pod("x-0", cpu=2, on="a"))
    assert drain(cluster, "a")["canBeDrained"] is True
    found = drain(cluster, "a", waiting=[pod("waits-0", cpu=2)])
    assert found["homeless"] == ["default/x-0"]


def test_a_stateful_set_makes_no_pod_before_one_that_waits() -> None:
    cluster = cluster_of(node("a"), node("b"), pod("db-1", on="a", owner="StatefulSet"))
    found = drain(cluster, "a", waiting=[pod("db-0", cpu=9, owner="StatefulSet")])
    assert messages(found) == {"db-1": "its StatefulSet makes it anew only when default/db-0 has a node"}
    assert drain(cluster, "a", waiting=[pod("db-2", cpu=9, owner="StatefulSet")])["canBeDrained"] is True


def test_nothing_is_left_of_it() -> None:
    cluster = cluster_of(node("a"), node("b"), pod("web-0", on="a"))
    first = drain(cluster, "a")
    assert drain(cluster, "a") == first
    assert [one.name for one in cluster.pods_on("a")] == ["web-0"]
    assert [one.spec.unschedulable for one in cluster.cache.table.nodes] == [False, False]
