"""The cluster as it would be without some pods, for plugins that look for room for a pod group.

Pods are taken off the table for real while the plugin looks, and put back when it has answered: nobody else is tried
meanwhile, and what the cluster tells waits. Implements `framework.pod_groups.GroupTrial`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np

from stowplan.cache.cache import Cache
from stowplan.engine import scheduling_cycle
from stowplan.engine.group_attempt import GroupTry
from stowplan.engine.group_tree import GroupNode
from stowplan.engine.parts import ActivePolicy
from stowplan.framework.pod_groups import Assignment, GroupPlaced
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod, pod_id
from stowplan.queue.entry import QueuedPod
from stowplan.table.nodes import Nodes

T = TypeVar("T")


class ClusterTrial:
    """What if; `make_try` makes an attempt of the group whose tree is `root`."""

    def __init__(self, cache: Cache, policy: ActivePolicy, make_try: Callable[[], GroupTry], root: GroupNode) -> None:
        self._cache, self._policy, self._make_try, self._root = cache, policy, make_try, root
        self._away: dict[str, Pod] = {}
        self.waited_ns = 0

    def take_away(self, pods: Collection[Pod]) -> None:
        for pod in pods:
            self._cache.suspend(pod)
            self._away[pod_id(pod)] = pod

    def put_back(self, pods: Collection[Pod]) -> None:
        for pod in pods:
            self._cache.resume(pod)
            del self._away[pod_id(pod)]

    def restore(self) -> None:
        """Put back whoever is away still."""
        self.put_back(list(self._away.values()))

    async def schedule(self) -> GroupPlaced:
        attempt = self._make_try().as_trial()
        clock = self._policy.profiles[self._root.pods[0].spec.scheduler_name].stopwatch
        started_ns = clock.now_ns()
        results = await attempt.run(self._root)
        if self._policy.extenders is not None:
            self.waited_ns += clock.now_ns() - started_ns
        attempt.revert(results)
        status = results[self._root.key].status
        if not status.is_success:
            # Who quotes it says all of it.
            return GroupPlaced(rejection=Rejection((status.message,), status.code or Code.UNSCHEDULABLE))
        placed = [member for result in results.values() for member in result.members if member.node_name]
        return GroupPlaced([Assignment(member.entry.pod, member.node_name, member.skipped) for member in placed])

    def still_fits(self, assignments: Sequence[Assignment]) -> bool:
        attempt, entry_of = self._make_try(), self._entries()
        put = []
        with self._cache.groups.trying():
            try:
                for assignment in assignments:
                    if not self._fits(assignment):
                        return False
                    put.append(attempt.put(entry_of[pod_id(assignment.pod)], assignment.node_name))
                return True
            finally:
                attempt.take_off(put)

    def _fits(self, assignment: Assignment) -> bool:
        """Ask those who had something to say, as the table is, and with the pods that are nominated to the node."""
        pod, field = assignment.pod, self._policy.field
        profile, table = self._policy.profiles[pod.spec.scheduler_name], field.table
        filtering = scheduling_cycle.find_feasible(field, profile, pod, table.shape_of(pod)).kept.filtering
        if filtering.pre.rejection is not None:
            return filtering.pre.rejection.plugin in assignment.skipped
        nodes, rows = Nodes(table), np.array([table.row_of[assignment.node_name]], dtype=np.intp)
        ahead = field.nominations.ahead_on(assignment.node_name, pod)
        if ahead:
            crowded = nodes.suppose(rows, [[nodes.shape_of(other) for other in ahead]], [[]])
            if filtering.suppose(pod, crowded, assignment.skipped).any():
                return False
        return not filtering.suppose(pod, nodes.take(rows), assignment.skipped).any()

    def _entries(self) -> dict[str, QueuedPod]:
        return {pod_id(member.pod): member for leaf in self._root.leaves() for member in leaf.members}


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run what waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a group was waited for, though nobody outside is asked")
