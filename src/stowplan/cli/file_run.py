"""The pending pods of files, scheduled one after another: who is placed, who is refused, and who goes for whom.

The order is that of the queue. Where pods are evicted, workloads make others in their place, which are queued with the
rest; and so are pods that were refused before, if the end of a pod would bring them back to a live scheduler.
`schedule.py` tells what came of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stowplan.app.cluster import Cluster, Gated
from stowplan.app.placements import Placements
from stowplan.app.schedule_all import QueueSortError, take_turn, turns, victims_of
from stowplan.cli.output import BadConfigError
from stowplan.engine.failure import Result
from stowplan.framework import changes
from stowplan.framework.changes import ObjectChange
from stowplan.framework.profile import awaited_by
from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation
from stowplan.queue.entry import QueuedPod
from stowplan.queue.hints import Hints, QueueingStrategy

if TYPE_CHECKING:
    from stowplan.local.file_cluster import FileCluster
    from stowplan.local.outcome import Preempted


class FileRun:
    """Schedules what some files describe; `explained` are the pods to be explained when their turn comes first."""

    def __init__(self, cluster: Cluster, inputs: FileCluster, explained: Iterable[str] = ()) -> None:
        self.cluster, self.inputs = cluster, inputs
        self.explanations: list[Explanation] = []
        #: Who was evicted, in that order.
        self.preempted: list[Preempted] = []
        self._unexplained = set(explained)
        self._hints = Hints({name: awaited_by(profile) for name, profile in cluster.profiles.items()})
        # What came of each pod that does not wait, by uid.
        self._ended: dict[str, Result | Gated] = {}

    @property
    def placements(self) -> Placements:
        """What came of the pods that are still there."""
        return Placements(self._ended.values())

    def run(self, pods: Iterable[Pod]) -> None:
        """Try pods until none waits."""
        waiting = self._in_turn(pods)
        while waiting:
            more = self._try(waiting.popleft())
            if more:
                rest = [pod for together in waiting for pod in together]
                waiting = self._in_turn((*rest, *more))

    def _in_turn(self, pods: Iterable[Pod]) -> deque[list[Pod]]:
        try:
            return deque(turns(self.cluster, pods))
        except QueueSortError as error:
            raise BadConfigError(str(error)) from None

    def _try(self, together: Sequence[Pod]) -> list[Pod]:
        """Try a pod, or the pods of a group; return those to be queued because others have gone."""
        cluster = self.cluster
        for pod in together:
            if pod.key in self._unexplained:
                self._unexplained.remove(pod.key)
                self.explanations.append(cluster.explain(pod))
        results = take_turn(cluster, together)
        self._ended |= {result.pod.uid: result for result in results}
        return [pod for result in results for pod in self._evict(result)]

    def _evict(self, result: Result | Gated) -> list[Pod]:
        """Note who went for a pod; return whom that may help, and the pods that workloads make in their place."""
        from stowplan.local.outcome import Preempted

        victims = victims_of(result)
        if not victims:
            return []
        for victim in victims:
            self._ended.pop(victim.uid, None)
            self.preempted.append(Preempted(victim.key, victim.node_name, result.pod.key))
        replaced = self.inputs.evict(victims)
        for one in replaced.removed:
            self.cluster.remove(one)
        self.cluster.add_all(replaced.made)
        made = [one for one in replaced.made if isinstance(one, Pod)]
        return [*self._helped_by(victims), *(pod for pod in made if pod.spec.scheduler_name in self.cluster.profiles)]

    def _helped_by(self, victims: Sequence[Pod]) -> list[Pod]:
        """Let those wait again who were refused, and whose plugins take the end of a pod for worth another try."""
        events = [ObjectChange(changes.ASSIGNED_POD_DELETE, victim, None) for victim in victims]
        helped = []
        for result in self.placements.refused:
            entry = QueuedPod(result.pod, queued_at_ns=0)
            entry.unschedulable_plugins = result.verdict.unschedulable_plugins()
            if self._hints.best(entry, events) is not QueueingStrategy.SKIP:
                helped.append(self._ended.pop(result.pod.uid).pod)
        return helped
