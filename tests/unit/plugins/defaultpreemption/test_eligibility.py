"""Who may preempt."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.framework.handle import PreemptingHandle
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemption
from stowplan.testing import make_node, make_pod
from tests.unit.plugins.defaultpreemption import crowded
from tests.unit.plugins.defaultpreemption.crowded import BEING_PREEMPTED, node, placed, terminating, urgent

WAITING = "not eligible due to a terminating pod on the nominated node."


def why_ineligible(cluster: Cluster, pod: Pod) -> str:
    return DefaultPreemption(cast("PreemptingHandle", cluster)).why_ineligible(pod, crowded.attempt(cluster, pod))


def test_a_pod_of_policy_never_does_not_preempt() -> None:
    cluster = crowded.cluster_of(node("a"), placed("low", "a", cpu="4"))
    pod = urgent()
    pod = replace(pod, spec=replace(pod.spec, preemption_policy="Never"))
    assert why_ineligible(cluster, pod) == "not eligible due to preemptionPolicy=Never."


@pytest.mark.parametrize(
    ("on_node", "expected"),
    [
        pytest.param(placed("low", "a", cpu="4"), "", id="nobody is terminating"),
        pytest.param(
            terminating(placed("low", "a", cpu="4"), BEING_PREEMPTED), WAITING, id="a victim of preemption is"
        ),
        pytest.param(terminating(placed("low", "a", cpu="4")), "", id="a pod is, but nobody preempted it"),
        pytest.param(
            terminating(placed("low", "a", cpu="4"), replace(BEING_PREEMPTED, reason="EvictionByEvictionAPI")),
            "",
            id="a pod is that was evicted otherwise",
        ),
        pytest.param(
            terminating(placed("low", "a", cpu="4"), replace(BEING_PREEMPTED, status="False")),
            "",
            id="a pod is whose preemption was called off",
        ),
        pytest.param(
            terminating(placed("low", "a", cpu="4", priority=100), BEING_PREEMPTED),
            "",
            id="a pod is that is as important",
        ),
        pytest.param(
            replace(
                placed("low", "a", cpu="4"),
                status=replace(placed("low", "a").status, conditions=(Condition(type="DisruptionTarget"),)),
            ),
            "",
            id="a pod is marked but not terminating",
        ),
    ],
)
def test_a_pod_waits_for_its_victims_on_the_nominated_node(on_node: Pod, expected: str) -> None:
    cluster = crowded.cluster_of(node("a"), on_node)
    pod = urgent()
    assert why_ineligible(cluster, replace(pod, status=replace(pod.status, nominated_node_name="a"))) == expected


def test_victims_elsewhere_do_not_matter() -> None:
    victim = terminating(placed("low", "a", cpu="4"), BEING_PREEMPTED)
    cluster = crowded.cluster_of(node("a"), node("b"), victim, placed("other", "b", cpu="4"))
    pod = urgent()
    assert why_ineligible(cluster, replace(pod, status=replace(pod.status, nominated_node_name="b"))) == ""


@pytest.mark.parametrize(
    "nominated",
    [
        pytest.param("tainted", id="a node that will not take it whoever goes"),
        pytest.param("gone", id="a node that is gone"),
    ],
)
def test_a_pod_does_not_wait_in_vain(nominated: str) -> None:
    tainted = make_node("tainted").capacity(cpu="4").taint("closed").build()
    cluster = crowded.cluster_of(tainted, terminating(placed("low", "tainted", cpu="4"), BEING_PREEMPTED))
    pod = make_pod("urgent").requests(cpu="2").priority(100).nominated_to(nominated).build()
    assert why_ineligible(cluster, pod) == ""
