"""One attempt of a pod group: where each of its pods goes, one after the other, and what that comes to.

A group is tried as its plugins allow: in one go over all nodes, or placement by placement (`placement_generate`, with
TopologyAwareWorkloadScheduling), of which the best counts. A group of groups tries its groups the same way, each within
the placement that was given to it. Pods that have found a node are counted there at once, so that the next one sees
them; an attempt that comes to nothing leaves nothing behind. What becomes of the pods then is up to `group_cycle.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from stowplan.cache.cache import Cache
from stowplan.engine import failure, scheduling_cycle
from stowplan.engine.alike_pods import room_by_row
from stowplan.engine.binding_cycle import place
from stowplan.engine.failure import NO_NODES, Chosen, Failed, Failure
from stowplan.engine.group_tree import GroupNode
from stowplan.engine.parts import ActivePolicy
from stowplan.engine.scheduling_cycle import ChoiceInputs
from stowplan.framework.plugin_faults import SECOND_NS
from stowplan.framework.pod_groups import (
    UNSCHEDULABLE_GROUP,
    Assignment,
    GroupPlacement,
    GroupProgress,
    NotYet,
    PlacedIn,
)
from stowplan.framework.post_filter import PostFiltered
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection, Verdict
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey, OwnGroup, PodGroup
from stowplan.queue.entry import QueuedPod
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes


class Undo(Protocol):
    """Takes a pod off its node again."""

    def __call__(self, profile: Profile, pod: Pod, node_name: str) -> object: ...


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """What an attempt of a group came to; success without a code."""

    code: Code | None = None
    reasons: tuple[str, ...] = ()
    #: Said before the reasons; upstream's own error.
    head: str = ""

    @property
    def is_success(self) -> bool:
        return self.code is None

    @property
    def is_error(self) -> bool:
        return self.code is Code.ERROR

    @property
    def message(self) -> str:
        return ", ".join((self.head, *self.reasons) if self.head else self.reasons)

    @property
    def summary(self) -> str:
        """What those who quote it say."""
        return self.head or ", ".join(self.reasons)

    def and_said(self, message: str) -> GroupStatus:
        return replace(self, reasons=(*self.reasons, message))


SUCCESS = GroupStatus()


def unschedulable(*reasons: str) -> GroupStatus:
    """Return the status of a group that found no place, as upstream says it of the whole."""
    return GroupStatus(Code.UNSCHEDULABLE, reasons, UNSCHEDULABLE_GROUP)


@dataclass(slots=True)
class TriedMember:
    """A pod and its node, or why it has none; neither if it was not its turn any more."""

    entry: QueuedPod
    node_name: str = ""
    why: Failure | None = None
    is_error: bool = False
    #: What was said of every node, if none would do.
    verdict: Verdict | None = None
    #: The plugins that had nothing to say about it, if that was to be noted.
    skipped: frozenset[str] = frozenset()


@dataclass(slots=True)
class GroupResult:
    """What an attempt came to, for a group of pods or a group of groups; `has_placed`, it gave a node to any pod."""

    group: OwnGroup
    status: GroupStatus
    members: list[TriedMember] = field(default_factory=list)
    has_placed: bool = False


#: By the keys of the groups of a tree.
Results = dict[GroupKey, GroupResult]


class GroupTry:
    """Tries one tree of groups, once."""

    def __init__(self, cache: Cache, policy: ActivePolicy, profile: Profile, undo: Undo) -> None:
        self._cache, self._policy, self._profile, self._undo = cache, policy, profile, undo
        self._nominations = policy.field.nominations
        self._extenders = policy.extenders
        self._notes_skipped = False
        #: The plugins that PreFilter got to, for any pod.
        self.prepared: set[str] = set()
        #: How many placements there were to go through; of those gone through, whether each is enough, and seconds.
        self.generated = 0
        self.evaluated: list[tuple[bool, float]] = []

    def as_trial(self) -> GroupTry:
        """Note who has nothing to say: they are not asked again whether everybody still fits."""
        self._notes_skipped = True
        return self

    async def run(self, root: GroupNode) -> Results:
        """Try a tree; its pods stay where they were placed if the root is a success."""
        results: Results = {}
        with self._cache.groups.trying():
            result = await self._try(root, None, results)
        if result.status.is_success and not result.has_placed:
            result.status = unschedulable()
        return results

    async def survey(self, root: GroupNode) -> AsyncIterator[tuple[str, Results]]:
        """Try a tree in every placement, and leave nobody anywhere; give each placement's name and what came of it."""
        placements = self._placements(root, None)
        if isinstance(placements, GroupStatus):
            yield "", {root.key: GroupResult(root.group, placements)}
            return
        for placement in placements:
            results: Results = {}
            with self._cache.groups.trying():
                await self._try_in(root, placement.mask, results)
                self.revert(results)
            yield placement.name, results

    def revert(self, results: Results) -> None:
        """Take everybody off their nodes again, the last first."""
        self.take_off([member for result in results.values() for member in result.members])

    # A group

    async def _try(self, node: GroupNode, within: Mask | None, results: Results) -> GroupResult:
        """Try a group among some rows; where its plugins make placements, in each, and keep the best."""
        placements = self._placements(node, within)
        if isinstance(placements, GroupStatus):
            result = results[node.key] = GroupResult(node.group, placements)
            return result
        if len(placements) == 1 and not self._policy.has_placements:
            return await self._try_in(node, placements[0].mask, results)
        return await self._try_each(node, placements, results)

    def _placements(self, node: GroupNode, within: Mask | None) -> Sequence[GroupPlacement] | GroupStatus:
        generators = self._profile.placement_generate if self._policy.has_placements else ()
        if not generators:
            return (GroupPlacement("", within),)
        found = generators[0].placements(node.group, Nodes(self._cache.table), within)
        if isinstance(found, Rejection):
            return GroupStatus(found.code, found.reasons)
        return found or GroupStatus(Code.UNSCHEDULABLE, ("no feasible placements found",))

    async def _try_in(self, node: GroupNode, within: Mask | None, results: Results) -> GroupResult:
        trier = self._try_pods if isinstance(node.group, PodGroup) else self._try_groups
        result = await trier(node, within, results)
        if not result.status.is_success:
            below = [results[leaf.key] for leaf in node.leaves() if leaf.key in results]
            self.take_off([member for one in below for member in one.members])
            result.has_placed = False
        return result

    async def _try_pods(self, node: GroupNode, within: Mask | None, results: Results) -> GroupResult:
        """Place pod after pod, for as long as it can come to enough."""
        scheduled = len(self._cache.groups.scheduled(node.key))
        progress = GroupProgress(scheduled, len(node.members))
        result = results[node.key] = GroupResult(node.group, self._feasible(node, progress))
        if result.status.code is Code.ERROR:
            return result
        if _is_final(result.status):
            result.status = unschedulable(*result.status.reasons)
            return result
        inputs = self._policy.field if within is None else replace(self._policy.field, within=within)
        for entry in node.members:
            tried = await self._place(entry, inputs)
            result.members.append(tried)
            if tried.is_error and tried.why is not None:
                text = f"failed to schedule other pod from a pod group: {tried.why.message}"
                result.status = GroupStatus(Code.ERROR, (text,))
                return result
            progress = GroupProgress(progress.scheduled + bool(tried.node_name), progress.remaining - 1)
            result.status = self._feasible(node, progress)
            if _is_final(result.status):
                break
            result.has_placed = result.has_placed or bool(tried.node_name)
        result.status = _settled(result.status)
        return result

    async def _try_groups(self, node: GroupNode, within: Mask | None, results: Results) -> GroupResult:
        """Place group after group, for as long as it can come to enough."""
        progress = GroupProgress(0, len(node.children))
        result = GroupResult(node.group, self._feasible(node, progress))
        results[node.key] = result
        if _is_final(result.status):
            return result
        for child in node.children:
            tried = await self._try(child, within, results)
            if tried.status.is_error:
                text = f"composite pod group evaluation failed due to child error: {tried.status.summary}"
                result.status = GroupStatus(Code.ERROR, (text,))
                return result
            result.has_placed = result.has_placed or tried.has_placed
            progress = GroupProgress(progress.scheduled + tried.status.is_success, progress.remaining - 1)
            result.status = self._feasible(node, progress)
            if _is_final(result.status):
                break
        result.status = _settled(result.status)
        return result

    def _feasible(self, node: GroupNode, progress: GroupProgress) -> GroupStatus:
        """Ask whether it is enough; a group that may yet come to enough has a status that says `Pending`."""
        status = SUCCESS
        for plugin in self._profile.placement_feasible:
            answer = plugin.placement_feasible(node.group, progress)
            if isinstance(answer, Rejection):
                return GroupStatus(answer.code, answer.reasons)
            if isinstance(answer, NotYet):
                status = GroupStatus(Code.PENDING, (answer.reason,))
        return status

    # A pod

    async def _place(self, entry: QueuedPod, inputs: ChoiceInputs) -> TriedMember:
        """Count a pod on the best node for it, so that the next one sees it there."""
        pod, cache = entry.pod, self._cache
        shape = cache.table.shape_of(pod)
        result = await scheduling_cycle.choose(inputs, self._profile, pod, shape, self._extenders)
        if isinstance(result, Failed):
            return TriedMember(entry, why=failure.of_failed(result), is_error=result.message != NO_NODES)
        if not isinstance(result, Chosen):
            self.prepared |= result.verdict.prepared
            # No room is made for one pod of a group, and a node that it was nominated to stays so.
            why = failure.of_refused(result, PostFiltered(rejection=Rejection(())))
            return TriedMember(entry, why=why, verdict=result.verdict)
        self.prepared.update(plugin.name for plugin in self._profile.pre_filter)
        skipped = frozenset[str]()
        if self._notes_skipped:
            skipped = scheduling_cycle.find_feasible(inputs, self._profile, pod, shape).kept.filtering.pre.skipped
        return replace(self.put(entry, result.node_name), skipped=skipped)

    def put(self, entry: QueuedPod, node_name: str) -> TriedMember:
        """Count a pod on a node."""
        pod = entry.pod
        rejection = place(self._cache, self._profile, pod, node_name)
        self._nominations.remove(pod)
        if rejection is None:
            return TriedMember(entry, node_name)
        self.take_off([TriedMember(entry, node_name)])
        return TriedMember(entry, why=failure.of_rejection(rejection), is_error=rejection.code is Code.ERROR)

    def take_off(self, members: Sequence[TriedMember]) -> None:
        """Take pods off the nodes that they were counted on, the last first."""
        for member in reversed(members):
            pod = member.entry.pod
            placed = self._cache.placed(pod)
            if member.node_name and placed is not None and placed.is_assumed:
                self._undo(self._profile, pod, member.node_name)
                if pod.status.nominated_node_name:
                    self._nominations.put(pod, pod.status.nominated_node_name)
                    self._nominations.hollow(pod)

    # Placements

    async def _try_each(self, node: GroupNode, placements: Sequence[GroupPlacement], results: Results) -> GroupResult:
        """Try a group in every placement, and place it in the best of those in which it fits."""
        self.generated += len(placements)
        if len(placements) > 1 and self._extenders is None and node.members:
            found_best = await self._try_best(node, placements, results)
            if found_best is not None:
                return found_best
        first: Results = {}
        fitting: list[tuple[GroupPlacement, Results]] = []
        for placement in placements:
            found: Results = {}
            started_ns = self._profile.stopwatch.now_ns()
            result = await self._try_in(node, placement.mask, found)
            self.revert(found)
            if result.status.is_error:
                results.update(found)
                return result
            first = first or found
            self._evaluated([result.status.is_success], started_ns)
            if result.status.is_success:
                fitting.append((placement, found))
        if not fitting:
            results.update(first)
            return self._none_fits(results[node.key], len(placements))
        chosen = self._best(node.group, [PlacedIn(placement, _assignments(found)) for placement, found in fitting])
        best = fitting[chosen][1]
        results.update(best)
        for member in [member for result in best.values() for member in result.members if member.node_name]:
            again = self.put(member.entry, member.node_name)
            if again.why is not None:
                result = results[node.key] = GroupResult(node.group, GroupStatus(Code.ERROR, (again.why.message,)))
                self.take_off([one for result in best.values() for one in result.members])
                return result
        return results[node.key]

    async def _try_best(
        self, node: GroupNode, placements: Sequence[GroupPlacement], results: Results
    ) -> GroupResult | None:
        """Find out what every placement comes to without placing anybody, then try the best; None if that is in doubt.

        If none is enough, the first is tried, so that its pods have something to say.
        """
        pods, started_ns = [member.pod for member in node.members], self._profile.stopwatch.now_ns()
        room = room_by_row(self._policy.field, self._profile, pods) if isinstance(node.group, PodGroup) else None
        if room is None:
            return None
        counts = [min(len(pods), int(room.sum() if one.mask is None else room[one.mask].sum())) for one in placements]
        scheduled = len(self._cache.groups.scheduled(node.key))
        is_enough = [self._feasible(node, GroupProgress(scheduled + count, 0)).is_success and count for count in counts]
        fitting = [
            PlacedIn(one, _as_many(pods, n)) for one, n, ok in zip(placements, counts, is_enough, strict=True) if ok
        ]
        if not fitting:
            result = await self._try_in(node, placements[0].mask, results)
            if result.status.is_success:
                return None
            self._evaluated([False] * len(placements), started_ns)
            return self._none_fits(result, len(placements))
        chosen = fitting[self._best(node.group, fitting)]
        result = await self._try_in(node, chosen.placement.mask, results)
        if sum(bool(one.node_name) for one in result.members) == len(chosen.assignments) and result.status.is_success:
            self._evaluated([bool(one) for one in is_enough], started_ns)
            return result
        self.revert(results)
        return None

    def _evaluated(self, is_enough: Sequence[bool], started_ns: int) -> None:
        """Note placements that were gone through, each with its share of the time."""
        seconds = (self._profile.stopwatch.now_ns() - started_ns) / SECOND_NS / len(is_enough)
        self.evaluated += [(one, seconds) for one in is_enough]

    def _none_fits(self, result: GroupResult, placements: int) -> GroupResult:
        text = f"0/{placements} placements are available, first placement status: {result.status.summary}"
        result.status = result.status if result.status.is_error else unschedulable(text)
        return result

    def _best(self, group: OwnGroup, found: Sequence[PlacedIn]) -> int:
        """Return which placement has the highest score; the tie rule decides between equals."""
        if len(found) == 1:
            return 0
        nodes, total = Nodes(self._cache.table), np.zeros(len(found), dtype=np.int64)
        for plugin, weight in self._profile.placement_score:
            total += np.array(plugin.score_placements(group, nodes, found), dtype=np.int64) * weight
        best = np.flatnonzero(total == total.max())
        return int(best[self._policy.draw(len(best)) if len(best) > 1 else 0])


def _as_many(pods: Sequence[Pod], count: int) -> list[Assignment]:
    """Return so many pods, for alike pods where each goes does not matter."""
    return [Assignment(pod, "") for pod in pods[:count]]


def _assignments(results: Results) -> list[Assignment]:
    """Return where pods go, of groups that are a success."""
    members = [one for result in results.values() if result.status.is_success for one in result.members]
    return [Assignment(one.entry.pod, one.node_name) for one in members if one.node_name]


def _is_final(status: GroupStatus) -> bool:
    """Say whether going on is in vain."""
    return status.code not in (None, Code.PENDING)


def _settled(status: GroupStatus) -> GroupStatus:
    """Return what a status comes to when nobody is left to be tried."""
    return unschedulable(*status.reasons) if status.code is Code.PENDING else status
