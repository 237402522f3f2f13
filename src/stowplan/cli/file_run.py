"""The pending pods of files, scheduled one after another: who is placed, who is refused, and who goes for whom.

Who is next, and who is tried again because of what came of others, is up to the queue (`app/queued_pods.py`). Where
pods are evicted, workloads make others in their place, which are queued, too. `schedule.py` tells what came of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stowplan.app.cluster import Cluster
from stowplan.app.placements import Placements
from stowplan.app.queued_pods import QueuedPods
from stowplan.app.turns import QueueSortError
from stowplan.cli.output import BadConfigError
from stowplan.framework.changes import Action, Change, ObjectChange, resource_of
from stowplan.model.pod import Pod, pod_id
from stowplan.observe.explanation import Explanation

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
        self._queued = QueuedPods(cluster, self._evict)

    @property
    def placements(self) -> Placements:
        """What came of the pods that are still there."""
        return Placements(self._queued.results.values())

    def run(self, pods: Iterable[Pod]) -> None:
        """Try pods until none waits whom another turn may help."""
        self._add(pods)
        while together := self._queued.take():
            for pod in together:
                if pod.key in self._unexplained:
                    self._unexplained.remove(pod.key)
                    self.explanations.append(self.cluster.explain(pod))
            self._queued.schedule(together)

    def _add(self, pods: Iterable[Pod]) -> None:
        try:
            self._queued.add(pods)
        except QueueSortError as error:
            raise BadConfigError(str(error)) from None

    def _evict(self, victims: Sequence[Pod], preemptor: Pod) -> None:
        """Note who went for a pod; queue the pods that workloads make in their place."""
        from stowplan.local.outcome import Preempted

        for victim in victims:
            self._queued.results.pop(pod_id(victim), None)
            self.preempted.append(Preempted(victim.key, victim.node_name, preemptor.key))
        replaced = self.inputs.evict(victims)
        for one in replaced.removed:
            self.cluster.remove(one)
        self.cluster.add_all(replaced.made)
        self._queued.hear(_event(one, Action.DELETE) for one in replaced.removed)
        self._queued.hear(_event(one, Action.ADD) for one in replaced.made if not isinstance(one, Pod))
        made = [one for one in replaced.made if isinstance(one, Pod)]
        self._add(pod for pod in made if pod.spec.scheduler_name in self.cluster.profiles)


def _event(found: Any, action: Action) -> ObjectChange:
    change = Change(resource_of(found.kind), action)
    return ObjectChange(change, None, found) if action is Action.ADD else ObjectChange(change, found, None)
