"""Members of a gang on their way to their nodes: they wait for each other before the steps that cannot be taken back.

    placed --> permitted ==meet==> PreBind --> prepared ==meet==> Bind --> bound
                   |                               |
                   +------------ lost -------------+--> too few left, and none bound yet: the others are lost too

Once a member is bound the others go on whatever happens: a gang that is short of a member can be completed, a bound pod
cannot be unbound. `gang.py` sends barriers on their way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from enum import Enum, auto

from stowplan.cache.cache import Cache
from stowplan.engine.failure import UNSCHEDULABLE, Failure
from stowplan.framework.gangs import Gang
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey


class Point(Enum):
    """Where members meet."""

    #: All of them are let go by Permit.
    PERMITTED = auto()
    #: All of them have done what comes before binding.
    PREPARED = auto()


class GangBarrier:
    """The members of one gang that are under way. `objection` says why they have to turn back, if they have to."""

    def __init__(self, gang: Gang) -> None:
        self.gang = gang
        self.members: dict[str, Pod] = {}
        self.has_bound = False
        self.objection = ""
        # Whether plugins brought it about, so that the gang may wait for events.
        self._is_refusal = False
        self.arrived: dict[Point, set[str]] = {point: set() for point in Point}
        self.opened = {point: asyncio.Event() for point in Point}

    async def wait(self, point: Point) -> Failure | None:
        """Wait for the others; return why to turn back, None to go on."""
        await self.opened[point].wait()
        if not self.objection:
            return None
        # Events are kept for a pod only until all are permitted; later it can but wait a while.
        plugins = (self.gang.plugin,) if self._is_refusal and point is Point.PERMITTED else ()
        return Failure(self.objection, plugins, nominated_node_name="", reason=UNSCHEDULABLE)

    def is_complete_at(self, point: Point) -> bool:
        arrived = self.arrived[point]
        return len(self.members) <= len(arrived) and self.members.keys() <= arrived

    def turn_back(self, objection: str, *, is_refusal: bool) -> None:
        self.objection, self._is_refusal = objection, is_refusal
        for opened in self.opened.values():
            opened.set()


class GangBarriers:
    """All barriers under way. Pods that belong to none pass every point."""

    def __init__(self, cache: Cache, waiting: WaitingPods) -> None:
        self._cache, self._waiting = cache, waiting
        self._by_gang: dict[GroupKey, GangBarrier] = {}
        self._by_pod: dict[str, GangBarrier] = {}
        # Members that turn back, until they are off their nodes.
        self._lost: set[str] = set()

    def is_under_way(self, gang: Gang) -> bool:
        return gang.key in self._by_gang

    def has(self, pod: Pod) -> bool:
        return pod_id(pod) in self._by_pod

    def placed(self, gang: Gang) -> int:
        """Count the members that have a node and will not have to give it back."""
        members = self._cache.groups.members(gang.key)
        return sum(self._cache.placed(pod) is not None and not self._is_turning_back(pod) for pod in members)

    def set_out(self, gang: Gang, pods: Iterable[Pod]) -> None:
        """Send members on their way, with those of their gang that already are."""
        barrier = self._by_gang.get(gang.key)
        if barrier is None or barrier.objection:
            barrier = self._by_gang[gang.key] = GangBarrier(gang)
        for pod in pods:
            barrier.members[pod_id(pod)] = pod
            self._by_pod[pod_id(pod)] = barrier

    async def meet(self, pod: Pod, point: Point) -> Failure | None:
        """Wait until the others of the barrier are here too; a failure means to turn back."""
        barrier = self._by_pod.get(pod_id(pod))
        if barrier is None:
            return None
        barrier.arrived[point].add(pod_id(pod))
        self._look_around(barrier)
        return await barrier.wait(point)

    def part(self, pod: Pod) -> None:
        """Let a pod go that is bound; from now on its barrier is not turned back."""
        barrier = self._leave(pod)
        if barrier is not None:
            barrier.has_bound = True

    def lose(self, pod: Pod, why: Failure) -> None:
        """Let a pod go that has to give its node back, and see whether the others of its barrier can go on."""
        barrier = self._leave(pod)
        if barrier is None:
            return
        self._lost.add(pod_id(pod))
        if barrier.objection:
            return
        left = self.placed(barrier.gang)
        if not barrier.has_bound and left < barrier.gang.min_member:
            counts = f"{left} of {barrier.gang.min_member} needed members are left"
            reason = why.message.rstrip(".")
            objection = f"{barrier.gang.key}: {counts}; member {pod.key} lost its node: {reason}"
            self._turn_back(barrier, objection, is_refusal=why.is_refusal)
        else:
            self._look_around(barrier)

    def forget(self, pod: Pod) -> None:
        """Forget a pod that is off its node."""
        self._lost.discard(pod_id(pod))

    def _leave(self, pod: Pod) -> GangBarrier | None:
        barrier = self._by_pod.pop(pod_id(pod), None)
        if barrier is not None:
            del barrier.members[pod_id(pod)]
            if not barrier.members and self._by_gang.get(barrier.gang.key) is barrier:
                del self._by_gang[barrier.gang.key]
        return barrier

    def _look_around(self, barrier: GangBarrier) -> None:
        """Let the barrier go on where it is complete, unless members were deleted meanwhile and too few are left."""
        for point in Point:
            if barrier.opened[point].is_set() or not barrier.is_complete_at(point):
                continue
            left, needed = self.placed(barrier.gang), barrier.gang.min_member
            if not barrier.has_bound and left < needed:
                objection = f"{barrier.gang.key}: {left} of {needed} needed members are left"
                self._turn_back(barrier, objection, is_refusal=True)
            else:
                barrier.opened[point].set()

    def _turn_back(self, barrier: GangBarrier, objection: str, *, is_refusal: bool) -> None:
        barrier.turn_back(objection, is_refusal=is_refusal)
        for waiting in self._waiting:
            if pod_id(waiting.pod) in barrier.members:
                waiting.reject(barrier.gang.plugin, objection)

    def _is_turning_back(self, pod: Pod) -> bool:
        barrier = self._by_pod.get(pod_id(pod))
        return pod_id(pod) in self._lost or (barrier is not None and bool(barrier.objection))
