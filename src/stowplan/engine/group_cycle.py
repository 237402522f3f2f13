"""The pod group cycle: a group is checked, tried, helped if it does not fit, and its pods sent on or given back.

    take all --> the same scheduler, priority, preemption policy? --> try (group_attempt.py)
                                                                       |          |
                                  permit each, bind <---- success -----+          +---- unschedulable
                                                                                           |
                        give back, each with its reason <------- PodGroupPostFilter (preemption)

It runs inside one scheduling cycle: nobody else sees the table before all is decided, so two gangs never hold half a
cluster each. The condition PodGroupInitiallyScheduled of the group tells how it went; in the end the queue is told, too
(`queue/groups.py`). Gangs of the community's PodGroup go another way: `gang.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from stowplan.cache.cache import CachedPod
from stowplan.engine import failure
from stowplan.engine.background_tasks import BackgroundTasks
from stowplan.engine.failure import SCHEDULER_ERROR, UNSCHEDULABLE, Failure
from stowplan.engine.group_attempt import (
    GroupResult,
    GroupStatus,
    GroupTry,
    Results,
    TriedMember,
)
from stowplan.engine.group_tree import GroupNode, problem_with, tree_of
from stowplan.engine.group_trial import ClusterTrial
from stowplan.engine.parts import ActivePolicy, SchedulerState
from stowplan.engine.ports import Environment, GangTried, Placed, PlacementsTried
from stowplan.engine.post_filter import Evictor
from stowplan.framework import placing
from stowplan.framework.pod_groups import UNSCHEDULABLE_GROUP, GroupAttempt
from stowplan.framework.post_filter import GroupFiltered, run_group_post_filter
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import OwnGroup, PodGroup
from stowplan.queue.entry import QueuedGroup, QueuedPod
from stowplan.queue.groups import GroupOutcome
from stowplan.table.nodes import Nodes


class GroupFlow(Protocol):
    """What a group needs of the flow."""

    def start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None: ...

    def give_back(self, entry: QueuedPod, why: Failure) -> None: ...

    def undo(self, profile: Profile, pod: Pod, node_name: str) -> CachedPod | None: ...

    def drop(self, pod: Pod, profile: Profile | None) -> None: ...


@dataclass(frozen=True, slots=True)
class GroupTools:
    """What goes on beside the loop for groups."""

    tasks: BackgroundTasks
    evictor: Evictor


class GroupCycle:
    """Places pod groups."""

    def __init__(
        self, state: SchedulerState, policy: ActivePolicy, environment: Environment, tools: GroupTools, flow: GroupFlow
    ) -> None:
        self._state, self._policy, self._environment = state, policy, environment
        self._tools, self._flow = tools, flow

    async def schedule(self, queued: QueuedGroup) -> None:
        """See a group placed or given back, and tell the queue that its attempt is over."""
        outcome = GroupOutcome.FAILED
        try:
            outcome = await self._schedule(queued)
        except Exception as error:
            self._abandon(queued, error)
            raise
        finally:
            self._state.queue.finish_group(queued, outcome, self._environment.now_ns())

    async def _schedule(self, queued: QueuedGroup) -> GroupOutcome:
        groups = self._state.cache.groups
        root = tree_of(groups, queued.key, queued.members)
        problem = f"{queued.key} is gone"
        if root is not None:
            problem = problem_with(root, groups.scheduled(root.key), self._policy)
        profile = self._policy.profiles.get(queued.members[0].pod.spec.scheduler_name)
        if root is None or profile is None or problem:
            self._fail(root, queued, problem)
            return GroupOutcome.FAILED
        if not self._skip(profile, root):
            return GroupOutcome.SCHEDULED
        return await self._run(profile, root, queued.taken_at_ns)

    # Before anybody is tried

    def _fail(self, root: GroupNode | None, queued: QueuedGroup, problem: str) -> None:
        for member in queued.members:
            self._flow.give_back(member, failure.of_error(problem))
        for leaf in root.leaves() if root is not None else ():
            self._tell_group(leaf.group, GroupStatus(Code.ERROR, (problem,)))

    def _skip(self, profile: Profile, root: GroupNode) -> bool:
        """Let pods go that need no node any more; say whether any are left."""
        is_left = False
        for leaf in root.leaves():
            for member in list(leaf.members):
                if member.pod.is_terminating or self._state.cache.placed(member.pod) is not None:
                    leaf.members.remove(member)
                    self._flow.drop(member.pod, profile)
            is_left = is_left or bool(leaf.members)
        return is_left

    # The attempt

    async def _run(self, profile: Profile, root: GroupNode, taken_at_ns: int) -> GroupOutcome:
        attempt = self._try(profile)
        results = await attempt.run(root)
        self._tell_placements(profile, attempt)
        status = results[root.key].status
        _complete(root, results, status)
        filtered = None
        if status.code is Code.UNSCHEDULABLE:
            filtered = await self._post_filter(profile, root, results, frozenset(attempt.prepared))
            _add(results, filtered)
        is_waiting = filtered is not None and filtered.nominated is not None
        for leaf in root.leaves():
            self._submit(profile, results[leaf.key], filtered)
        self._tell(profile, results[root.key].status, taken_at_ns, is_waiting=is_waiting)
        if status.is_success:
            return GroupOutcome.SCHEDULED
        return GroupOutcome.FAILED if status.is_error else GroupOutcome.REFUSED

    def _try(self, profile: Profile) -> GroupTry:
        return GroupTry(self._state.cache, self._policy, profile, self._flow.undo)

    async def _post_filter(
        self, profile: Profile, root: GroupNode, results: Results, prepared: frozenset[str]
    ) -> GroupFiltered:
        """See whether room can be made for the group, and begin to make it."""
        pods = root.pods
        tried = [member for result in results.values() for member in result.members]
        verdicts = {pod_id(one.entry.pod): one.verdict for one in tried if one.verdict is not None}
        tries: list[GroupTry] = []

        def make_try() -> GroupTry:
            tries.append(self._try(profile))
            return tries[-1]

        trial = ClusterTrial(self._state.cache, self._policy, make_try, root)
        nodes = Nodes(self._state.cache.table)
        placed = frozenset(pod_id(one.entry.pod) for one in tried if one.node_name)
        attempt = GroupAttempt(root.group, pods, prepared, trial, verdicts, nodes, placed)
        try:
            filtered = await run_group_post_filter(profile, attempt)
        finally:
            trial.restore()
        for one_try in tries:
            self._tell_placements(profile, one_try)
        self._tools.tasks.start_errands(pods[0], filtered.errands)
        if filtered.nominated is not None and filtered.nominated.victims:
            return await self._tools.evictor.make_room_for_group(root.group, pods, filtered.nominated, filtered)
        return filtered

    # What becomes of the pods

    def _submit(self, profile: Profile, result: GroupResult, filtered: GroupFiltered | None) -> None:
        """Send the pods of a group on to be bound, or give each back with its reason."""
        if result.status.is_success:
            self._bind(profile, [member for member in result.members if member.node_name])
        else:
            for member in result.members:
                if member.node_name:
                    member.why = _why_not(result.status, filtered)
        for member in result.members:
            if member.why is not None:
                self._flow.give_back(member.entry, _nominating(member, result.status, filtered))
        self._tell_group(result.group, result.status)

    def _bind(self, profile: Profile, placed: list[TriedMember]) -> None:
        """Ask whether each may be bound, with all of them counted; if one may not, ask again about the others."""
        held = self._permit(profile, placed)
        if len(held) < len(placed):
            held = self._permit(profile, [member for member in placed if pod_id(member.entry.pod) in held])
        for member in placed:
            pod = member.entry.pod
            if pod_id(pod) in held:
                self._environment.tell(Placed(pod, member.node_name, member.entry.taken_at_ns))
                self._flow.start_binding(profile, member.entry, member.node_name, held[pod_id(pod)])

    def _permit(self, profile: Profile, placed: list[TriedMember]) -> dict[str, dict[str, float]]:
        held: dict[str, dict[str, float]] = {}
        for member in placed:
            pod = member.entry.pod
            answer = placing.run_permit(profile, pod, member.node_name)
            if isinstance(answer, Rejection):
                self._flow.undo(profile, pod, member.node_name)
                member.why = failure.of_rejection(answer)
            else:
                held[pod_id(pod)] = answer
        return held

    def _abandon(self, queued: QueuedGroup, error: Exception) -> None:
        """Leave no pod behind when an attempt breaks off by a fault of our own."""
        for member in queued.members:
            placed = self._state.cache.placed(member.pod)
            if pod_id(member.pod) not in self._state.queue.in_flight.flights:
                continue
            if placed is not None and placed.is_assumed:
                self._state.cache.forget(member.pod)
            self._flow.give_back(member, failure.of_error(f"the attempt of its group broke off: {error!r}"))

    # Telling

    def _tell(self, profile: Profile, status: GroupStatus, taken_at_ns: int, *, is_waiting: bool) -> None:
        result: Literal["scheduled", "unschedulable", "waiting_on_preemption", "error"] = "unschedulable"
        if status.is_success:
            result = "scheduled"
        elif status.is_error:
            result = "error"
        elif is_waiting:
            result = "waiting_on_preemption"
        self._environment.tell(GangTried(profile.name, result, taken_at_ns))

    def _tell_placements(self, profile: Profile, attempt: GroupTry) -> None:
        if attempt.generated:
            self._environment.tell(PlacementsTried(profile.name, attempt.generated, tuple(attempt.evaluated)))

    def _tell_group(self, group: OwnGroup, status: GroupStatus) -> None:
        """Write how it went to the status of a group; that it was scheduled once is not taken back."""
        if not isinstance(group, PodGroup):
            return
        condition = _condition(group, status, self._policy.group_condition)
        known = next((one for one in group.status.conditions if one.type == condition.type), None)
        if known is not None and (
            _is_same(known, condition) or (known.status == "True" and condition.status != "True")
        ):
            return
        others = tuple(one for one in group.status.conditions if one.type != condition.type)
        status_then = msgspec.structs.replace(group.status, conditions=(*others, condition))
        # Counts at once: the next attempt must not take it back before the watch has told of it.
        self._state.cache.groups.put(msgspec.structs.replace(group, status=status_then))
        self._tools.tasks.write_group_status(group, condition)


def _complete(root: GroupNode, results: Results, status: GroupStatus) -> None:
    """Let every pod of a tree have a result; one that was not tried has that of its group, or of the group above."""

    def walk(node: GroupNode, above: GroupStatus) -> None:
        result = results.get(node.key)
        if result is None or (not above.is_success and result.status.is_success):
            result = results[node.key] = GroupResult(node.group, above)
        for entry in node.members[len(result.members) :]:
            # An error is put into words when all is known.
            result.members.append(TriedMember(entry, why=_of_status(result.status)))
        for child in node.children:
            walk(child, result.status)

    walk(root, status)


def _of_status(status: GroupStatus) -> Failure:
    if status.is_error:
        return failure.of_error(status.message)
    return Failure(status.message, reason=UNSCHEDULABLE)


def _add(results: Results, filtered: GroupFiltered) -> None:
    """Add what the plugins said about making room to what is told of the groups."""
    for result in results.values():
        if filtered.error:
            result.status = GroupStatus(Code.ERROR, (filtered.error,))
        else:
            result.status = result.status.and_said(filtered.message)


def _why_not(status: GroupStatus, filtered: GroupFiltered | None) -> Failure:
    """Return why a pod goes back that had a node, in a group that had not enough."""
    if filtered is not None and filtered.nominated is not None:
        return Failure(status.message, reason=UNSCHEDULABLE)
    return Failure(f"{UNSCHEDULABLE_GROUP}, {status.message}", nominated_node_name="", reason=UNSCHEDULABLE)


def _nominating(member: TriedMember, status: GroupStatus, filtered: GroupFiltered | None) -> Failure:
    """Return why a pod goes back: with the error of its group, or to the node where room is made for it."""
    why = member.why or _of_status(status)
    if status.is_error:
        return why if member.is_error else failure.of_error(status.summary)
    node_of = filtered.nominated.node_of if filtered is not None and filtered.nominated is not None else {}
    node_name = node_of.get(pod_id(member.entry.pod))
    return why if node_name is None else msgspec.structs.replace(why, nominated_node_name=node_name)


def _condition(group: PodGroup, status: GroupStatus, condition_type: str) -> Condition:
    if status.is_success:
        outcome, reason = "True", "Scheduled"
    else:
        outcome, reason = "False", SCHEDULER_ERROR if status.is_error else UNSCHEDULABLE
    return Condition(
        type=condition_type,
        status=outcome,
        reason=reason,
        message=status.summary if status.is_error else status.message,
        observed_generation=group.metadata.generation,
    )


def _is_same(known: Condition, condition: Condition) -> bool:
    fields = ("status", "reason", "message", "observed_generation")
    return all(getattr(known, name) == getattr(condition, name) for name in fields)
