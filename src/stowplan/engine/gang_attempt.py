"""One attempt to place the members of a gang, and what they are told if too few of them fit.

Of the live scheduler (`gang.py`) as well as of a library or a command line (`app/pod_groups.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from stowplan.cache.cache import Cache
from stowplan.engine import failure, scheduling_cycle
from stowplan.engine.binding_cycle import place
from stowplan.engine.failure import Chosen, Failed, Failure
from stowplan.engine.parts import ActivePolicy
from stowplan.framework.gangs import Gang
from stowplan.framework.post_filter import PostFiltered
from stowplan.framework.profile import Profile
from stowplan.model import requests
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.queue.entry import QueuedPod


@dataclass(frozen=True, slots=True)
class PlacedMember:
    """A member that is counted on a node."""

    entry: QueuedPod
    node_name: str


@dataclass(frozen=True, slots=True)
class UnplacedMember:
    """A member that found no node, and why."""

    entry: QueuedPod
    why: Failure

    @property
    def text(self) -> str:
        return f"member {self.entry.pod.key}: {self.why.message}"


@dataclass(frozen=True, slots=True)
class GangAttempt:
    """Tries the members of gangs, of one profile."""

    cache: Cache
    policy: ActivePolicy
    profile: Profile
    undo: Callable[[Profile, Pod, str], object]

    async def place(self, entry: QueuedPod) -> PlacedMember | UnplacedMember:
        """Count a member on the best node for it, so that the next one sees it there."""
        pod, policy = entry.pod, self.policy
        shape = self.cache.table.shape_of(pod)
        result = await scheduling_cycle.choose(policy.field, self.profile, pod, shape, policy.extenders)
        if isinstance(result, Failed):
            return UnplacedMember(entry, failure.of_failed(result))
        if not isinstance(result, Chosen):
            return UnplacedMember(entry, failure.of_refused(result, PostFiltered()))
        member = PlacedMember(entry, result.node_name)
        rejection = place(self.cache, self.profile, pod, member.node_name, shape)
        policy.field.nominations.remove(pod)
        if rejection is None:
            return member
        self.undo(self.profile, pod, member.node_name)
        return UnplacedMember(entry, failure.of_rejection(rejection))


def objection(cache: Cache, gang: Gang) -> str:
    """Return why a gang is not to be tried at all; empty if it is."""
    pods = cache.groups.members(gang.key)
    names = sorted({pod.spec.scheduler_name for pod in pods})
    if len(names) > 1:
        listed = " and ".join(f'"{name}"' for name in names)
        return f"{gang.key}: all members must have the same schedulerName, got {listed}"
    return _shortage(cache, gang, [pod for pod in pods if cache.placed(pod) is not None])


def _shortage(cache: Cache, gang: Gang, placed: Sequence[Pod]) -> str:
    """Say what of its minResources the cluster has not got free; what its placed members take counts as free."""
    resources = cache.table.resources
    for name, wanted in sorted(gang.min_resources.items()):
        row = resources.find(name)
        free = int(np.maximum(resources.allocatable[row] - resources.requested[row], 0).sum())
        free += sum(_amount(name, pod) for pod in placed)
        has = Quantity.of_milli(free) if name == "cpu" else Quantity.of(free, wanted.format)
        if has < wanted:
            return f"{gang.key}: minResources asks for {name} {wanted}, the cluster has {has} free"
    return ""


def _amount(name: str, pod: Pod) -> int:
    taken = requests.accounted(pod)
    fixed = {"cpu": taken.milli_cpu, "memory": taken.memory, "ephemeral-storage": taken.ephemeral_storage, "pods": 1}
    return fixed[name] if name in fixed else taken.scalar.get(name, 0)


def refusals(
    cache: Cache, gang: Gang, fit: int, placed: Sequence[PlacedMember], unplaced: Sequence[UnplacedMember]
) -> list[tuple[QueuedPod, Failure]]:
    """Tell all members why they go back: each its own reason, or that of one that found no node."""
    members = len(cache.groups.members(gang.key))
    head = f"{gang.key}: {fit} of {members} members fit, {gang.min_member} needed"
    because = unplaced[0].text if unplaced else "the others are not ready to be scheduled"
    told = [(member.entry, refusal(f"{head}; {because}", gang.plugin)) for member in placed]
    for other in unplaced:
        why = msgspec.structs.replace(under(gang, other.why), message=f"{head}; {other.text}")
        told.append((other.entry, why))
    return told


def refusal(message: str, plugin: str) -> Failure:
    return Failure(message, plugins=(plugin,), nominated_node_name="")


def under(gang: Gang, why: Failure) -> Failure:
    """Let a refused member wait under its gang too; one whose attempt failed waits for nobody."""
    if not why.plugins and not why.pending:
        return why
    return msgspec.structs.replace(why, plugins=frozenset((*why.plugins, gang.plugin)))
