"""What if nodes are drained: where everybody goes, who would be homeless, which budgets stand in the way; in batches.

In a batch, its nodes take no more pods, and their pods are evicted one after the other, the most important first, each
when the one before it has a node again. Evicted is who then finds a node, for whom nobody has to go, and whom its
budget lets go; the others stay, and so does their node. With several batches, the nodes of one are back, empty but for
them, before the next begins, as in a rolling upgrade. Pods that had no node before may get one on the way, and may be
first: what a plan promises is what they leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from stowplan.engine.failure import Chosen, Refused
from stowplan.model.node import Node
from stowplan.model.pod import Pod, importance
from stowplan.model.tolerations import is_tolerated
from stowplan.plugins.nodeunschedulable import CORDON
from stowplan.whatif.budgets import BudgetBook
from stowplan.whatif.changes import cordon
from stowplan.whatif.moving import (
    Moved,
    count_for_group,
    has_claims,
    has_to_go,
    moved,
    placed_again,
    take_off,
    try_ours,
)
from stowplan.whatif.world import QuestionError, TriedPod, World

#: The plugins to which it matters where other pods are.
_ABOUT_OTHERS: Final = ("InterPodAffinity", "PodTopologySpread")


class Batch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes that are drained together, and what becomes of their pods, in the order of eviction."""

    nodes: list[str]
    moved: list[Moved]

    @property
    def is_good(self) -> bool:
        return not any(one.is_homeless or one.held_by for one in self.moved)


class Drain(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer; nodes can be drained if nobody would be homeless and no budget stands in the way."""

    can_be_drained: bool
    batches: list[Batch]
    homeless: list[str]
    #: By budget, the pods that it does not let go.
    held_by_budgets: dict[str, list[str]]
    #: The pods that no controller makes anew: somebody has to.
    unmanaged: list[str]
    #: The pods that had no node before and get one on the way, with that node.
    also_placed: dict[str, str] = {}


def drain(world: World, nodes: Sequence[Node], batches: int = 1) -> Drain:
    """Drain nodes in so many batches."""
    if not 1 <= batches <= len(nodes):
        raise QuestionError(f"batches: Invalid value: {batches}: write 1 to {len(nodes)}, as many as there are nodes")
    budgets = BudgetBook(world)
    draining, come_back = _Draining(world, budgets), batches > 1
    done = [
        Batch(nodes=[node.name for node in some], moved=draining.drain(some, come_back))
        for some in _split(world, budgets, nodes, batches)
    ]
    told = [one for batch in done for one in batch.moved]
    held: dict[str, list[str]] = {}
    for one in told:
        for key in one.held_by:
            held.setdefault(key, []).append(one.pod)
    return Drain(
        can_be_drained=all(batch.is_good for batch in done),
        batches=done,
        homeless=_once(one.pod for one in told if one.is_homeless),
        held_by_budgets=held,
        unmanaged=_once(one.pod for one in told if one.is_unmanaged),
        also_placed=draining.also_placed,
    )


def _once(keys: Iterable[str]) -> list[str]:
    """Name each pod once, though with several batches it may have to go several times."""
    return list(dict.fromkeys(keys))


class _Draining:
    """Nodes that are being drained, and who waits for a node meanwhile."""

    def __init__(self, world: World, budgets: BudgetBook) -> None:
        self._world, self._budgets = world, budgets
        #: Pods that had no node before, with that which they got.
        self.also_placed: dict[str, str] = {}
        ours = [pod for pod in world.waiting if pod.spec.scheduler_name in world.profiles]
        #: Who looks for a node, the first that came first.
        self._waiting = {pod.key: pod for pod in ours if pod.spec.scheduling_group is None}
        #: Of those, who may be helped by any pod that comes or goes: nobody knows yet why they wait.
        self._awaits_others = set(self._waiting)

    def drain(self, nodes: Sequence[Node], come_back: bool) -> list[Moved]:
        """Drain some nodes at once; return what becomes of their pods, those that stay last."""
        cordon(self._world, nodes)
        told: list[Moved] = []
        stay = evicted_from(self._world, nodes)
        while stay:
            tried = [(pod, name, self._evict(pod, name)) for pod, name in stay]
            told += [one for _, _, one in tried if one.to is not None]
            left = [(pod, name) for pod, name, one in tried if one.to is None]
            if len(left) == len(stay):
                # Nobody has gone since they were asked: it is the last word.
                return self._back(nodes, come_back, [*told, *(one for _, _, one in tried)])
            stay = left
        return self._back(nodes, come_back, told)

    def _back(self, nodes: Sequence[Node], come_back: bool, told: list[Moved]) -> list[Moved]:
        for node in nodes if come_back else ():
            self._world.add(node)
            self._try_again(list(self._waiting))
        return told

    def _evict(self, pod: Pod, node_name: str) -> Moved:
        """Evict a pod, if its budget lets it go and it finds another node."""
        held = self._budgets.in_the_way(pod)
        if held:
            return Moved(pod=pod.key, from_node=node_name, message=self._budgets.why(pod), held_by=tuple(held))
        if has_claims(pod):
            # What becomes of claims is not put back by hand.
            with self._world.suppose() as world:
                found = self._find_node(world, pod, node_name)
            if found.to is None:
                return found
        found = self._find_node(self._world, pod, node_name)
        if found.to is None:
            self._world.add(placed_again(pod, node_name))
            return found
        # Of a controller's pod another is there; somebody has to make the rest, and may not.
        if pod.controller is None:
            self._budgets.go(pod)
        self._try_again([key for key in self._waiting if key in self._awaits_others])
        return found

    def _find_node(self, world: World, pod: Pod, node_name: str) -> Moved:
        """Have a pod go, and the one in its place look for a node when those who wait have done so."""
        again = take_off(world, pod)
        before = self._comes_before(again)
        if before:
            why = f"its StatefulSet makes it anew only when {before} has a node"
            return Moved(pod=pod.key, from_node=node_name, message=why)
        count_for_group(world, again)
        outcome = self._outcome(world, again)
        if not isinstance(outcome, Chosen):
            world.remove(again)
        return moved(pod, node_name, outcome)

    def _outcome(self, world: World, again: Pod) -> TriedPod | None:
        """Try a pod, also with those who wait there before it; None if it is none of ours."""
        helped = [self._waiting[key] for key in self._waiting if key in self._awaits_others]
        if helped:
            with world.suppose() as crowded:
                try_ours(crowded, helped)
                outcome = next(iter(try_ours(crowded, [again])), None)
            if not isinstance(outcome, Chosen):
                return outcome
        return next(iter(try_ours(world, [again])), None)

    def _comes_before(self, again: Pod) -> str:
        """Return a pod that waits, and before which a StatefulSet makes no other."""
        owner = again.controller
        if owner is None or owner.kind != "StatefulSet":
            return ""
        waiting = (pod for pod in self._waiting.values() if pod.controller == owner)
        return next((pod.key for pod in waiting if _ordinal(pod) < _ordinal(again)), "")

    def _try_again(self, keys: Sequence[str]) -> None:
        """Let pods that wait look for a node once more."""
        for one in try_ours(self._world, [self._waiting[key] for key in keys]) if keys else ():
            pod = self._waiting[one.pod.key]
            if isinstance(one, Chosen):
                del self._waiting[pod.key]
                self.also_placed[pod.key] = one.node_name
            elif not _may_be_helped(pod, one):
                self._awaits_others.discard(pod.key)


def evicted_from(world: World, nodes: Sequence[Node]) -> list[tuple[Pod, str]]:
    """Return the pods that leave nodes, with their node, in the order of eviction."""
    placed = [one for node in nodes for one in world.cache.pods_on(node.name) if has_to_go(one.pod)]
    return [(one.pod, one.node_name) for one in sorted(placed, key=lambda one: importance(one.pod))]


def _ordinal(pod: Pod) -> int:
    number = pod.name.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() else 0


def _may_be_helped(pod: Pod, outcome: TriedPod) -> bool:
    """Say whether a pod may find a node because some other has one now, or has left one that is being drained."""
    if not isinstance(outcome, Refused):
        return False
    plugins = outcome.verdict.unschedulable_plugins()
    return not plugins.isdisjoint(_ABOUT_OTHERS) or is_tolerated(CORDON, pod.spec.tolerations)


def _split(world: World, budgets: BudgetBook, nodes: Sequence[Node], batches: int) -> list[list[Node]]:
    """Put nodes into batches of much the same size, apart where pods of one budget are on them."""
    found: list[list[Node]] = [[] for _ in range(batches)]
    wanted: list[dict[str, int]] = [{} for _ in range(batches)]
    most = -(-len(nodes) // batches)
    for node in nodes:
        needs: dict[str, int] = {}
        for placed in world.cache.pods_on(node.name):
            for key in budgets.about(placed.pod) if has_to_go(placed.pod) else ():
                needs[key] = needs.get(key, 0) + 1
        open_batches = [at for at in range(batches) if len(found[at]) < most]
        at = min(open_batches, key=lambda at: (sum(wanted[at].get(key, 0) for key in needs), len(found[at])))
        found[at].append(node)
        for key, count in needs.items():
            wanted[at][key] = wanted[at].get(key, 0) + count
    return [batch for batch in found if batch]
