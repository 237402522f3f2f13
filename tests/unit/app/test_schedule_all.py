"""Several pods at once: the order of their turns, groups together, and what came of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Chosen, Cluster, Failed, Gated, Placements, Refused
from stowplan.app.turns import QueueSortError
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import COSCHEDULING, group, members, own_group, own_members

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def cluster_of(*cpus: int, **options: Any) -> Cluster:
    cluster = Cluster(ties="upstream", **options)
    cluster.add_all(make_node(f"n{number}").capacity(cpu=cpu, pods=9).build() for number, cpu in enumerate(cpus))
    return cluster


def pod(name: str, cpu: int, priority: int = 0) -> Pod:
    return make_pod(name).requests(cpu=cpu).priority(priority).build()


def names(found: list[Any]) -> list[str]:
    return [one.pod.name for one in found]


def test_the_most_important_pod_has_its_turn_first_and_results_are_in_the_order_given() -> None:
    found = cluster_of(4).schedule_all([pod("low", 3), pod("high", 3, priority=10)])
    assert [(one.pod.name, type(one)) for one in found] == [("low", Refused), ("high", Chosen)]


def test_pods_of_one_priority_have_their_turns_in_the_order_given() -> None:
    found = cluster_of(4).schedule_all([pod("b", 3), pod("a", 3)])
    assert [(one.pod.name, type(one)) for one in found] == [("b", Chosen), ("a", Refused)]


def test_a_plugin_of_ones_own_says_who_is_first(tmp_path: Path) -> None:
    sorting = "from stowplan.framework import QueueSort\nclass ByName(QueueSort):\n"
    (tmp_path / "sorting.py").write_text(f"{sorting}    def sort_key(self, pod, queued_at): return pod.name\n")
    enabled = {"enabled": [{"name": f"{tmp_path}/sorting.py:ByName"}], "disabled": [{"name": "*"}]}
    cluster = cluster_of(4, config={**HEAD, "profiles": [{"plugins": {"queueSort": enabled}}]})
    assert names(cluster.schedule_all([pod("b", 3), pod("a", 3)]).placed) == ["a"]


def test_a_plugin_that_cannot_sort_is_named(tmp_path: Path) -> None:
    sorting = "from stowplan.framework import QueueSort\nclass Mixed(QueueSort):\n"
    (tmp_path / "sorting.py").write_text(f"{sorting}    def sort_key(self, pod, queued_at): return None\n")
    enabled = {"enabled": [{"name": f"{tmp_path}/sorting.py:Mixed"}], "disabled": [{"name": "*"}]}
    cluster = cluster_of(4, config={**HEAD, "profiles": [{"plugins": {"queueSort": enabled}}]})
    with pytest.raises(QueueSortError, match=r"plugin 'Mixed' failed in QueueSort: TypeError: .+; let it return keys"):
        cluster.schedule_all([pod("b", 3), pod("a", 3)])


def test_what_was_placed_is_counted() -> None:
    cluster = cluster_of(4, 4)
    cluster.schedule_all([pod("a", 3), pod("b", 3)])
    assert sorted(placed.pod.name for placed in cluster.cache.pods()) == ["a", "b"]


def test_a_group_is_placed_together_though_its_pods_were_not_added_before() -> None:
    cluster = cluster_of(2, 2, feature_gates="GenericWorkload=true")
    cluster.add(own_group("train", 2))
    found = cluster.schedule_all(own_members("train", 2))
    assert found.by_node().keys() == {"n0", "n1"}


def test_a_group_that_does_not_fit_leaves_the_room_to_others() -> None:
    cluster = cluster_of(2, 2, feature_gates="GenericWorkload=true")
    cluster.add(own_group("train", 3))
    found = cluster.schedule_all([*own_members("train", 3), pod("single", 2)])
    assert [type(one) for one in found] == [Refused, Refused, Refused, Chosen]


def test_a_group_has_the_turn_of_its_first_pod() -> None:
    cluster = cluster_of(2, 2, feature_gates="GenericWorkload=true")
    cluster.add(own_group("train", 2))
    first, second = own_members("train", 2)
    found = cluster.schedule_all([first, pod("between", 2), second])
    assert [type(one) for one in found] == [Chosen, Refused, Chosen]


def test_a_gang_of_the_communitys_is_placed_together_or_not_at_all() -> None:
    cluster = cluster_of(2, 2, config=COSCHEDULING)
    cluster.add(group("t", 3))
    found = cluster.schedule_all([*members("t", 3), pod("single", 2)])
    assert [type(one) for one in found] == [Refused, Refused, Refused, Chosen]


def test_a_gang_of_the_communitys_that_fits_is_placed() -> None:
    cluster = cluster_of(2, 2, config=COSCHEDULING)
    cluster.add(group("t", 2))
    assert cluster.schedule_all(members("t", 2)).by_node().keys() == {"n0", "n1"}


def test_a_pod_that_waits_for_its_turn_keeps_the_room_it_is_nominated_to() -> None:
    cluster = cluster_of(4)
    waiting = make_pod("waiting").requests(cpu=3).nominated_to("n0").build()
    found = cluster.schedule_all([pod("first", 2), waiting])
    assert [type(one) for one in found] == [Refused, Chosen]


@pytest.mark.parametrize(
    ("wrong", "expected", "message"),
    [
        pytest.param(pod("a", 1), ValueError, "pod 'default/a' is given twice; give each pod once", id="twice"),
        pytest.param(
            pod("there", 1),
            ValueError,
            "pod 'default/there' has a node already, 'n0'; leave it out, or remove it first",
            id="one that is placed",
        ),
        pytest.param(
            make_pod("bound").on("n7").build(),
            ValueError,
            "pod 'default/bound' has a node already, 'n7'; leave it out, or remove it first",
            id="one that is bound",
        ),
        pytest.param(
            "web", TypeError, "expected a Pod, got str; stowplan.testing makes some", id="a name instead of a pod"
        ),
        pytest.param(
            make_pod("theirs").scheduler_name("mine").build(),
            KeyError,
            "pod 'default/theirs': no profile for schedulerName 'mine'; known: default-scheduler",
            id="one of another scheduler",
        ),
    ],
)
def test_nothing_is_placed_if_one_of_the_pods_cannot_be_scheduled(
    wrong: Any, expected: type[Exception], message: str
) -> None:
    cluster = cluster_of(4)
    cluster.add(make_pod("there").requests(cpu=1).on("n0").build())
    with pytest.raises(expected, match=message):
        cluster.schedule_all([pod("a", 1), wrong])
    assert [placed.pod.name for placed in cluster.cache.pods()] == ["there"]


# What came of them


def mixed() -> Placements:
    """One pod of every kind of result but a failure, and two on one node."""
    return cluster_of(4).schedule_all(
        [pod("a", 1), pod("big", 9), make_pod("later").gate("example.com/wait").build(), pod("b", 2)]
    )


def test_results_are_told_apart_by_their_kind() -> None:
    found = mixed()
    assert names(found.placed) == ["a", "b"]
    assert names(found.refused) == ["big"]
    assert names(found.held) == ["later"]
    assert found.failed == []
    assert names(Cluster().schedule_all([pod("early", 1)]).failed) == ["early"]


def test_pods_are_listed_by_node() -> None:
    assert {node: [one.name for one in pods] for node, pods in mixed().by_node().items()} == {"n0": ["a", "b"]}


def test_placements_are_a_sequence() -> None:
    found = mixed()
    assert len(found) == 4
    assert isinstance(found[1], Refused)
    assert [one.pod.name for one in found[1:3]] == ["big", "later"]
    assert repr(found) == "Placements(2 of 4 pods placed, 1 refused, 1 held back)"
    assert repr(found[:1]) == "Placements(1 of 1 pods placed)"


def test_placements_are_columns_too() -> None:
    assert mixed().to_frame().to_csv() == (
        "namespace,name,result,node,feasible_nodes,score,plugins,message\r\n"
        "default,a,placed,n0,1,,,\r\n"
        "default,big,refused,,0,,NodeResourcesFit,0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.\r\n"
        "default,later,held,,,,SchedulingGates,waiting for scheduling gates: [example.com/wait]\r\n"
        "default,b,placed,n0,1,,,\r\n"
    )


def test_a_score_is_a_number_where_there_was_a_choice() -> None:
    frame = cluster_of(4, 4).schedule_all([pod("a", 1)]).to_frame()
    assert frame["feasible_nodes"].tolist() == [2.0]
    assert frame["score"].tolist() == [450.0]


def test_what_is_not_told_of_a_pod_in_a_group_is_not_a_number() -> None:
    cluster = cluster_of(2, 2, feature_gates="GenericWorkload=true")
    cluster.add(own_group("train", 2))
    frame = cluster.schedule_all(own_members("train", 2)).to_frame()
    assert frame.to_csv().splitlines()[1] == "default,train-0,placed,n0,,,,"


def test_the_plugin_that_failed_is_named() -> None:
    frame = Placements([Failed(pod("a", 1), "it broke", "Mine")]).to_frame()
    assert frame.to_csv().splitlines()[1] == "default,a,failed,,,,Mine,it broke"


def test_no_pods_are_no_rows() -> None:
    found = cluster_of(4).schedule_all([])
    assert (len(found), found.by_node(), len(found.to_frame())) == (0, {}, 0)


def test_a_gated_pod_counts_as_held() -> None:
    (found,) = cluster_of(4).schedule_all([make_pod("later").gate("g").build()])
    assert isinstance(found, Gated)


def test_who_was_refused_is_tried_again_when_another_that_it_wants_to_be_beside_has_found_a_node() -> None:
    cluster = Cluster(ties="upstream")
    cluster.add(make_node("n").label("host", "n").capacity(cpu=4, pods=9).build())
    beside = make_pod("a").affinity("app", "b", topology_key="host").build()
    found = cluster.schedule_all([beside, make_pod("b").label("app", "b").build()])
    assert [(one.pod.name, one.node_name) for one in found] == [("a", "n"), ("b", "n")]


def test_victims_end_when_everybody_has_had_a_turn_and_those_who_were_refused_come_in_the_order_of_the_queue() -> None:
    cluster = cluster_of(8)
    cluster.add(make_pod("low").requests(cpu=8).priority(-1).on("n0").build())
    meek = pod("meek", 3, priority=20)
    meek = replace(meek, spec=replace(meek.spec, preemption_policy="Never"))
    found = cluster.schedule_all([meek, pod("high", 4, priority=10), pod("late", 2)])
    # Of the 4 cores that `high` leaves, `late` finds none as long as the victim is there, and `meek` comes before it.
    assert [(one.pod.name, one.node_name) for one in found] == [("meek", "n0"), ("high", "n0"), ("late", None)]
    assert [victim.name for one in found.placed for victim in one.victims] == ["low"]
