"""DefaultPreemption in the words of the plugin contract."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates, parse
from stowplan.framework.contract import Nominated, Preemption, Requeue
from stowplan.framework.post_filter import settled
from stowplan.framework.verdict import Code, Rejection
from tests.known_plugins import from_mapping
from tests.unit.plugins.defaultpreemption import crowded
from tests.unit.plugins.defaultpreemption.crowded import node, placed, urgent

VICTIM = placed("a1", "a", cpu="4", started=10)


def only_preemption(**arguments: int) -> Cluster:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": arguments}]}],
    }
    return Cluster(from_mapping(config), seed=1)


def test_the_pod_is_nominated_to_the_node_where_room_can_be_made() -> None:
    cluster = crowded.cluster_of(node("a"), node("b"), VICTIM, placed("b1", "b", cpu="4", started=5))
    result = crowded.post_filter(cluster, urgent())
    text = "preemption: found a potential placement for pod on node a, preempting 1 victims"
    assert result.nominated == Nominated("a", Preemption("a", (VICTIM,)), text)
    assert (result.rejection, result.message) == (None, text)


def test_in_136_nothing_is_said_of_a_node_where_room_can_be_made() -> None:
    cluster = crowded.cluster_of(node("a"), VICTIM, release="1.36")
    result = crowded.post_filter(cluster, urgent())
    assert result.nominated == Nominated("a", Preemption("a", (VICTIM,)))
    assert result.message == ""


def test_deciding_changes_nothing() -> None:
    cluster = crowded.cluster_of(node("a"), VICTIM)
    assert crowded.post_filter(cluster, urgent()) == crowded.post_filter(cluster, urgent())
    assert cluster.pods_on("a") == [VICTIM]


def test_a_nomination_is_withdrawn_when_nothing_helps() -> None:
    cluster = crowded.cluster_of(node("a"), placed("a1", "a", cpu="4", priority=100))
    result = crowded.post_filter(cluster, urgent())
    text = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert result.rejection == Rejection((text,), Code.UNSCHEDULABLE, "DynamicResources")
    assert result.withdraws


def test_a_nomination_stands_while_its_victims_go() -> None:
    cluster = crowded.cluster_of(node("a"), crowded.terminating(VICTIM, crowded.BEING_PREEMPTED))
    pod = urgent()
    result = crowded.post_filter(cluster, replace(pod, status=replace(pod.status, nominated_node_name="a")))
    assert result.message == "preemption: not eligible due to a terminating pod on the nominated node."
    assert not result.withdraws


def test_as_many_candidates_are_looked_for_as_configured() -> None:
    cluster = only_preemption(minCandidateNodesPercentage=0, minCandidateNodesAbsolute=1)
    cluster.add_all([node("a"), node("b"), VICTIM, placed("b1", "b", cpu="4", started=5)])
    drawn = [0, 1]
    cluster.handle.draw = lambda below: drawn.pop(0)
    for expected in ("a", "b"):
        nominated = crowded.post_filter(cluster, urgent()).nominated
        assert nominated is not None
        assert nominated.node_name == expected


def test_where_extenders_have_a_say_candidates_are_proposed_and_settled_by_those_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = crowded.cluster_of(node("a"), node("b"), VICTIM, placed("b1", "b", cpu="4", started=5))
    monkeypatch.setattr(type(cluster.handle), "asks_before_preempting", lambda handle, pod: True)
    made = crowded.post_filter(cluster, urgent())
    assert made.proposed is not None
    candidates = made.proposed.candidates
    assert sorted(candidate.node_name for candidate in candidates) == ["a", "b"]
    only_b = settled(made, [candidate for candidate in candidates if candidate.node_name == "b"]).nominated
    assert only_b is not None
    assert only_b.node_name == "b"
    assert settled(made, []).message == "preemption: no candidate node for preemption"


@pytest.mark.parametrize(
    ("gates", "awaited"),
    [
        pytest.param(DEFAULT_GATES, ["AssignedPod"], id="a pod is gated until its victims go"),
        pytest.param(parse("SchedulerAsyncPreemption=false"), [], id="an attempt that waits for that gates nobody"),
    ],
)
def test_what_it_awaits(gates: FeatureGates, awaited: list[str]) -> None:
    (plugin,) = Cluster(feature_gates=gates).profiles["default-scheduler"].post_filter[-1:]
    assert isinstance(plugin, Requeue)
    assert [one.resource for one in plugin.events()] == awaited
