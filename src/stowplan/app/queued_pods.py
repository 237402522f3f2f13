"""Pods that wait for their turns where nobody schedules live: the queue of a scheduler, under a clock of its own.

Who is refused waits until a plugin that refused it takes something for worth another try: that others found a node, or
had to go. It backs off as there, and since no time passes here it has its next turn when nobody waits who has not been
refused. Victims take longer to end than it takes to try all who wait, as they do in a cluster; until then the pod that
they go for is nominated to their node. `schedule_all.py` and `stowplan schedule` give the turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from msgspec import structs

from stowplan.app.configuration import queue_limits
from stowplan.app.placements import Gated
from stowplan.app.preempting import PreemptionDesk
from stowplan.app.turns import Scheduling, is_group, sorter_of, turns, victims_of
from stowplan.config.types import Configuration
from stowplan.engine import failure
from stowplan.engine.event_handlers import placed_on
from stowplan.engine.failure import Chosen, Refused, Result
from stowplan.engine.post_filter import PLUGIN
from stowplan.framework import changes
from stowplan.framework.changes import ObjectChange
from stowplan.framework.contract import Preemption
from stowplan.framework.profile import awaited_by
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod, pod_id
from stowplan.queue.entry import BACKING_OFF, Place, QueuedPod
from stowplan.queue.places import SECOND, QueueRules
from stowplan.queue.queue import SchedulingQueue

_TRIED: Final = (Place.ACTIVE, *BACKING_OFF)


#: Told who is gone, and for whom.
Evicted = Callable[[Sequence[Pod], Pod], None]


class ConfiguredScheduling(Scheduling, Protocol):
    """A `Cluster`, as far as pods wait for their turns on it."""

    config: Configuration

    def schedule(self, pod: Pod, *, preempt: bool = True) -> Result | Gated: ...

    def desk(self) -> PreemptionDesk: ...


class QueuedPods:
    """The pods that wait, and what came of each in its last turn."""

    def __init__(self, cluster: ConfiguredScheduling, evicted: Evicted) -> None:
        self._cluster, self._evicted = cluster, evicted
        awaited = {name: awaited_by(profile) for name, profile in cluster.profiles.items()}
        rules = QueueRules(self._gate, sorter_of(cluster).sort_key)
        self._queue = SchedulingQueue(rules, awaited, queue_limits(cluster.config, cluster.feature_gates))
        self._now_ns = 0
        self._known: list[Pod] = []
        #: For each pod those that have their turn with it, in the order of the queue; and those that have it now.
        self._together: dict[str, list[Pod]] = {}
        self._taken: dict[str, QueuedPod] = {}
        #: Who waits for the end of victims, and whom each has evicted in all; by their ids.
        self._preempting: dict[str, tuple[Pod, Preemption]] = {}
        self._victims: dict[str, tuple[Pod, ...]] = {}
        self._violations: Counter[str] = Counter()
        #: By their ids, in the order of their last turns.
        self.results: dict[str, Result | Gated] = {}

    def add(self, pods: Iterable[Pod]) -> None:
        """Queue pods that the cluster knows, each later than those before. Raise QueueSortError if it cannot be."""
        new = list(pods)
        self._known = [*(pod for pod in self._known if self._place(pod) is not None), *new]
        self._together = {pod_id(pod): group for group in turns(self._cluster, self._known) for pod in group}
        for pod in new:
            self._queue.add(pod, self._tick())

    def take(self) -> list[Pod]:
        """Return whose turn it is: a pod, or those of its group that wait for one, too; nobody if nobody does."""
        entry = self._queue.try_pop(self._tick())
        while entry is None and (len(self._queue.places.backoff) or self._preempting):
            if len(self._queue.places.backoff):
                # Nobody is tried before its wait is over: it is as if all slept until then.
                self._now_ns += SECOND
                self._queue.flush_backoff(self._now_ns)
            else:
                self._see_victims_end()
            entry = self._queue.try_pop(self._tick())
        if entry is None:
            return []
        together = self._together[entry.id]
        others = [pod for pod in together if self._place(pod) in _TRIED]
        self._taken = {one.id: one for one in (entry, *self._queue.take(others, self._now_ns))}
        return [pod for pod in together if pod_id(pod) in self._taken]

    def schedule(self, together: Sequence[Pod]) -> list[Result | Gated]:
        """Give a turn to those who were taken, and let those wait for another whom it may help."""
        is_together = is_group(self._cluster, together)
        found = self._cluster.schedule_group(together) if is_together else [self._schedule(together[0])]
        results = [self._end(result) for result in found]
        for result in results:
            if is_together and victims_of(result):
                self._tell_of_end(victims_of(result), result.pod)
            if isinstance(result, Chosen):
                placed = placed_on(result.pod, result.node_name)
                self.hear([ObjectChange(changes.ASSIGNED_POD_ADD, None, placed)])
        return results

    def hear(self, events: Iterable[ObjectChange]) -> None:
        """Let those back off for another turn who were refused, and whom an event may help."""
        for event in events:
            self._queue.on_change(event, self._tick())

    def _schedule(self, pod: Pod) -> Result | Gated:
        """Try a pod by itself; if it is refused and others can make room for it, it is nominated."""
        cluster, desk = self._cluster, self._cluster.desk()
        result = cluster.schedule(desk.nominated(pod), preempt=False)
        if isinstance(result, Refused):
            result, is_arranged = desk.begin(result)
            again = cluster.schedule(desk.nominated(pod), preempt=False) if is_arranged else result
            result = result if isinstance(again, Refused) else again
        if isinstance(result, Gated):
            return replace(result, pod=pod)
        return structs.replace(result, pod=pod, victims=self._victims.get(pod_id(pod), ()))

    def _end(self, result: Result | Gated) -> Result | Gated:
        """Note what came of a turn; who was refused waits on, unless nobody in particular refused it."""
        identity = pod_id(result.pod)
        if isinstance(result, Chosen) and self._violations[identity]:
            result = structs.replace(result, pdb_violations=self._violations[identity])
        self.results.pop(identity, None)
        self.results[identity] = result
        if isinstance(result, Refused) and result.preemption is not None:
            self._preempting[identity] = result.pod, result.preemption
        if isinstance(result, Refused) and any(failure.rejectors(result.verdict)):
            self._queue.give_back(self._taken[identity], self._tick(), *failure.rejectors(result.verdict))
        else:
            self._queue.done(result.pod)
        return result

    def _see_victims_end(self) -> None:
        """Let all victims go, then those try again for whom they went."""
        preempting, self._preempting = self._preempting, {}
        for identity, (pod, preemption) in preempting.items():
            gone = self._cluster.desk().evict(pod, preemption)
            self._victims[identity] = (*self._victims.get(identity, ()), *gone)
            self._violations[identity] += preemption.pdb_violations
            self._tell_of_end(gone, pod)
        for pod, _ in preempting.values():
            entry = self._queue.get(pod)
            if entry is not None and entry.gated_by:
                self._queue.bring_back(pod, self._tick())

    def _gate(self, pod: Pod, _gated_by: str) -> Rejection | None:
        """Keep a pod out whose victims have not ended; whether others may be tried is asked when their turn comes."""
        return Rejection(("waiting for victims to end",), plugin=PLUGIN) if pod_id(pod) in self._preempting else None

    def _tell_of_end(self, victims: Sequence[Pod], preemptor: Pod) -> None:
        self.hear(ObjectChange(changes.ASSIGNED_POD_DELETE, victim, None) for victim in victims)
        self._evicted(victims, preemptor)

    def _place(self, pod: Pod) -> Place | None:
        entry = self._queue.get(pod)
        return entry.place if entry is not None else None

    def _tick(self) -> int:
        """Return a time that is later than all before."""
        self._now_ns += 1
        return self._now_ns
