"""The node: what it offers, what keeps pods away, which images it holds. `table/` turns it into a row."""

from __future__ import annotations

from stowplan.model.meta import ApiObject, Condition, Int64, Part, ResourceList, Time, always


class Taint(Part, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None


class NodePodPreemptionPolicy(Part, frozen=True, kw_only=True):
    #: Who asks that nobody is evicted from the node for the sake of a pod that grows.
    disable_resize_preemption: tuple[str, ...] = ()


class NodeSpec(Part, frozen=True, kw_only=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class ContainerImage(Part, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeStatus(Part, frozen=True, kw_only=True):
    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[Condition, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("Node")
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
