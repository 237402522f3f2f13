"""Carry out a preemption: evict the victims beside the loop, while the pod they make room for is held at the gate.

The last victim is evicted when all others are: the event of its end is what brings the pod back, so the gate is open as
soon as that victim is gone or going. A victim that is itself only on its way (held by Permit, or before its binding) is
turned back in memory; nothing is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stowplan.cache.cache import Cache
from stowplan.engine.parts import Parts
from stowplan.engine.ports import Evicted, Note, Trouble
from stowplan.framework.contract import Preemption
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod, pod_id

PLUGIN: Final = "DefaultPreemption"


@dataclass(slots=True, eq=False)
class _Run:
    """One preemption: for whom, where, and the last victim once all the others have been evicted."""

    pod: Pod
    node_name: str
    last: Pod | None = None


class Evictions:
    """Preemptions under way, by the pod they make room for, and pods on their way that can still be turned back."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._underway: dict[str, _Run] = {}
        # Binding tasks by pod, for as long as the pod can be turned back without asking the cluster.
        self._on_their_way: dict[str, asyncio.Task[Any]] = {}

    def __len__(self) -> int:
        """Count what is kept: nothing, once everything has come to its end."""
        return len(self._underway) + len(self._on_their_way)

    def is_underway(self, pod: Pod) -> bool:
        """Say whether victims of `pod` are still being evicted; it is not to be tried meanwhile."""
        run = self._underway.get(pod_id(pod))
        if run is None or run.last is None:
            return run is not None
        placed = self._cache.placed(run.last)
        return placed is not None and not placed.pod.is_terminating

    # Pods on their way to a node

    def set_out(self, pod: Pod, task: asyncio.Task[Any]) -> None:
        """Note that a pod is on its way, and the task that sees it there."""
        self._on_their_way[pod_id(pod)] = task

    def arrive(self, pod: Pod) -> bool:
        """Note that a pod can no longer be turned back; False if it has been."""
        return self._on_their_way.pop(pod_id(pod), None) is not None

    def _turn_back(self, parts: Parts, victim: Pod) -> bool:
        waiting = parts.waiting.get(victim)
        if waiting is not None and waiting.preempt(PLUGIN):
            return True
        task = self._on_their_way.pop(pod_id(victim), None)
        return task is not None and task.cancel(f"preempted by {PLUGIN}")

    # Victims

    def begin(self, parts: Parts, pod: Pod, preemption: Preemption) -> Coroutine[Any, Any, None] | None:
        """Hold the pod at the gate from now on and return the work that evicts its victims; None if all are going."""
        victims = [victim for victim in preemption.victims if not victim.is_terminating]
        if not victims:
            return None
        run = self._underway[pod_id(pod)] = _Run(pod, preemption.node_name)
        return self._carry_out(parts, run, victims)

    async def _carry_out(self, parts: Parts, run: _Run, victims: Sequence[Pod]) -> None:
        """Evict the victims; if that fails, the pod is tried again at once."""
        pod, node_name = run.pod, run.node_name
        *most, last = victims
        started_at_ns = parts.now_ns()
        try:
            evicted = (self._evict(parts, victim, pod, node_name) for victim in most)
            cleared = _clear_lower_nominations(parts, pod, node_name)
            for problem in await asyncio.gather(*evicted, *cleared, return_exceptions=True):
                if problem is not None:
                    raise problem
            run.last = last
            await self._evict(parts, last, pod, node_name)
        except Exception as error:
            text = str(error) or type(error).__name__
            parts.tell(Trouble(f"pod {pod.key!r}: making room on node {node_name!r} failed: {text}"))
            parts.tell(Evicted(pod, len(victims), started_at_ns, is_error=True))
            self._end(run)
            parts.queue.activate([pod], parts.now_ns())
        else:
            self._end(run)
            parts.tell(Evicted(pod, len(victims), started_at_ns))
            _open_gate(parts, pod)

    def _end(self, run: _Run) -> None:
        # The pod may have been let in while the last answer was still to come, and be making room elsewhere by now.
        if self._underway.get(pod_id(run.pod)) is run:
            del self._underway[pod_id(run.pod)]

    async def _evict(self, parts: Parts, victim: Pod, preemptor: Pod, node_name: str) -> None:
        text = f"Preempted by pod {preemptor.uid} on node {node_name}"
        if self._turn_back(parts, victim):
            text += " (in kube-scheduler memory)."
        else:
            async with parts.patience.for_a_write():
                await parts.writer.evict(victim, _condition(victim, preemptor))
        parts.writer.record(Note(victim, "Normal", "Preempted", "Preempting", text, preemptor))


def _condition(victim: Pod, preemptor: Pod) -> Condition:
    return Condition(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        message=f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
        observed_generation=victim.metadata.generation,
    )


def _clear_lower_nominations(parts: Parts, pod: Pod, node_name: str) -> list[Coroutine[Any, Any, None]]:
    """Take the node back from less important pods nominated to it: they would fit no longer. The cluster is told."""
    lower = [other for other in parts.queue.nominations.on(node_name) if other.priority < pod.priority]
    for other in lower:
        parts.queue.nominations.remove(other)
    return [parts.statuses.write(other, None, "") for other in lower if other.status.nominated_node_name]


def _open_gate(parts: Parts, pod: Pod) -> None:
    """Bring the pod back if a victim's end came while the gate was still closed: nothing else would.

    It backs off as it would have done had it heard of that end now, so that pods that wait no longer come first.
    """
    entry = parts.queue.places.get(pod)
    if entry is not None and entry.gated_by == PLUGIN:
        parts.queue.bring_back(pod, parts.now_ns())
