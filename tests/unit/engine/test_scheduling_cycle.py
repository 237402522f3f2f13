"""The choice for one pod: feasible nodes, nominated pods and nodes, samples, ties, and what is said if nobody fits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from stowplan.engine.failure import NO_NODES, Chosen, Failed, Refused, Result
from stowplan.engine.scheduling_cycle import RandomTie, Sampler, UpstreamOrder, nodes_to_find
from stowplan.framework.contract import Filter, Reject, Score, reject
from stowplan.framework.verdict import Code, Rejection
from stowplan.model import decode
from stowplan.model.affinity import Affinity
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.nodeaffinity import NodeAffinity
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.framework.stand import Stand, nodes

POD = make_pod("web").requests(cpu="2").build()
ONLY_A = decode.convert(
    Affinity,
    {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]},
                ],
            },
        },
    },
)


class Prefers(Score):
    """Scores nodes by a label; without one, 0."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Scores = nodes.fact("liked", lambda node: int(node.labels.get("liked", "0")))
        return scores


class Closed(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(nodes.label("closed").codes >= 0, "closed", unresolvable=True)


def liked(name: str, score: int) -> Node:
    return make_node(name).capacity(cpu=4).label("liked", str(score)).build()


def chosen(result: Result) -> tuple[str, int, int | None]:
    assert isinstance(result, Chosen), result
    return result.node_name, result.feasible_count, result.total


def test_the_node_with_the_highest_total_is_taken() -> None:
    stand = Stand([liked("a", 10), liked("b", 30), liked("c", 20)], Prefers())
    assert chosen(stand.choose(POD)) == ("b", 3, 30)


def test_nothing_changes_by_choosing() -> None:
    stand = Stand(nodes("a"), NodeResourcesFit(), Prefers())
    stand.choose(POD)
    assert Nodes(stand.cache.table).requested[0].tolist() == [0]


def test_the_only_feasible_node_is_not_scored() -> None:
    closed = make_node("b").label("closed", "").build()
    stand = Stand([liked("a", 10), closed], Closed(), Prefers())
    assert chosen(stand.choose(POD)) == ("a", 1, None)


def test_no_node_at_all_is_a_failure() -> None:
    result = Stand([], Prefers()).choose(POD)
    assert isinstance(result, Failed)
    assert result.message == NO_NODES == "no nodes available to schedule pods"


def test_a_refusal_says_why() -> None:
    closed = make_node("b").label("closed", "").build()
    stand = Stand([*nodes("a"), closed], Closed(), NodeResourcesFit())
    result = stand.choose(make_pod("big").requests(cpu="5").build())
    assert isinstance(result, Refused)
    assert result.message == "0/2 nodes are available: 1 Insufficient cpu, 1 closed."
    assert result.verdict.rejected == {
        "a": Rejection(("Insufficient cpu",), Code.UNRESOLVABLE, "NodeResourcesFit"),
        "b": Rejection(("closed",), Code.UNRESOLVABLE, "Closed"),
    }


@pytest.mark.parametrize(
    ("zones", "taken"),
    [
        pytest.param(["x", "x", "x"], "n0", id="the first of one zone"),
        pytest.param(["x", "x", "y"], "n0", id="the first of the first zone"),
    ],
)
def test_equals_are_taken_in_the_order_they_are_found(zones: list[str], taken: str) -> None:
    found = [make_node(f"n{row}").zone(zone).build() for row, zone in enumerate(zones)]
    assert chosen(Stand(found, Prefers()).choose(POD)) == (taken, 3, 0)


# Pods and nodes that are nominated


def test_room_is_left_for_a_nominated_pod_of_at_least_the_same_priority() -> None:
    stand = Stand(nodes("a", "b"), NodeResourcesFit(), Prefers())
    stand.field.nominations.put(make_pod("waiting").requests(cpu="3").build(), "a")
    assert chosen(stand.choose(POD))[:2] == ("b", 1)
    assert stand.verdict(POD).rejected == {
        "a": Rejection(("Insufficient cpu",), Code.UNSCHEDULABLE, "NodeResourcesFit")
    }


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("web").requests(cpu="2").priority(1).build(), id="a more important pod"),
        pytest.param(make_pod("waiting").requests(cpu="2").build(), id="the nominated pod itself"),
    ],
)
def test_no_room_is_left_for_others(pod: Pod) -> None:
    stand = Stand(nodes("a"), NodeResourcesFit(), Prefers())
    stand.field.nominations.put(make_pod("waiting").requests(cpu="3").build(), "a")
    assert chosen(stand.choose(pod))[0] == "a"


def test_a_nomination_to_a_node_that_is_gone_does_not_count() -> None:
    stand = Stand(nodes("a"), NodeResourcesFit(), Prefers())
    stand.field.nominations.put(make_pod("waiting").requests(cpu="3").build(), "gone")
    assert chosen(stand.choose(POD))[0] == "a"


def test_what_is_kept_does_not_depend_on_nominations() -> None:
    stand = Stand(nodes("a", "b"), NodeResourcesFit(), Prefers())
    waiting = make_pod("waiting").requests(cpu="3").build()
    assert chosen(stand.choose(POD))[1] == 2
    stand.field.nominations.put(waiting, "a")
    assert chosen(stand.choose(POD))[1] == 1
    stand.field.nominations.remove(waiting)
    assert chosen(stand.choose(POD))[1] == 2


def test_a_pod_goes_to_the_node_that_was_freed_for_it() -> None:
    stand = Stand([liked("a", 10), liked("b", 30)], Prefers())
    pod = make_pod("web").nominated_to("a").build()
    assert chosen(stand.choose(pod)) == ("a", 2, None)


def test_a_node_that_was_freed_but_does_not_fit_is_passed_over() -> None:
    closed = make_node("a").label("closed", "").build()
    stand = Stand([closed, liked("b", 30), liked("c", 0)], Closed(), Prefers())
    assert chosen(stand.choose(make_pod("web").nominated_to("a").build()))[0] == "b"


@pytest.mark.parametrize(
    ("nominated", "others"),
    [
        pytest.param("", "2 node(s) didn't satisfy plugin(s) [NodeAffinity]", id="not nominated"),
        pytest.param("gone", "2 node(s) didn't satisfy plugin(s) [NodeAffinity]", id="to a node that is gone"),
        pytest.param("a", "2 node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]", id="to the named node"),
        pytest.param(
            "b",
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]",
            id="to another node",
        ),
    ],
)
def test_the_node_that_was_freed_is_asked_about_before_the_nodes_that_are_named(nominated: str, others: str) -> None:
    stand = Stand(nodes("a", "b", "c"), NodeAffinity(), NodeResourcesFit())
    pod = make_pod("web").requests(cpu="5").nominated_to(nominated).build()
    result = stand.choose(msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, affinity=ONLY_A)))
    assert isinstance(result, Refused)
    assert result.message == f"0/3 nodes are available: 1 Insufficient cpu, {others}."
    assert result.verdict.unschedulable_plugins() == {"NodeAffinity", "NodeResourcesFit"}


# Samples


def many(count: int) -> list[Node]:
    return [liked(f"n{number}", 1 if number == count - 1 else 0) for number in range(count)]


def test_a_percentage_of_a_profile_limits_the_nodes_that_are_ranked() -> None:
    stand = Stand(many(150), Prefers(), percentage_of_nodes_to_score=70)
    counts = [chosen(stand.choose(POD))[1] for _ in range(3)]
    assert counts == [105, 105, 105]


def test_over_several_pods_every_node_is_looked_at() -> None:
    stand = Stand(many(150), Prefers(), percentage_of_nodes_to_score=70)
    # The best node is the last: found when the walk comes round to it.
    assert [chosen(stand.choose(POD))[2] for _ in range(2)] == [0, 1]


def test_a_small_cluster_is_ranked_whole() -> None:
    stand = Stand(many(99), Prefers(), percentage_of_nodes_to_score=10)
    assert chosen(stand.choose(POD)) == ("n98", 99, 1)


def test_one_node_is_enough_if_nobody_scores() -> None:
    stand = Stand(nodes("a", "b", "c"), NodeResourcesFit())
    stand.profile = type(stand.profile)(name="plain", filter=stand.profile.filter, pre_filter=stand.profile.pre_filter)
    assert [chosen(stand.choose(POD)) for _ in range(4)] == [
        ("a", 1, None),
        ("b", 1, None),
        ("c", 1, None),
        ("a", 1, None),
    ]


def test_a_sample_is_ranked_by_itself() -> None:
    stand = Stand(many(150), Prefers(), percentage_of_nodes_to_score=70)
    first = chosen(stand.choose(POD))
    stand.cache.add_node(liked("n10", 50))
    assert first[2] == 0
    totals = [chosen(stand.choose(POD))[2] for _ in range(3)]
    assert 50 in totals
    assert np.max([total or 0 for total in totals]) == 50


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [
        pytest.param(99, 10, 99, id="all of a small cluster"),
        pytest.param(1000, 100, 1000, id="all if all are asked for"),
        pytest.param(1000, 0, 1000, id="all if nothing is asked for"),
        pytest.param(1000, 30, 300, id="a percentage"),
        pytest.param(1000, 5, 100, id="never fewer than a hundred"),
        pytest.param(5001, 50, 2500, id="rounded down"),
    ],
)
def test_how_many_nodes_are_enough(nodes: int, percentage: int, enough: int) -> None:
    assert nodes_to_find(nodes, percentage) == enough


def test_a_sample_goes_on_where_the_last_one_ended() -> None:
    sampler, order = Sampler(), np.array([3, 1, 0, 2])
    feasible = np.array([True, True, False, True])
    assert np.flatnonzero(sampler.sample(order, feasible, 2)).tolist() == [1, 3]
    assert sampler.order(order).tolist() == [0, 2, 3, 1]
    assert np.flatnonzero(sampler.sample(order, feasible, 2)).tolist() == [0, 3]
    assert sampler.order(order).tolist() == [1, 0, 2, 3]


def test_a_walk_over_everything_starts_at_the_same_place_again() -> None:
    sampler, order = Sampler(), np.array([0, 1, 2])
    sampler.sample(order, np.array([True, False, True]), 2)
    assert sampler.order(order).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("order", "best", "taken"),
    [
        pytest.param([4, 2, 7], [2, 4, 7], 4, id="all alike: the first found"),
        pytest.param([4, 2, 7], [2, 7], 2, id="both children: the left one"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [6, 7], 6, id="below the left child before the right child"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [3, 5], 5, id="the left half first at every depth"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [7, 4], 7, id="a parent before its child"),
        pytest.param([5], [5], 5, id="one row"),
    ],
)
def test_upstream_takes_the_first_of_a_walk_down_the_heap(order: list[int], best: list[int], taken: int) -> None:
    assert UpstreamOrder().pick(np.isin(np.arange(10), best), lambda: np.array(order)) == taken


def test_the_same_seed_makes_the_same_choices() -> None:
    best, order = np.ones(10, dtype=bool), np.arange(10)
    first, second = (RandomTie(random.Random(7).randrange) for _ in range(2))
    choices = [first.pick(best, lambda: order) for _ in range(20)]
    assert choices == [second.pick(best, lambda: order) for _ in range(20)]
    assert len(set(choices)) > 3
