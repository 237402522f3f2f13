"""What an update was, who hears of it, and what it is called."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change
from stowplan.model.meta import Condition
from stowplan.model.node import Node, NodePodPreemptionPolicy
from stowplan.model.pod import ExtendedResourceClaimStatus, Pod, PodResourceClaimStatus
from stowplan.testing import make_node, make_pod


def with_status(node: Node, **fields: Any) -> Node:
    return replace(node, status=replace(node.status, **fields))


def with_pod_status(pod: Pod, **fields: Any) -> Pod:
    return replace(pod, status=replace(pod.status, **fields))


NODE = make_node("n").capacity(cpu="2").label("disk", "hdd")
READY = Condition(type="Ready", status="True", reason="KubeletReady")


def sparing(*owners: str) -> Node:
    policy = NodePodPreemptionPolicy(disable_resize_preemption=owners)
    node = NODE.build()
    return replace(node, spec=replace(node.spec, pod_preemption_policy=policy))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(NODE.build(), NODE.build(), [], id="nothing"),
        pytest.param(NODE.build(), NODE.capacity(cpu="4").build(), ["UPDATE_NODE_ALLOCATABLE"], id="it grew"),
        pytest.param(NODE.capacity(cpu="1").build(), NODE.capacity(cpu="1000m").build(), [], id="it says the same"),
        pytest.param(NODE.build(), NODE.label("disk", "ssd").build(), ["UPDATE_NODE_LABEL"], id="another label"),
        pytest.param(NODE.build(), NODE.taint("x").build(), ["UPDATE_NODE_TAINT"], id="a taint"),
        pytest.param(NODE.cordon().build(), NODE.build(), ["UPDATE_NODE_TAINT"], id="it was uncordoned"),
        pytest.param(NODE.build(), NODE.cordon().build(), [], id="it was cordoned, which helps nobody"),
        pytest.param(NODE.build(), NODE.annotation("a", "b").build(), ["UPDATE_NODE_ANNOTATION"], id="an annotation"),
        pytest.param(
            NODE.build(), with_status(NODE.build(), conditions=(READY,)), ["UPDATE_NODE_CONDITION"], id="a condition"
        ),
        pytest.param(
            with_status(NODE.build(), conditions=(READY,)),
            with_status(NODE.build(), conditions=(replace(READY, reason="other"),)),
            [],
            id="a condition says the same in other words",
        ),
        pytest.param(
            NODE.build(),
            with_status(NODE.build(), declared_features=("F",)),
            ["UPDATE_NODE_DECLARED_FEATURE"],
            id="a feature",
        ),
        pytest.param(
            NODE.build(),
            NODE.capacity(cpu="4").label("a", "b").build(),
            ["UPDATE_NODE_ALLOCATABLE", "UPDATE_NODE_LABEL"],
            id="two things at once",
        ),
        pytest.param(
            NODE.cordon().build(),
            NODE.capacity(cpu="4").taint("x").build(),
            ["UPDATE_NODE_TAINT", "UPDATE_NODE_ALLOCATABLE", "UPDATE_NODE_TAINT"],
            id="it was uncordoned, grew, and has a taint: in this order",
        ),
        pytest.param(NODE.build(), sparing("autoscaler"), ["UPDATE_NODE_PREEMPTION_POLICY"], id="its policy"),
    ],
)
def test_what_an_update_of_a_node_was(old: Node, new: Node, expected: list[str]) -> None:
    assert changes.of_node(old, new) == [Change(changes.NODE, Action[name]) for name in expected]


POD = make_pod("p").requests(cpu="2", memory="1Gi")
OWN_UPDATE = Change(changes.TARGET_POD, Action.UPDATE)
GENERATED = (PodResourceClaimStatus(name="gpu", resource_claim_name="p-gpu"),)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(POD.build(), POD.build(), ["UPDATE"], id="nothing in particular"),
        pytest.param(POD.build(), POD.label("a", "b").build(), ["UPDATE_POD_LABEL"], id="a label"),
        pytest.param(POD.build(), POD.requests(cpu="1").build(), ["UPDATE_POD_SCALE_DOWN"], id="less of something"),
        pytest.param(POD.build(), POD.requests(cpu="3").build(), ["UPDATE_POD_SCALE_UP"], id="more of something"),
        pytest.param(
            POD.requests({"example.com/gpu": 1}).build(),
            POD.build(),
            ["UPDATE_POD_SCALE_DOWN"],
            id="none of it any more",
        ),
        pytest.param(
            POD.build(),
            POD.requests({"example.com/gpu": 1}).build(),
            ["UPDATE_POD_SCALE_UP"],
            id="something that it did not name before",
        ),
        pytest.param(
            POD.build(),
            POD.requests(cpu="1", memory="2Gi").build(),
            ["UPDATE_POD_SCALE_DOWN", "UPDATE_POD_SCALE_UP"],
            id="less of one and more of another",
        ),
        pytest.param(
            POD.requests(memory="1500m").build(),
            POD.requests(memory="1200m").build(),
            ["UPDATE_POD_SCALE_DOWN"],
            id="less by a fraction",
        ),
        pytest.param(
            make_pod("p").requests(cpu=0).build(),
            make_pod("p").build(),
            ["UPDATE_POD_SCALE_DOWN"],
            id="a request for nothing is gone",
        ),
        pytest.param(POD.build(), POD.tolerate("x").build(), ["UPDATE_POD_TOLERATION"], id="a toleration"),
        pytest.param(
            POD.gate("g").build(), POD.build(), ["UPDATE_POD_SCHEDULING_GATES_ELIMINATED"], id="its last gate is gone"
        ),
        pytest.param(POD.gate("g").gate("h").build(), POD.gate("h").build(), ["UPDATE"], id="one of its gates is gone"),
        pytest.param(
            POD.build(),
            with_pod_status(POD.build(), resource_claim_statuses=GENERATED),
            ["UPDATE_POD_GENERATED_RESOURCE_CLAIM"],
            id="a claim was made for it",
        ),
        pytest.param(
            POD.build(),
            with_pod_status(POD.build(), extended_resource_claim_status=ExtendedResourceClaimStatus()),
            ["UPDATE_POD_GENERATED_RESOURCE_CLAIM"],
            id="a claim for its extended resources was made",
        ),
        pytest.param(
            POD.gate("g").build(),
            POD.label("a", "b").tolerate("x").build(),
            ["UPDATE_POD_LABEL", "UPDATE_POD_SCHEDULING_GATES_ELIMINATED", "UPDATE_POD_TOLERATION"],
            id="three things at once",
        ),
    ],
)
def test_what_an_update_of_a_pod_was(old: Pod, new: Pod, expected: list[str]) -> None:
    assert changes.of_pod(old, new) == [Change(changes.TARGET_POD, Action[name]) for name in expected]


def test_an_update_of_a_placed_pod_is_told_apart() -> None:
    old, new = POD.on("n").build(), POD.on("n").label("a", "b").build()
    assert changes.of_pod(old, new) == [Change(changes.ASSIGNED_POD, Action.UPDATE_POD_LABEL)]


@pytest.mark.parametrize(
    ("change", "resource", "actions", "is_heard"),
    [
        pytest.param(changes.NODE_ADD, changes.NODE, Action.ADD, True, id="just that"),
        pytest.param(changes.NODE_ADD, changes.NODE, Action.ADD | Action.DELETE, True, id="that among others"),
        pytest.param(changes.NODE_ADD, changes.NODE, Action.DELETE, False, id="another action"),
        pytest.param(changes.NODE_ADD, changes.POD, Action.ADD, False, id="another resource"),
        pytest.param(changes.ASSIGNED_POD_ADD, changes.POD, Action.ADD, True, id="a placed pod is a pod"),
        pytest.param(changes.UNSCHEDULED_POD_ADD, changes.POD, Action.ADD, True, id="a pending pod is a pod"),
        pytest.param(OWN_UPDATE, changes.POD, Action.UPDATE, True, id="the pod in question is a pod"),
        pytest.param(OWN_UPDATE, changes.ASSIGNED_POD, Action.UPDATE, False, id="it is none with a node"),
        pytest.param(changes.ASSIGNED_POD_ADD, changes.TARGET_POD, Action.ADD, False, id="a placed pod is another"),
        pytest.param(changes.NODE_ADD, changes.ANYTHING, Action.ALL, True, id="anything"),
        pytest.param(
            Change(changes.ASSIGNED_POD, Action.UPDATE_POD_LABEL), changes.POD, Action.UPDATE, True, id="any update"
        ),
        pytest.param(
            changes.UNSCHEDULED_POD_UPDATE,
            changes.POD,
            Action.UPDATE_POD_LABEL,
            False,
            id="an update of nothing in particular is not heard by who awaits particular ones",
        ),
        pytest.param(
            changes.UNSCHEDULED_POD_UPDATE, changes.POD, Action.UPDATE, True, id="but by who awaits any update"
        ),
    ],
)
def test_who_hears_of_a_change(change: Change, resource: str, actions: Action, is_heard: bool) -> None:
    assert changes.is_covered(change, resource, actions) is is_heard


@pytest.mark.parametrize(
    ("change", "label"),
    [
        (changes.NODE_ADD, "NodeAdd"),
        (changes.ASSIGNED_POD_DELETE, "AssignedPodDelete"),
        (changes.UNSCHEDULED_POD_ADD, "UnscheduledPodAdd"),
        (changes.UNSCHEDULED_POD_UPDATE, "UnscheduledPodUpdate"),
        (OWN_UPDATE, "TargetPodUpdate"),
        (Change(changes.TARGET_POD, Action.UPDATE_POD_SCALE_UP), "TargetPodUpdatePodScaleUp"),
        (Change(changes.NODE, Action.UPDATE_NODE_TAINT), "NodeUpdateNodeTaint"),
        (Change(changes.resource_of("CSINode"), Action.UPDATE), "storage.k8s.io/CSINodeUpdate"),
        (changes.UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
        (changes.FORCE_ACTIVATE, "ForceActivate"),
    ],
)
def test_changes_have_upstreams_names(change: Change, label: str) -> None:
    assert change.label == label


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("PersistentVolume", "PersistentVolume"),
        ("StorageClass", "storage.k8s.io/StorageClass"),
        ("ResourceClaim", "resource.k8s.io/ResourceClaim"),
        ("Service", "Service"),
    ],
)
def test_kinds_are_awaited_as_resources(kind: str, resource: str) -> None:
    assert changes.resource_of(kind) == resource
