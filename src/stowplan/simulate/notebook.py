"""A cluster that only takes notes: the writer for simulations and tests.

What is written is kept in order; a binding or an eviction comes back as the watch event that an API server would send.
Faults are handed in: a function that may raise for any write.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from stowplan.engine.parts import Parts
from stowplan.engine.ports import Note
from stowplan.engine.scheduler import Scheduler
from stowplan.model.binding import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod

Fault = Callable[[str, str], None]


def _no_fault(verb: str, pod_key: str) -> None:
    """Let every write through."""


class Notebook:
    """Pods as the simulated API server has them, and everything that was written."""

    def __init__(self, fault: Fault = _no_fault) -> None:
        self.pods: dict[str, Pod] = {}
        self.notes: list[Note] = []
        self.bindings: list[tuple[str, str]] = []
        self.evicted: list[str] = []
        self.fault = fault
        self._scheduler: Scheduler | None = None
        self._parts: Parts | None = None

    def connect(self, scheduler: Scheduler, parts: Parts) -> None:
        """Have the events of what is written go to a scheduler."""
        self._scheduler, self._parts = scheduler, parts

    # What the outside world does

    def create(self, pod: Pod) -> None:
        self.pods[pod.key] = pod
        self._submit(lambda intake, now_ns: intake.add(pod, now_ns))

    def delete(self, key: str) -> None:
        pod = self.pods.pop(key, None)
        if pod is not None:
            self._submit(lambda intake, now_ns: intake.delete(pod, now_ns))

    def update(self, pod: Pod) -> None:
        old, self.pods[pod.key] = self.pods[pod.key], pod
        self._submit(lambda intake, now_ns: intake.update(old, pod, now_ns))

    # What the scheduler writes

    async def bind(self, binding: Binding) -> None:
        key = f"{binding.metadata.namespace}/{binding.metadata.name}"
        self.fault("bind", key)
        pod = self._get(key)
        if pod.spec.node_name:
            raise ValueError(f"pod {key} is already assigned to node {pod.spec.node_name!r}")
        self.bindings.append((key, binding.target.name))
        spec = msgspec.structs.replace(pod.spec, node_name=binding.target.name)
        self.update(msgspec.structs.replace(pod, spec=spec))

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        self.fault("update_status", pod.key)
        known = self._get(pod.key)
        status = known.status
        if condition is not None:
            others = tuple(one for one in status.conditions if one.type != condition.type)
            status = msgspec.structs.replace(status, conditions=(*others, condition))
        if nominated_node_name is not None:
            status = msgspec.structs.replace(status, nominated_node_name=nominated_node_name)
        if status != known.status:
            self.update(msgspec.structs.replace(known, status=status))

    async def evict(self, victim: Pod, condition: Condition) -> None:
        self.fault("evict", victim.key)
        await self.update_status(victim, condition, None)
        self.evicted.append(victim.key)
        self.delete(victim.key)

    def record(self, note: Note) -> None:
        self.notes.append(note)

    def _get(self, key: str) -> Pod:
        pod = self.pods.get(key)
        if pod is None:
            raise LookupError(f'pods "{key}" not found')
        return pod

    def _submit(self, change: Callable[..., None]) -> None:
        scheduler, parts = self._scheduler, self._parts
        if scheduler is not None and parts is not None:
            scheduler.submit(lambda now_ns: change(parts.intake, now_ns))
