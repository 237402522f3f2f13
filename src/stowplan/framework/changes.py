"""What happened in the cluster, as data: which kind of object, and what about it.

A plugin says which changes may help a pod it rejected (`contract.Requeue`); `engine.event_handlers` tells the queue of
changes as they come; the queue brings the two together. `of_pod` and `of_node` say what an update really was, so that a
heartbeat wakes nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag, auto
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from stowplan.model import requests
from stowplan.model.meta import ResourceList
from stowplan.model.node import Node
from stowplan.model.pod import Pod, pod_id

POD: Final = "Pod"
#: The three sorts of `POD`; a plugin that awaits `POD` hears of all.
#: A pod that has a node, or counts on one because it is nominated.
ASSIGNED_POD: Final = "AssignedPod"
#: A pod that waits, as the others see it.
UNSCHEDULED_POD: Final = "UnscheduledPod"
#: The very pod that was rejected, which has changed itself.
TARGET_POD: Final = "TargetPod"
NODE: Final = "Node"
PERSISTENT_VOLUME: Final = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM: Final = "PersistentVolumeClaim"
CSI_NODE: Final = "storage.k8s.io/CSINode"
CSI_DRIVER: Final = "storage.k8s.io/CSIDriver"
CSI_STORAGE_CAPACITY: Final = "storage.k8s.io/CSIStorageCapacity"
STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
VOLUME_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM: Final = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE: Final = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS: Final = "resource.k8s.io/DeviceClass"
ANYTHING: Final = "*"

_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {
        resource.rpartition("/")[2]: resource
        for resource in (
            CSI_NODE,
            CSI_DRIVER,
            CSI_STORAGE_CAPACITY,
            STORAGE_CLASS,
            VOLUME_ATTACHMENT,
            RESOURCE_CLAIM,
            RESOURCE_SLICE,
            DEVICE_CLASS,
        )
    }
)


class Action(IntFlag):
    """What happened to an object; several may be awaited together."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    #: Its taints changed, or it was uncordoned.
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    #: Whether pods may be evicted from it for the sake of one that grows.
    UPDATE_NODE_PREEMPTION_POLICY = auto()
    UPDATE_POD_LABEL = auto()
    #: It requests less of something.
    UPDATE_POD_SCALE_DOWN = auto()
    #: It requests more of something.
    UPDATE_POD_SCALE_UP = auto()
    UPDATE_POD_TOLERATION = auto()
    #: The last of its gates was taken away.
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    #: Any update. As a change: none of the particular ones, so only who awaits all updates hears of it.
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_NODE_PREEMPTION_POLICY
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_SCALE_UP
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
    )
    ALL = ADD | DELETE | UPDATE


class Change(NamedTuple):
    """One sort of thing that can happen. `custom_label` names those that no object stands behind."""

    resource: str
    action: Action
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The name in metrics, such as `NodeAdd` or `AssignedPodDelete`."""
        return self.custom_label or f"{self.resource}{_spelled(self.action)}"

    @property
    def is_wildcard(self) -> bool:
        return self.resource == ANYTHING and self.action is Action.ALL


class ObjectChange(NamedTuple):
    """A change together with the object before and after; None where there was none or is none any more."""

    change: Change
    old: Any = None
    new: Any = None


NODE_ADD: Final = Change(NODE, Action.ADD)
NODE_DELETE: Final = Change(NODE, Action.DELETE)
ASSIGNED_POD_ADD: Final = Change(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE: Final = Change(ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD: Final = Change(UNSCHEDULED_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE: Final = Change(UNSCHEDULED_POD, Action.UPDATE)
UNSCHEDULABLE_TIMEOUT: Final = Change(ANYTHING, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE: Final = Change(ANYTHING, Action.ALL, "ForceActivate")
#: Other plugins and extenders have a say from now on.
CONFIGURATION_RELOAD: Final = Change(ANYTHING, Action.ALL, "ConfigurationReload")


def is_covered(change: Change, resource: str, actions: Action) -> bool:
    """Say whether who awaits these actions on that resource hears of the change."""
    return _is_part(change.resource, resource) and change.action & actions == change.action


def is_same(pod: Pod, other: Pod) -> bool:
    """Say whether two objects are versions of one pod."""
    return pod_id(pod) == pod_id(other)


def counts_on_a_node(pod: Pod) -> bool:
    """Say whether a pod takes room somewhere: it is placed, or nominated and waited for."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def resource_of(kind: str) -> str:
    """Return the resource by which plugins await objects of a kind."""
    return _OF_KIND.get(kind, kind)


def of_pod(old: Pod, new: Pod) -> list[Change]:
    """Return what an update of a pod was; a plain update if nothing in particular.

    One that waits hears of it itself: it is the target.
    """
    resource = ASSIGNED_POD if new.spec.node_name else TARGET_POD
    before, after = requests.accounted_list(old), requests.accounted_list(new)
    found = {
        Action.UPDATE_POD_LABEL: old.metadata.labels != new.metadata.labels,
        Action.UPDATE_POD_SCALE_DOWN: _asks_more(before, after),
        Action.UPDATE_POD_SCALE_UP: _asks_more(after, before),
        Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: _is_gated(old) and not _is_gated(new),
        # Tolerations can be added but neither changed nor taken away.
        Action.UPDATE_POD_TOLERATION: len(old.spec.tolerations) != len(new.spec.tolerations),
        Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: _claims(old) != _claims(new),
    }
    return [Change(resource, action) for action, is_so in found.items() if is_so] or [Change(resource, Action.UPDATE)]


def of_node(old: Node, new: Node) -> list[Change]:
    """Return what an update of a node was; nothing if pods need not hear of it.

    That it was uncordoned comes first, and apart from its taints: the first that helps a pod is what brings it back.
    """
    found = (
        (Action.UPDATE_NODE_TAINT, old.spec.unschedulable and not new.spec.unschedulable),
        (Action.UPDATE_NODE_ALLOCATABLE, old.status.allocatable != new.status.allocatable),
        (Action.UPDATE_NODE_LABEL, old.metadata.labels != new.metadata.labels),
        (Action.UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
        (Action.UPDATE_NODE_CONDITION, _conditions(old) != _conditions(new)),
        (Action.UPDATE_NODE_ANNOTATION, old.metadata.annotations != new.metadata.annotations),
        (Action.UPDATE_NODE_PREEMPTION_POLICY, old.spec.pod_preemption_policy != new.spec.pod_preemption_policy),
        (Action.UPDATE_NODE_DECLARED_FEATURE, old.status.declared_features != new.status.declared_features),
    )
    return [Change(NODE, action) for action, is_so in found if is_so]


def _is_part(resource: str, awaited: str) -> bool:
    if awaited in (ANYTHING, resource):
        return True
    return awaited == POD and resource in (ASSIGNED_POD, UNSCHEDULED_POD, TARGET_POD)


def _spelled(action: Action) -> str:
    return "".join(word.capitalize() for word in (action.name or "").split("_"))


def _asks_more(some: ResourceList, others: ResourceList) -> bool:
    """Say whether a list asks for more of something than another, or for something that the other does not name."""
    return any(name not in others or held.milli_counted > others[name].milli_counted for name, held in some.items())


def _is_gated(pod: Pod) -> bool:
    return bool(pod.spec.scheduling_gates)


def _claims(pod: Pod) -> tuple[Any, Any]:
    return pod.status.resource_claim_statuses, pod.status.extended_resource_claim_status


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
