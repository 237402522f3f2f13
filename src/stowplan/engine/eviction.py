"""Carry out a preemption: evict the victims beside the loop, while the pod they make room for is held at the gate.

The last victim is evicted after the gate has been opened: the event of its end is what brings the pod back. A victim that
is itself only on its way (held by Permit, or before its binding) is turned back in memory; nothing is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from stowplan.engine.parts import Parts
from stowplan.engine.ports import Note, Trouble
from stowplan.framework.contract import Preemption
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.queue.entry import pod_id

PLUGIN = "DefaultPreemption"


class Evictions:
    """Preemptions under way, by the pod that they make room for, and pods on their way that may still be turned back."""

    def __init__(self) -> None:
        self._underway: set[str] = set()
        #: Binding tasks by pod, for as long as the pod can be turned back without asking the cluster.
        self.on_their_way: dict[str, asyncio.Task[None]] = {}

    def is_underway(self, pod: Pod) -> bool:
        """Say whether victims of `pod` are being evicted; it is not to be tried meanwhile."""
        return pod_id(pod) in self._underway

    def begin(self, parts: Parts, pod: Pod, preemption: Preemption) -> Coroutine[Any, Any, None]:
        """Hold the pod at the gate from now on, and return the work that evicts its victims."""
        self._clear_lower_nominations(parts, pod, preemption.node_name)
        self._underway.add(pod_id(pod))
        return self._carry_out(parts, pod, preemption)

    async def _carry_out(self, parts: Parts, pod: Pod, preemption: Preemption) -> None:
        """Evict the victims; if that fails, the pod is tried again at once."""
        *most, last = preemption.victims
        try:
            await asyncio.gather(*(self._evict(parts, victim, pod, preemption.node_name) for victim in most))
            self._underway.discard(pod_id(pod))
            await self._evict(parts, last, pod, preemption.node_name)
        except Exception as error:
            self._underway.discard(pod_id(pod))
            parts.tell(Trouble(f"pod {pod.key!r}: making room on node {preemption.node_name!r} failed: {error}"))
            parts.queue.activate([pod], parts.now_ns())

    async def _evict(self, parts: Parts, victim: Pod, preemptor: Pod, node_name: str) -> None:
        text = f"Preempted by pod {preemptor.uid} on node {node_name}"
        if self._turn_back(parts, victim):
            text += " (in kube-scheduler memory)."
        else:
            scheduler = preemptor.spec.scheduler_name
            message = f"{scheduler}: preempting to accommodate a higher priority pod"
            condition = Condition(
                type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=message
            )
            await parts.writer.evict(victim, condition)
        parts.writer.record(Note(victim, "Normal", "Preempted", "Preempting", text, preemptor))

    def _turn_back(self, parts: Parts, victim: Pod) -> bool:
        waiting = parts.waiting.get(victim.uid)
        if waiting is not None:
            waiting.reject(PLUGIN, "preempted")
            return True
        task = self.on_their_way.get(pod_id(victim))
        return task.cancel() if task is not None else False

    def _clear_lower_nominations(self, parts: Parts, pod: Pod, node_name: str) -> None:
        """Take the node back from less important pods it is nominated to: they would fit no longer."""
        for other in parts.queue.nominations.on(node_name):
            if other.priority < pod.priority:
                parts.queue.nominations.remove(other)
