"""The gang cycle: all members of a gang that wait are tried one after the other, and placed together or not at all.

    take all --> place each (choose, assume, reserve) --> enough? --> permit each --> still enough? --> bind, together
                                                           |                             |
                                                           +---> undo all, give back <-+

It runs inside one scheduling cycle: nobody sees the table before all is decided, so two gangs never hold half a cluster
each. Members beyond the number needed that find no node go back alone. A gang that has its number goes on like any
other pods, one by one. No room is made for a gang by preemption. `gang_attempt.py` tries the members, `gang_barrier.py`
has the way to the nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from stowplan.cache.cache import CachedPod
from stowplan.engine import failure, gang_attempt
from stowplan.engine.failure import Failure
from stowplan.engine.gang_attempt import GangAttempt, PlacedMember, UnplacedMember, refusal, under
from stowplan.engine.gang_barrier import GangBarriers
from stowplan.engine.parts import ActivePolicy, SchedulerState
from stowplan.engine.ports import Environment, GangTried, Placed
from stowplan.framework import placing
from stowplan.framework.gangs import Gang, gang_of
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey
from stowplan.queue.entry import Place, QueuedPod

SECOND_NS = 1_000_000_000


class Flow(Protocol):
    """What a gang needs of the flow."""

    def submit(self, change: Callable[[int], None]) -> None: ...

    def start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None: ...

    def give_back(self, entry: QueuedPod, why: Failure) -> None: ...

    def undo(self, profile: Profile, pod: Pod, node_name: str) -> CachedPod | None: ...


class GangCycle:
    """Places gangs."""

    def __init__(
        self,
        state: SchedulerState,
        policy: ActivePolicy,
        environment: Environment,
        barriers: GangBarriers,
        flow: Flow,
    ) -> None:
        self._state, self._policy, self._environment = state, policy, environment
        self._barriers, self._flow = barriers, flow
        # Refused gangs that are left alone, and until when.
        self._resting: dict[GroupKey, int] = {}

    async def schedule(self, profile: Profile, entry: QueuedPod) -> bool:
        """See a pod placed together with its gang, or given back with it; False if it goes alone."""
        gang = gang_of(profile, entry.pod)
        if isinstance(gang, Rejection):
            self._flow.give_back(entry, refusal(", ".join(gang.reasons), gang.plugin))
            return True
        if gang is None or (self._has_enough(gang) and not self._barriers.is_under_way(gang)):
            return False
        members = self._take(gang, entry)
        objection = self._objection(gang)
        if objection:
            for member in members:
                self._flow.give_back(member, refusal(objection, gang.plugin))
            return True
        try:
            is_placed = await self._place_members(profile, gang, members)
        except Exception as error:
            self._environment.tell(GangTried(profile.name, "error", entry.taken_at_ns))
            self._abandon(profile, [member for member in members if member is not entry], error)
            raise
        self._environment.tell(
            GangTried(profile.name, "scheduled" if is_placed else "unschedulable", entry.taken_at_ns)
        )
        return True

    def _has_enough(self, gang: Gang) -> bool:
        return self._barriers.placed(gang) >= gang.min_member

    def _take(self, gang: Gang, first: QueuedPod) -> list[QueuedPod]:
        """Take the other members that wait, and put all in order: by priority, then by the time they were ready."""
        cache, queue = self._state.cache, self._state.queue
        others = [pod for pod in cache.groups.members(gang.key) if cache.placed(pod) is None]
        members = [first, *queue.take(others, self._environment.now_ns())]
        return sorted(members, key=lambda entry: (-entry.pod.priority, entry.ready_at_ns or 0, entry.pod.key))

    # Before anybody is tried

    def _objection(self, gang: Gang) -> str:
        """Return why the gang is not to be tried at all; empty if it is."""
        if self._environment.now_ns() < self._resting.get(gang.key, 0):
            return f"{gang.key} failed recently; it is tried again {gang.backoff_seconds:g} seconds after that"
        return gang_attempt.objection(self._state.cache, gang)

    # One after the other

    async def _place_members(self, profile: Profile, gang: Gang, members: Sequence[QueuedPod]) -> bool:
        """Place all members that fit if they are enough, else none; say which."""
        attempt = GangAttempt(self._state.cache, self._policy, profile, self._flow.undo)
        tried = [await attempt.place(member) for member in members]
        placed = [one for one in tried if isinstance(one, PlacedMember)]
        unplaced = [one for one in tried if isinstance(one, UnplacedMember)]
        going: list[tuple[PlacedMember, dict[str, float]]] = []
        if self._has_enough(gang):
            for member in placed:
                held = self._permit(profile, gang, member)
                if isinstance(held, UnplacedMember):
                    unplaced.append(held)
                else:
                    going.append((member, held))
            placed = [member for member, _ in going]
        if not self._has_enough(gang):
            self._refuse(profile, gang, placed, unplaced)
            return False
        self._barriers.set_out(gang, [member.entry.pod for member in placed])
        for member, held in going:
            self._environment.tell(Placed(member.entry.pod, member.node_name, member.entry.taken_at_ns))
            self._flow.start_binding(profile, member.entry, member.node_name, held)
        for other in unplaced:
            self._flow.give_back(other.entry, under(gang, other.why))
        return True

    def _permit(self, profile: Profile, gang: Gang, member: PlacedMember) -> dict[str, float] | UnplacedMember:
        """Ask whether a member may be bound; those who hold it do so no longer than the gang allows."""
        permitted = placing.run_permit(profile, member.entry.pod, member.node_name)
        if isinstance(permitted, Rejection):
            self._flow.undo(profile, member.entry.pod, member.node_name)
            return UnplacedMember(member.entry, failure.of_rejection(permitted))
        limit = gang.timeout_seconds
        return permitted if limit is None else {plugin: min(held, limit) for plugin, held in permitted.items()}

    # The way back

    def _refuse(
        self, profile: Profile, gang: Gang, placed: Sequence[PlacedMember], unplaced: Sequence[UnplacedMember]
    ) -> None:
        """Take all members off their nodes and give them back, each with the reason of one that found none."""
        told = gang_attempt.refusals(self._state.cache, gang, self._barriers.placed(gang), placed, unplaced)
        # Nobody else has seen them there, so nobody need hear of it.
        for member in reversed(placed):
            self._flow.undo(profile, member.entry.pod, member.node_name)
        self._rest(gang)
        for entry, why in told:
            self._flow.give_back(entry, why)

    def _abandon(self, profile: Profile, members: Sequence[QueuedPod], error: Exception) -> None:
        """Leave no member behind when an attempt breaks off; the flow sees to the pod that it began with."""
        for member in members:
            if member.place is Place.IN_FLIGHT and not self._barriers.has(member.pod):
                placed = self._state.cache.placed(member.pod)
                if placed is not None:
                    self._flow.undo(profile, member.pod, placed.node_name)
                self._flow.give_back(member, failure.of_error(f"the attempt of its gang broke off: {error!r}"))

    def _rest(self, gang: Gang) -> None:
        """Leave a refused gang alone for a while, if it is configured so; then wake all of it."""
        if gang.backoff_seconds:
            self._resting[gang.key] = self._environment.now_ns() + round(gang.backoff_seconds * SECOND_NS)
            wake = partial(self._wake, gang.key)
            asyncio.get_running_loop().call_later(gang.backoff_seconds, self._flow.submit, wake)

    def _wake(self, key: GroupKey, now_ns: int) -> None:
        if now_ns >= self._resting.get(key, 0):
            self._resting.pop(key, None)
            self._state.queue.activate(self._state.cache.groups.members(key), now_ns)
