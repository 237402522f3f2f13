"""Whom a pod would push out: all nodes on which room could be made, in the order of choice, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stowplan.engine.failure import Chosen
from stowplan.framework.contract import Preemption
from stowplan.model.pod import Pod
from stowplan.whatif.fits import PlacedOrNot, check_profile, of_outcome, try_new
from stowplan.whatif.moving import Moved, move
from stowplan.whatif.world import World


class Victim(msgspec.Struct, frozen=True):
    """A pod that has to go."""

    pod: str
    priority: int


class CandidateNode(msgspec.Struct, frozen=True, rename="camel"):
    """A node, and who would have to go there, the most important first."""

    node: str
    victims: list[Victim]
    pdb_violations: int = 0


class Preempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer; a pod finds room if it fits, by evicting others or without."""

    finds_room: bool
    needs_preemption: bool
    #: Why it does not fit as it is, with what preemption says.
    message: str = ""
    #: The first is the one that is taken.
    candidates: list[CandidateNode] = []
    placed: PlacedOrNot | None = None
    #: What becomes of the victims once the pod has its node.
    victims: list[Moved] = []


def preempt(world: World, pod: Pod) -> Preempt:
    """Say where a pod goes, and who goes for it."""
    check_profile(world, pod)
    found = world.candidates(pod)
    if found is None:
        (outcome,) = try_new(world, [pod])
        return Preempt(finds_room=isinstance(outcome, Chosen), needs_preemption=False, placed=of_outcome(outcome))
    refused, preemptions, said = found
    message = " ".join(filter(None, (refused.message, said)))
    if not preemptions:
        return Preempt(finds_room=False, needs_preemption=True, message=message)
    listed = [_candidate(one) for one in preemptions]
    placed, moved = _carried_out(world, pod, preemptions[0])
    return Preempt(
        finds_room=placed.node is not None,
        needs_preemption=True,
        message=message,
        candidates=listed,
        placed=placed,
        victims=moved,
    )


def _candidate(preemption: Preemption) -> CandidateNode:
    victims = [Victim(pod.key, pod.priority) for pod in preemption.victims]
    return CandidateNode(preemption.node_name, victims, preemption.pdb_violations)


def _carried_out(world: World, pod: Pod, preemption: Preemption) -> tuple[PlacedOrNot, list[Moved]]:
    """Have the victims go, the pod take their place, and then the victims look for another."""
    victims: Sequence[Pod] = preemption.victims
    with world.suppose() as without:
        for victim in victims:
            without.remove(victim)
        (outcome,) = try_new(without, [nominated(pod, preemption.node_name)])
        placed = of_outcome(outcome)
    if placed.node is None:
        return placed, []
    # The room is taken before the victims are made anew.
    nodes = [(victim, preemption.node_name) for victim in victims]
    bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=placed.node))
    world.add(bound)
    return placed, move(world, nodes)


def nominated(pod: Pod, node_name: str) -> Pod:
    """Return a pod for which a node was freed."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node_name))
