"""Small clusters to which a group of pods comes: all of it finds a place, or nobody does, or others have to leave.

`says` is a part of what kube-scheduler tells of the group, so that a scene which does not show what it is meant to show
is noticed. `test_groups.py` plays them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.e2e import manifests
from tests.e2e.api import Object
from tests.e2e.manifests import HOST, node
from tests.e2e.scenes import HELD, HIGH

NAMESPACE: Final = "groups"
GANG: Final = "gang"
RACK: Final = "example.test/rack"
HALF: Final = {"cpu": "2"}


@dataclass(frozen=True)
class GroupScene:
    """Nodes, what runs on them, and what comes: groups, then pods one after the other."""

    name: str
    says: str
    nodes: Sequence[Object]
    groups: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    #: What is there before: pods with a node, perhaps members of groups.
    running_groups: Sequence[Object] = ()
    running: Sequence[Object] = ()
    #: Which of those have to leave.
    leaving: Sequence[str] = ()


def group(name: str = GANG, minimum: int = 3, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, **spec},
    }


def member(name: str, of: str = GANG, requests: Mapping[str, str] = HALF, **spec: Any) -> Object:
    return pod(name, requests, schedulingGroup={"podGroupName": of}, **spec)


def members(count: int, of: str = GANG, requests: Mapping[str, str] = HALF, **spec: Any) -> list[Object]:
    return [member(f"{of}-{number}", of, requests, **spec) for number in range(count)]


def pod(name: str, requests: Mapping[str, str] = HALF, **spec: Any) -> Object:
    return manifests.pod(NAMESPACE, name, requests, automountServiceAccountToken=False, **spec)


def victim(made: Object, on: str) -> Object:
    """Let a pod run on a node, and stay when it is deleted, so that who waits for its room can be seen waiting."""
    spec = {**made["spec"], "nodeName": on}
    return {**made, "metadata": {**made["metadata"], "finalizers": [HELD]}, "spec": spec}


def in_rack(name: str, rack: str, cpu: str = "4") -> Object:
    return node(name, {"cpu": cpu}, {RACK: rack})


ON_A_RACK: Final = {"topology": [{"key": RACK}]}

GROUP_SCENES: Final = (
    GroupScene(
        "a gang that fits",
        "'PodGroupInitiallyScheduled', 'True', 'Scheduled'",
        nodes=[node("a"), node("b")],
        groups=[group()],
        pods=members(3),
    ),
    GroupScene(
        "a gang that does not fit",
        "'PodGroupInitiallyScheduled', 'False', 'Unschedulable'",
        nodes=[node("a")],
        groups=[group()],
        pods=members(3),
    ),
    GroupScene(
        "a gang that fits but for one",
        "Insufficient cpu",
        nodes=[node("a"), node("b", {"cpu": "1"})],
        groups=[group()],
        pods=members(3),
    ),
    GroupScene(
        "a group without a minimum",
        "'PodGroupInitiallyScheduled', 'True', 'Scheduled'",
        nodes=[node("a")],
        groups=[{**group(), "spec": {"schedulingPolicy": {"basic": {}}}}],
        pods=members(2),
    ),
    GroupScene(
        "a gang that others have to leave for",
        "preempting 1 victims",
        nodes=[node("a"), node("b")],
        groups=[group(priorityClassName=HIGH)],
        pods=members(3, priorityClassName=HIGH),
        running=[victim(pod("low-b", {"cpu": "3"}), "b")],
        leaving=["low-b"],
    ),
    GroupScene(
        "a gang that leaves as a whole",
        "preempting 2 victims",
        nodes=[node("a"), node("b")],
        pods=[pod("wanted", {"cpu": "3"}, priorityClassName=HIGH, nodeSelector={HOST: "a"})],
        running_groups=[group("low", 2, disruptionMode={"all": {}})],
        running=[victim(made, on) for made, on in zip(members(2, "low", {"cpu": "3"}), ("a", "b"), strict=True)],
        leaving=["low-0", "low-1"],
    ),
    GroupScene(
        "a gang of which one leaves",
        "preempting 1 victims",
        nodes=[node("a"), node("b")],
        pods=[pod("wanted", {"cpu": "3"}, priorityClassName=HIGH, nodeSelector={HOST: "a"})],
        running_groups=[group("low", 2, disruptionMode={"single": {}})],
        running=[victim(made, on) for made, on in zip(members(2, "low", {"cpu": "3"}), ("a", "b"), strict=True)],
        leaving=["low-0"],
    ),
    GroupScene(
        "a gang that only one rack is large enough for",
        "'PodGroupInitiallyScheduled', 'True', 'Scheduled'",
        nodes=[in_rack("a1", "a"), in_rack("b1", "b"), in_rack("b2", "b")],
        groups=[group(schedulingConstraints=ON_A_RACK)],
        pods=members(3),
    ),
    GroupScene(
        "a gang that no rack is large enough for",
        "placements are available",
        nodes=[in_rack("a1", "a"), in_rack("b1", "b")],
        groups=[group(schedulingConstraints=ON_A_RACK)],
        pods=members(3),
    ),
)
