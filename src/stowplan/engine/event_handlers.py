"""What the watches tell, routed to its owner; then the queue hears of it.

    pod, pending and ours   -> queue
    pod, placed             -> cache, then the queue: somebody may fit now, or want it for a neighbour
    node                    -> cache, then the queue
    pod group               -> the cache's groups, which hear of the pods that name one too, then the queue
    rule that taints devices -> the cache's objects, then the queue, as a change of the slices it concerns
    anything else           -> the cache's objects, then the queue

Called between two scheduling cycles, never inside one. `queue.queue` decides whom an event wakes.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from stowplan.cache.cache import Cache, CachedPod
from stowplan.framework import changes
from stowplan.framework.changes import Action, Change, ObjectChange
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model import device_pool
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CommunityPodGroup, CompositePodGroup, OwnGroup, PodGroup, names_group

TAINT_RULE: Final = "DeviceTaintRule"


class PodQueue(Protocol):
    """Who keeps the pods that wait, and hears what happens: `queue/queue.py`; `app/objects.py` where nobody waits."""

    def add(self, pod: Pod, now_ns: int) -> None: ...

    def update(self, old: Pod, new: Pod, now_ns: int) -> None: ...

    def update_in_flight(self, new: Pod) -> None: ...

    def delete(self, pod: Pod, now_ns: int) -> None: ...

    def nominate(self, pod: Pod, node_name: str, now_ns: int) -> None: ...

    def on_change(self, event: ObjectChange, now_ns: int, only: Callable[[Pod], bool] | None = None) -> None: ...

    def put_group(self, found: OwnGroup, now_ns: int) -> None: ...

    def remove_group(self, found: OwnGroup, now_ns: int) -> None: ...


@dataclass(slots=True)
class EventHandlers:
    """Routes objects; `scheduler_names` are the profiles that are ours, `waiting` the pods that Permit holds."""

    cache: Cache
    queue: PodQueue
    scheduler_names: Container[str]
    waiting: WaitingPods = field(default_factory=WaitingPods)
    #: Whether pods are queued that have a node and are to grow there (InPlacePodVerticalScalingSchedulerPreemption).
    queues_resizes: bool = False
    #: Whether pods that wait hear of others that come to the queue: they may be of one group.
    tells_of_pending: bool = False

    def add(self, found: Any, now_ns: int) -> None:
        """An object has appeared."""
        match found:
            case Pod():
                self._add_pod(found, now_ns)
            case Node():
                self.cache.add_node(found)
                self.queue.on_change(ObjectChange(changes.NODE_ADD, None, found), now_ns)
            case _:
                self._put(found, now_ns)
                self._tell(found.kind, Action.ADD, (None, found), now_ns)

    def update(self, old: Any, new: Any, now_ns: int) -> None:
        """An object has changed; `old` is the version seen last."""
        match new:
            case Pod():
                self._update_pod(old, new, now_ns)
            case Node():
                self.cache.add_node(new)
                for change in changes.of_node(old, new):
                    self.queue.on_change(ObjectChange(change, old, new), now_ns)
            case _:
                self._put(new, now_ns)
                self._tell(new.kind, Action.UPDATE, (old, new), now_ns)

    def delete(self, found: Any, now_ns: int) -> None:
        """An object is gone; `found` is the version seen last."""
        match found:
            case Pod():
                self._delete_pod(found, now_ns)
            case Node():
                self.queue.on_change(ObjectChange(changes.NODE_DELETE, found, None), now_ns)
                self.cache.remove_node(found.name)
            case PodGroup() | CompositePodGroup() | CommunityPodGroup():
                self.cache.groups.remove(found)
                if not isinstance(found, CommunityPodGroup):
                    self.queue.remove_group(found, now_ns)
                self._tell(found.kind, Action.DELETE, (found, None), now_ns)
            case _:
                self.cache.objects.remove(found.kind, found.metadata.namespace, found.metadata.name)
                self._tell(found.kind, Action.DELETE, (found, None), now_ns)

    # Pods

    def _add_pod(self, pod: Pod, now_ns: int) -> None:
        is_ours = pod.spec.scheduler_name in self.scheduler_names
        if names_group(pod):
            self.cache.groups.put_pod(pod, is_ours=is_ours)
        if pod.is_terminal:
            return
        if pod.node_name:
            if self.queues_resizes:
                self._queue_resize(None, pod, now_ns)
            self._place(pod, now_ns)
        elif is_ours:
            self.queue.add(pod, now_ns)
            if self.tells_of_pending:
                self.queue.on_change(ObjectChange(changes.UNSCHEDULED_POD_ADD, None, pod), now_ns)

    def _update_pod(self, old: Pod, new: Pod, now_ns: int) -> None:
        if names_group(old) or names_group(new):
            self.cache.groups.put_pod(new, is_ours=new.spec.scheduler_name in self.scheduler_names)
        if new.is_terminal or old.uid != new.uid:
            # It ended, or another pod of its name took its place between two looks.
            self._delete_pod(old, now_ns)
            self._add_pod(new, now_ns)
        elif old.node_name:
            if self.queues_resizes:
                self._queue_resize(old, new, now_ns)
            self.cache.add_pod(new)
            for change in changes.of_pod(old, new):
                self.queue.on_change(ObjectChange(change, old, new), now_ns)
        elif new.node_name:
            self._let_go(new)
            placed = self.cache.placed(new)
            if placed is not None and placed.node_name != new.node_name:
                # Another bound it elsewhere than we were about to.
                self._take_off(placed, now_ns)
            self._place(new, now_ns)
            if old.spec.scheduler_name in self.scheduler_names:
                self.queue.delete(old, now_ns)
        elif old.spec.scheduler_name in self.scheduler_names:
            self._update_pending(old, new, now_ns)

    def _delete_pod(self, pod: Pod, now_ns: int) -> None:
        if pod.is_terminal:
            self.cache.groups.remove_pod(pod)
        elif pod.node_name:
            self.cache.groups.remove_pod(pod)
            self.cache.remove_pod(pod)
            self.queue.on_change(ObjectChange(changes.ASSIGNED_POD_DELETE, pod, None), now_ns)
            if self.queues_resizes:
                self._queue_resize(pod, None, now_ns)
        else:
            # The gate of its group, asked when the group loses a pod, still counts it, as upstream's does.
            if pod.spec.scheduler_name in self.scheduler_names:
                self._delete_pending(pod, now_ns)
            self.cache.groups.remove_pod(pod)

    def _queue_resize(self, old: Pod | None, new: Pod | None, now_ns: int) -> None:
        """Queue a pod that runs while its resize is deferred."""
        pod = new or old
        if pod is None or pod.spec.scheduler_name not in self.scheduler_names:
            return
        was_deferred, is_deferred = (found is not None and found.is_resize_deferred for found in (old, new))
        if old is not None and new is not None and was_deferred and is_deferred:
            self.queue.update(old, new, now_ns)
        elif new is not None and is_deferred:
            self.queue.add(new, now_ns)
        elif was_deferred:
            self.queue.delete(pod, now_ns)

    def _place(self, pod: Pod, now_ns: int) -> None:
        self.cache.add_pod(pod)
        self.queue.on_change(ObjectChange(changes.ASSIGNED_POD_ADD, None, pod), now_ns)

    def _update_pending(self, old: Pod, new: Pod, now_ns: int) -> None:
        version = new.metadata.resource_version
        if version and version == old.metadata.resource_version:
            return
        placed = self.cache.placed(new)
        if placed is not None:
            # We have chosen its node already: only its end still matters.
            self.cache.update_assumed(new)
            self.queue.update_in_flight(new)
            if new.is_terminating and not old.is_terminating:
                self._forget(placed, now_ns)
            return
        self.queue.update(old, new, now_ns)
        if old.status.nominated_node_name not in ("", new.status.nominated_node_name):
            self._free_nomination(old, now_ns)

    def _delete_pending(self, pod: Pod, now_ns: int) -> None:
        if not pod.status.nominated_node_name:
            # It may be nominated all the same, and the cluster not know it yet.
            self.queue.nominate(pod, "", now_ns)
        self.queue.delete(pod, now_ns)
        placed = self.cache.placed(pod)
        if placed is not None:
            self._forget(placed, now_ns)
        elif pod.status.nominated_node_name:
            self._free_nomination(pod, now_ns)

    def _forget(self, placed: CachedPod, now_ns: int) -> None:
        """Free the node that was chosen for a pod that will not come; binding it will fail by itself."""
        if self._let_go(placed.pod):
            # The flow takes it off its node, in good order.
            self.queue.delete(placed.pod, now_ns)
        else:
            self._take_off(placed, now_ns)

    def _take_off(self, placed: CachedPod, now_ns: int) -> None:
        """Take an assumed pod off its node, and tell those who may want the room."""
        self.cache.remove_pod(placed.pod)
        was_placed = placed_on(placed.pod, placed.node_name)
        self.queue.on_change(ObjectChange(changes.ASSIGNED_POD_DELETE, was_placed, None), now_ns)

    def _free_nomination(self, pod: Pod, now_ns: int) -> None:
        """Tell those for whom the pod counted on its nominated node: pods of no higher priority."""
        event = ObjectChange(changes.ASSIGNED_POD_DELETE, pod, None)
        self.queue.on_change(event, now_ns, only=lambda waiting: waiting.priority <= pod.priority)

    def _let_go(self, pod: Pod) -> bool:
        """Hold a pod in Permit no longer: it is gone, or bound by another. Say whether it was held."""
        waiting = self.waiting.get(pod)
        if waiting is not None:
            waiting.reject("", "removed")
        return waiting is not None

    # Other objects

    def _put(self, found: Any, now_ns: int) -> None:
        if isinstance(found, OwnGroup):
            self.cache.groups.put(found)
            self.queue.put_group(found, now_ns)
        elif isinstance(found, CommunityPodGroup):
            self.cache.groups.put(found)
        else:
            self.cache.objects.put(found)

    def _tell(self, kind: str, action: Action, versions: tuple[Any, Any], now_ns: int) -> None:
        if kind == TAINT_RULE:
            slices = self.cache.objects.list(ResourceSlice)
            for found in device_pool.changed_by(*versions, slices):
                self._tell(found.kind, Action.UPDATE, (found, found), now_ns)
            return
        self.queue.on_change(ObjectChange(Change(changes.resource_of(kind), action), *versions), now_ns)


def placed_on(pod: Pod, node_name: str) -> Pod:
    """Return an assumed pod as if the cluster had bound it."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
