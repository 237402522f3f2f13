"""The gang cycle: all members of a gang that wait are tried one after the other, and placed together or not at all.

    take all --> seat each (choose, assume, reserve) --> enough? --> permit each --> still enough? --> bind, as a party
                                                           |                             |
                                                           +---> unseat all, give back <-+

It runs inside one scheduling cycle: nobody sees the table before all is decided, so two gangs never hold half a cluster
each. Members beyond the number needed that find no node go back alone. A gang that has its number goes on like any
other pods, one by one. No room is made for a gang by preemption. `party.py` has what happens on the way to the nodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec
import numpy as np

from stowplan.engine import failure, with_extenders
from stowplan.engine.failure import Failure
from stowplan.engine.gang_barrier import Parties
from stowplan.engine.parts import Parts
from stowplan.engine.ports import GangTried, Placed
from stowplan.engine.results import Chosen, Failed
from stowplan.framework import placing
from stowplan.framework.gangs import Gang, gang_of
from stowplan.framework.post_filter import PostFiltered
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.model import requests
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey
from stowplan.model.quantity import Quantity
from stowplan.queue.entry import Place, QueuedPod

SECOND_NS = 1_000_000_000


class Flow(Protocol):
    """What a gang needs of the flow."""

    def submit(self, change: Callable[[int], None]) -> None: ...

    def start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None: ...

    def give_back(self, entry: QueuedPod, why: Failure) -> None: ...

    def unreserve(self, profile: Profile, pod: Pod, node_name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Seat:
    """A member that is counted on a node."""

    entry: QueuedPod
    node_name: str


@dataclass(frozen=True, slots=True)
class Miss:
    """A member that found no node, and why."""

    entry: QueuedPod
    why: Failure

    @property
    def text(self) -> str:
        return f"member {self.entry.pod.key}: {self.why.message}"


class GangCycle:
    """Places gangs."""

    def __init__(self, parts: Parts, flow: Flow, parties: Parties) -> None:
        self._parts = parts
        self._flow = flow
        self._parties = parties
        # Refused gangs that are left alone, and until when.
        self._resting: dict[GroupKey, int] = {}

    async def schedule(self, profile: Profile, entry: QueuedPod) -> bool:
        """See a pod placed together with its gang, or given back with it; False if it goes alone."""
        gang = gang_of(profile, entry.pod)
        if isinstance(gang, Rejection):
            self._flow.give_back(entry, _refusal(", ".join(gang.reasons), gang.plugin))
            return True
        if gang is None or (self._has_enough(gang) and not self._parties.is_under_way(gang)):
            return False
        members = self._take(gang, entry)
        objection = self._objection(gang)
        if objection:
            for member in members:
                self._flow.give_back(member, _refusal(objection, gang.plugin))
            return True
        try:
            is_placed = await self._place(profile, gang, members)
        except Exception as error:
            self._parts.tell(GangTried(profile.name, "error", entry.taken_at_ns))
            self._abandon(profile, [member for member in members if member is not entry], error)
            raise
        self._parts.tell(GangTried(profile.name, "scheduled" if is_placed else "unschedulable", entry.taken_at_ns))
        return True

    def _has_enough(self, gang: Gang) -> bool:
        return self._parties.placed(gang) >= gang.min_member

    def _take(self, gang: Gang, first: QueuedPod) -> list[QueuedPod]:
        """Take the other members that wait, and put all in order: by priority, then by the time they were ready."""
        cache, queue = self._parts.cache, self._parts.queue
        others = [pod for pod in cache.groups.members(gang.key) if cache.placed(pod) is None]
        members = [first, *queue.take(others, self._parts.now_ns())]
        return sorted(members, key=lambda entry: (-entry.pod.priority, entry.ready_at_ns or 0, entry.pod.key))

    # Before anybody is tried

    def _objection(self, gang: Gang) -> str:
        """Return why the gang is not to be tried at all; empty if it is."""
        pods = self._parts.cache.groups.members(gang.key)
        names = sorted({pod.spec.scheduler_name for pod in pods})
        if len(names) > 1:
            listed = " and ".join(f'"{name}"' for name in names)
            return f"{gang.key}: all members must have the same schedulerName, got {listed}"
        if self._parts.now_ns() < self._resting.get(gang.key, 0):
            return f"{gang.key} failed recently; it is tried again {gang.backoff_seconds:g} seconds after that"
        return self._shortage(gang, [pod for pod in pods if self._parts.cache.placed(pod) is not None])

    def _shortage(self, gang: Gang, placed: Sequence[Pod]) -> str:
        """Say what of its minResources the cluster has not got free; what its placed members take counts as free."""
        resources = self._parts.cache.table.resources
        for name, wanted in sorted(gang.min_resources.items()):
            row = resources.find(name)
            free = int(np.maximum(resources.allocatable[row] - resources.requested[row], 0).sum())
            free += sum(_amount(name, pod) for pod in placed)
            has = Quantity.of_milli(free) if name == "cpu" else Quantity.of(free, wanted.format)
            if has < wanted:
                return f"{gang.key}: minResources asks for {name} {wanted}, the cluster has {has} free"
        return ""

    # One after the other

    async def _place(self, profile: Profile, gang: Gang, members: Sequence[QueuedPod]) -> bool:
        """Place all members that fit if they are enough, else none; say which."""
        tried = [await self._seat(profile, member) for member in members]
        seats = [one for one in tried if isinstance(one, Seat)]
        misses = [one for one in tried if isinstance(one, Miss)]
        going: list[tuple[Seat, dict[str, float]]] = []
        if self._has_enough(gang):
            for seat in seats:
                held = self._permit(profile, gang, seat)
                if isinstance(held, Miss):
                    misses.append(held)
                else:
                    going.append((seat, held))
            seats = [seat for seat, _ in going]
        if not self._has_enough(gang):
            self._refuse(profile, gang, seats, misses)
            return False
        self._parties.set_out(gang, [seat.entry.pod for seat in seats])
        for seat, held in going:
            self._parts.tell(Placed(seat.entry.pod, seat.node_name, seat.entry.taken_at_ns))
            self._flow.start_binding(profile, seat.entry, seat.node_name, held)
        for miss in misses:
            self._flow.give_back(miss.entry, _under(gang, miss.why))
        return True

    async def _seat(self, profile: Profile, entry: QueuedPod) -> Seat | Miss:
        """Count a member on the best node for it, so that the next one sees it there."""
        pod, parts = entry.pod, self._parts
        result = await with_extenders.decide(parts, profile, pod)
        if isinstance(result, Failed):
            return Miss(entry, failure.of_failed(result))
        if not isinstance(result, Chosen):
            return Miss(entry, failure.of_refused(result, PostFiltered()))
        seat = Seat(entry, result.node_name)
        parts.cache.assume(pod, seat.node_name)
        parts.queue.nominations.remove(pod)
        rejection = placing.run_reserve(profile, pod, seat.node_name)
        if rejection is None:
            return seat
        self._unseat(profile, seat)
        return Miss(entry, failure.of_rejection(rejection))

    def _permit(self, profile: Profile, gang: Gang, seat: Seat) -> dict[str, float] | Miss:
        """Ask whether a member may be bound; those who hold it do so no longer than the gang allows."""
        permitted = placing.run_permit(profile, seat.entry.pod, seat.node_name)
        if isinstance(permitted, Rejection):
            self._unseat(profile, seat)
            return Miss(seat.entry, failure.of_rejection(permitted))
        limit = gang.timeout_seconds
        return permitted if limit is None else {plugin: min(held, limit) for plugin, held in permitted.items()}

    # The way back

    def _refuse(self, profile: Profile, gang: Gang, seats: Sequence[Seat], misses: Sequence[Miss]) -> None:
        """Take all members off their nodes and give them back, each with the reason of one that found none."""
        fit, all_members = self._parties.placed(gang), len(self._parts.cache.groups.members(gang.key))
        head = f"{gang.key}: {fit} of {all_members} members fit, {gang.min_member} needed"
        for seat in reversed(seats):
            self._unseat(profile, seat)
        self._rest(gang)
        because = misses[0].text if misses else "the others are not ready to be scheduled"
        for seat in seats:
            self._flow.give_back(seat.entry, _refusal(f"{head}; {because}", gang.plugin))
        for miss in misses:
            why = msgspec.structs.replace(_under(gang, miss.why), message=f"{head}; {miss.text}")
            self._flow.give_back(miss.entry, why)

    def _unseat(self, profile: Profile, seat: Seat) -> None:
        """Take a member off its node. Nobody else has seen it there, so nobody need hear of it."""
        pod = seat.entry.pod
        self._flow.unreserve(profile, pod, seat.node_name)
        self._parts.cache.forget(pod)

    def _abandon(self, profile: Profile, members: Sequence[QueuedPod], error: Exception) -> None:
        """Leave no member behind when an attempt breaks off; the flow sees to the pod that it began with."""
        for member in members:
            if member.place is Place.IN_FLIGHT and not self._parties.has(member.pod):
                placed = self._parts.cache.placed(member.pod)
                if placed is not None:
                    self._unseat(profile, Seat(member, placed.node_name))
                self._flow.give_back(member, failure.of_error(f"the attempt of its gang broke off: {error!r}"))

    def _rest(self, gang: Gang) -> None:
        """Leave a refused gang alone for a while, if it is configured so; then wake all of it."""
        if gang.backoff_seconds:
            self._resting[gang.key] = self._parts.now_ns() + round(gang.backoff_seconds * SECOND_NS)
            wake = partial(self._wake, gang.key)
            asyncio.get_running_loop().call_later(gang.backoff_seconds, self._flow.submit, wake)

    def _wake(self, key: GroupKey, now_ns: int) -> None:
        if now_ns >= self._resting.get(key, 0):
            self._resting.pop(key, None)
            self._parts.queue.activate(self._parts.cache.groups.members(key), now_ns)


def _refusal(message: str, plugin: str) -> Failure:
    return Failure(message, plugins=(plugin,), nominated_node_name="")


def _under(gang: Gang, why: Failure) -> Failure:
    """Let a refused member wait under its gang too; one whose attempt failed waits for nobody."""
    if not why.plugins and not why.pending:
        return why
    return msgspec.structs.replace(why, plugins=frozenset((*why.plugins, gang.plugin)))


def _amount(name: str, pod: Pod) -> int:
    taken = requests.accounted(pod)
    fixed = {"cpu": taken.milli_cpu, "memory": taken.memory, "ephemeral-storage": taken.ephemeral_storage, "pods": 1}
    return fixed[name] if name in fixed else taken.scalar.get(name, 0)
