"""A cluster that only takes notes: the API server of simulations and tests.

What is written is kept in order; a binding, a status or an eviction comes back as the watch event that an API server
would send, at once or after a while. Faults are handed in: a function that is awaited around every write and may raise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec

from stowplan.engine.event_handlers import EventHandlers
from stowplan.engine.ports import Note
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.handle import ConflictError
from stowplan.model.decode import patched
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod, PodStatus
from stowplan.model.pod_group import PodGroup

#: Awaited with the verb and the pod before a write, and with the verb's past after it: "bind", then "bound".
Fault = Callable[[str, str], Awaitable[None]]
Told = Callable[[EventHandlers, int], None]

#: The time on every deletion; only that there is one matters.
DELETED_AT = datetime(2000, 1, 1, tzinfo=UTC)


async def no_fault(verb: str, pod_key: str) -> None:
    """Let every write through."""


class FakeCluster:
    """All objects as the simulated API server has them, and everything that was written."""

    def __init__(self, fault: Fault = no_fault, *, lag_seconds: float = 0, grace_seconds: float = 0) -> None:
        """Make an empty cluster whose events come `lag_seconds` late, and whose evicted pods take `grace_seconds`."""
        self.pods: dict[str, Pod] = {}
        self.objects: dict[tuple[str, str], Any] = {}
        self.notes: list[Note] = []
        self.bindings: list[tuple[str, str]] = []
        self.evicted: list[str] = []
        self.fault = fault
        self._lag_seconds = lag_seconds
        self._grace_seconds = grace_seconds
        self._versions = count(1)
        self._watcher: Scheduler | None = None
        self._late: deque[Told] = deque()

    def connect(self, scheduler: Scheduler) -> None:
        """Let a scheduler know everything there is, and from now on everything that happens."""
        self._watcher = scheduler
        self._late.clear()
        for found in (*self.objects.values(), *self.pods.values()):
            self._send(_added(found))

    # What the outside world does

    def create(self, found: Any) -> Any:
        """Add an object of any kind; return it with its version, and with a name if it had none."""
        found = self._stamped(found)
        if not found.metadata.name:
            name = f"{found.metadata.generate_name}{found.metadata.resource_version}"
            metadata = msgspec.structs.replace(found.metadata, name=name, uid=f"uid-{name}")
            found = msgspec.structs.replace(found, metadata=metadata)
        kept, key = self._place_of(found)
        kept[key] = found
        self._tell(_added(found))
        return found

    def update(self, found: Any) -> Any:
        """Replace an object by a new version, and return that."""
        kept, key = self._place_of(found)
        old, new = kept[key], self._stamped(found)
        kept[key] = new
        self._tell(lambda handlers, now_ns: handlers.update(old, new, now_ns))
        return new

    def delete(self, found: Any) -> None:
        """Drop an object at once; nothing happens if it is not there."""
        kept, key = self._place_of(found)
        gone = kept.pop(key, None)
        if gone is not None:
            self._tell(lambda handlers, now_ns: handlers.delete(gone, now_ns))

    def terminate(self, pod: Pod) -> None:
        """Begin to delete a pod: it is marked, and stays."""
        known = self.pods[pod.key]
        metadata = msgspec.structs.replace(known.metadata, deletion_timestamp=DELETED_AT)
        self.update(msgspec.structs.replace(known, metadata=metadata))

    # What the scheduler writes

    async def bind(self, binding: Binding) -> None:
        key = f"{binding.metadata.namespace}/{binding.metadata.name}"
        await self.fault("bind", key)
        pod = self._get(key, binding.metadata.uid)
        if pod.spec.node_name:
            raise ValueError(f'pod {pod.name} is already assigned to node "{pod.spec.node_name}"')
        if pod.is_terminating:
            raise ValueError(f"pod {pod.name} is being deleted, cannot be assigned to a host")
        self.bindings.append((key, binding.target.name))
        self.update(self.bound(pod, binding.target.name))
        await self.fault("bound", key)

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        await self.fault("update_status", pod.key)
        known = self._get(pod.key, pod.uid)
        status = known.status
        if condition is not None:
            status = _with_condition(status, condition)
        if nominated_node_name is not None and not known.spec.node_name:
            status = msgspec.structs.replace(status, nominated_node_name=nominated_node_name)
        if status != known.status:
            self.update(msgspec.structs.replace(known, status=status))

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        await self.fault("evict", victim.key)
        known = self.pods.get(victim.key)
        if known is None or known.uid != victim.uid:
            return False
        status = _with_condition(known.status, condition)
        self.update(msgspec.structs.replace(known, status=status))
        self.evicted.append(victim.key)
        if self._grace_seconds:
            self.terminate(known)
            asyncio.get_running_loop().call_later(self._grace_seconds, self._end, known)
        else:
            self.delete(known)
        await self.fault("evicted", victim.key)
        return True

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        await self.fault("update_group_status", group.key)
        known = self.known(group)
        others = tuple(one for one in known.status.conditions if one.type != condition.type)
        status = msgspec.structs.replace(known.status, conditions=(*others, condition))
        if status != known.status:
            self.update(msgspec.structs.replace(known, status=status))

    def record(self, note: Note) -> None:
        self.notes.append(note)

    @property
    def object_writer(self) -> FakeObjectWriter:
        return FakeObjectWriter(self)

    def known(self, found: Any) -> Any:
        """Return an object as it is now; raise if it is gone."""
        kept, key = self._place_of(found)
        if key not in kept:
            raise LookupError(f'{found.kind} "{found.metadata.name}" not found')
        return kept[key]

    def bound(self, pod: Pod, node_name: str) -> Pod:
        """Return what a binding makes of a pod; somebody who plays the kubelet, too, adds to it."""
        spec = msgspec.structs.replace(pod.spec, node_name=node_name)
        status = _with_condition(pod.status, Condition(type="PodScheduled", status="True"))
        status = msgspec.structs.replace(status, nominated_node_name="")
        return msgspec.structs.replace(pod, spec=spec, status=status)

    # Keeping and telling

    def _end(self, pod: Pod) -> None:
        known = self.pods.get(pod.key)
        if known is not None and known.uid == pod.uid:
            self.delete(known)

    def _get(self, key: str, uid: str) -> Pod:
        pod = self.pods.get(key)
        if pod is None or pod.uid != uid:
            raise LookupError(f'pods "{key.partition("/")[2]}" not found')
        return pod

    def _place_of(self, found: Any) -> tuple[dict[Any, Any], Any]:
        """Return who keeps an object, and by which key."""
        if isinstance(found, Pod):
            return self.pods, found.key
        return self.objects, (found.kind, f"{found.metadata.namespace}/{found.metadata.name}")

    def _stamped(self, found: Any) -> Any:
        metadata = msgspec.structs.replace(found.metadata, resource_version=str(next(self._versions)))
        return msgspec.structs.replace(found, metadata=metadata)

    def _tell(self, told: Told) -> None:
        if not self._lag_seconds:
            self._send(told)
            return
        # Late, but in order: whichever timer fires first, the oldest event goes first.
        self._late.append(told)
        asyncio.get_running_loop().call_later(self._lag_seconds, self._send_oldest)

    def _send_oldest(self) -> None:
        if self._late:
            self._send(self._late.popleft())

    def _send(self, told: Told) -> None:
        if self._watcher is not None:
            handlers = self._watcher.event_handlers
            self._watcher.submit(lambda now_ns: told(handlers, now_ns))


class FakeObjectWriter:
    """What plugins write that is no pod, in a notebook; implements `framework.handle.ObjectWriter`."""

    def __init__(self, notebook: FakeCluster) -> None:
        self._notebook = notebook

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        key = found.metadata.name
        await self._notebook.fault("patch", key)
        known = self._notebook.known(found)
        if found.metadata.resource_version not in ("", known.metadata.resource_version):
            raise ConflictError(f'{found.kind} "{key}": the object has been modified')
        changed = self._notebook.update(patched(known, patch))
        await self._notebook.fault("patched", key)
        return changed

    async def create(self, found: Any) -> Any:
        await self._notebook.fault("create", found.metadata.name)
        return self._notebook.create(found)

    async def delete(self, found: Any) -> None:
        await self._notebook.fault("delete", found.metadata.name)
        self._notebook.delete(found)


def _added(found: Any) -> Told:
    return lambda handlers, now_ns: handlers.add(found, now_ns)


def _with_condition(status: PodStatus, condition: Condition) -> PodStatus:
    others = tuple(one for one in status.conditions if one.type != condition.type)
    return msgspec.structs.replace(status, conditions=(*others, condition))
