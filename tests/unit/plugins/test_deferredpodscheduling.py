"""Pods whose resize is deferred: where they may grow, what Permit says, and what brings them back."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import parse
from stowplan.framework.verdict import Code
from stowplan.model.meta import ApiObject, Condition
from stowplan.model.node import Node, NodePodPreemptionPolicy
from stowplan.model.pod import Pod
from stowplan.plugins.deferredpodscheduling import DeferredPodScheduling
from stowplan.testing import LocalHandle, NodeBuilder, PodBuilder, make_node, make_pod

ON = parse("InPlacePodVerticalScalingSchedulerPreemption=true")
POD = make_pod("p").on("n").requests(cpu="2")


def deferred(builder: PodBuilder = POD) -> Pod:
    pod = builder.build()
    pending = Condition(type="PodResizePending", status="True", reason="Deferred")
    return replace(pod, status=replace(pod.status, conditions=(pending,)))


def sparing(builder: NodeBuilder) -> Node:
    policy = NodePodPreemptionPolicy(disable_resize_preemption=("autoscaler",))
    node = builder.build()
    return replace(node, spec=replace(node.spec, pod_preemption_policy=policy))


def plugin(is_on: bool = True) -> DeferredPodScheduling:
    handle = LocalHandle()
    handle.feature_gates = ON if is_on else handle.feature_gates
    return DeferredPodScheduling(handle)


def message(pod: Pod, *objects: ApiObject) -> str:
    """Return why no node of a cluster can take a pod; empty if one can."""
    cluster = Cluster(feature_gates=ON)
    cluster.add_all(objects)
    decision = cluster.choose(pod, preempt=False)
    return getattr(decision, "message", "")


def test_permit_holds_a_pod_that_fits_for_the_kubelet() -> None:
    rejection = plugin().permit(deferred(), "n")
    assert rejection is not None
    assert (rejection.code, rejection.reasons) == (
        Code.UNRESOLVABLE,
        ("pod resize fits, waiting for Kubelet actuation",),
    )


def test_other_pods_and_a_gate_that_is_off_are_let_through() -> None:
    assert plugin().permit(POD.build(), "n") is None
    assert plugin(is_on=False).permit(deferred(), "n") is None


CORDONED = make_node("n").capacity(cpu="4").cordon().taint("x")


def test_only_the_fit_on_its_own_node_counts_for_a_resize() -> None:
    assert message(deferred(), CORDONED.build(), make_node("m").capacity(cpu="9").build()) == ""
    assert message(
        deferred(POD.requests(cpu="3")), CORDONED.build(), make_pod("q").on("n").requests(cpu="2").build()
    ) == ("0/1 nodes are available: 1 Insufficient cpu.")


def test_what_counts_for_the_pod_already_is_not_asked_for_twice() -> None:
    whole = make_node("n").capacity(cpu="2").build()
    assert message(deferred(), whole, deferred()) == ""
    grown = deferred(POD.requests(cpu="3"))
    assert message(grown, whole, grown).startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_node_may_ask_to_be_spared() -> None:
    assert message(deferred(), sparing(CORDONED)) == "0/1 nodes are available: 1 node had resize preemption disabled."


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, CORDONED.build(), True, id="its node comes"),
        pytest.param(None, sparing(CORDONED), False, id="its node comes and asks to be spared"),
        pytest.param(sparing(CORDONED), CORDONED.build(), True, id="its node asks no more"),
        pytest.param(CORDONED.build(), sparing(CORDONED), False, id="its node asks to be spared"),
        pytest.param(None, make_node("m").build(), False, id="another node comes"),
    ],
)
def test_what_brings_it_back(old: Node | None, new: Node, helps: bool) -> None:
    for awaited in plugin().events():
        assert awaited.hint is not None
        assert awaited.hint(deferred(), old, new) is helps
        assert awaited.hint(POD.build(), old, new) is False


def test_136_does_not_know_the_plugin() -> None:
    listed = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"permit": {"enabled": [{"name": "DeferredPodScheduling"}]}}}],
    }
    assert "default-scheduler" in Cluster(listed).profiles
    with pytest.raises(ConfigError, match='PermitPlugin "DeferredPodScheduling" does not exist'):
        Cluster(listed, release="1.36")
