"""Pod groups without a queue: what a library or a command line makes of the pods of one group, and why.

The same attempts as in the live scheduler (`engine/group_attempt.py`, and for gangs of the community's
`engine/gang_attempt.py`), but nobody waits and nobody is evicted: a group that does not fit changes nothing.
`explain_group` tries every placement, and asks what making room would come to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine import binding_cycle, gang_attempt
from stowplan.engine.failure import Chosen, Failed, Refused, Result
from stowplan.engine.gang_attempt import PlacedMember, UnplacedMember
from stowplan.engine.group_attempt import GroupResult, GroupTry, Results, TriedMember
from stowplan.engine.group_tree import GroupNode, problem_with, tree_of
from stowplan.engine.group_trial import ClusterTrial
from stowplan.engine.parts import ActivePolicy
from stowplan.framework.gangs import Gang, gang_of, has_gangs
from stowplan.framework.pod_groups import GroupAttempt, has_groups
from stowplan.framework.post_filter import run_group_post_filter
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict, Vocabulary
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey, PodGroup, community_group, own_group
from stowplan.observe.group_explanation import GroupExplanation, PlacementReport
from stowplan.queue.entry import QueuedPod
from stowplan.table.nodes import Nodes


def condition_of_groups(gates: FeatureGates) -> str:
    """Return the condition of a pod group that tells how its attempts went."""
    return "PodGroupInitiallyScheduled" if gates.changed("PodGroupInitiallyScheduled") else "PodGroupScheduled"


def root_of(cache: Cache, pod: Pod) -> GroupKey | None:
    """Return the group that a pod is placed with: the root of its tree; None if it names none that is known."""
    key = own_group(pod)
    root = cache.groups.tree_of(key) if key is not None else None
    return root.group_key if root is not None else None


def membership(cache: Cache, gates: FeatureGates, profile: Profile, pod: Pod) -> str:
    """Say which group a pod is in, of either flavour, and how that stands; nothing if it is in none that counts."""
    key = own_group(pod) if has_groups(gates) else None
    if key is None:
        key = community_group(pod) if has_gangs(profile) else None
    if key is None:
        return ""
    group = cache.groups.get(key)
    if group is None:
        return f"It is in {key}, which is not there."
    members = cache.groups.members(key)
    placed = sum(cache.placed(one) is not None for one in members)
    needed = max(1, group.spec.min_count)
    verb = "is" if needed == 1 else "are"
    said = f"It is in {key}: {placed} of {len(members)} pods have a node, {needed} {verb} needed."
    root = root_of(cache, pod) if isinstance(group, PodGroup) else None
    return f"{said} That is a part of {root}." if root is not None and root != key else said


def goes_alone(cache: Cache, gates: FeatureGates, profile: Profile, pod: Pod) -> bool:
    """Say whether a pod is tried by itself: for others room is made for their group, or not at all."""
    if own_group(pod) is not None and has_groups(gates):
        return False
    gang = gang_of(profile, pod)
    return gang is None or (isinstance(gang, Gang) and _placed(cache, gang) >= gang.min_member)


def plant(cache: Cache, policy: ActivePolicy, root: GroupKey, pods: Sequence[Pod]) -> GroupNode | str:
    """Return the tree of a group with its pending pods, or why they cannot be tried together."""
    in_order = sorted(enumerate(pods), key=lambda one: (-one[1].priority, one[0]))
    tree = tree_of(cache.groups, root, [QueuedPod(pod, queued_at_ns=turn) for turn, pod in in_order])
    if tree is None:
        return f"{root} is not there"
    return problem_with(tree, cache.groups.scheduled(root), policy) or tree


def _placed(cache: Cache, gang: Gang) -> int:
    return sum(cache.placed(pod) is not None for pod in cache.groups.members(gang.key))


def _held_back(needed: int) -> str:
    return f"is not tried before {needed} of its pods are there"


class GroupDesk:
    """Tries the groups of one cluster."""

    def __init__(self, cache: Cache, policy: ActivePolicy) -> None:
        self._cache, self._policy = cache, policy

    async def schedule(self, root: GroupKey, pods: Sequence[Pod]) -> list[Result]:
        """Place the pods of a group, as many as fit if that is enough; tell of each what came of it."""
        tree = plant(self._cache, self._policy, root, pods)
        if isinstance(tree, str):
            return [Failed(pod, tree) for pod in pods]
        results = await self._try(self._profile(pods)).run(tree)
        status = results[root].status
        tried = [(one, result) for result in results.values() for one in result.members]
        found = {pod_id(one.entry.pod): self._told(one, result) for one, result in tried}
        return [found.get(pod_id(pod)) or self._refused(pod, status.message) for pod in pods]

    # The community's

    def has_enough(self, gang: Gang) -> bool:
        """Say whether so many pods of a gang have a node that the others go by themselves."""
        return _placed(self._cache, gang) >= gang.min_member

    async def schedule_gang(self, gang: Gang, pods: Sequence[Pod]) -> list[Result]:
        """Place the pods of a gang of the community's, as many as fit if that is enough, or none."""
        objection = gang_attempt.objection(self._cache, gang)
        if objection:
            return [self._refused(pod, objection) for pod in pods]
        profile = self._profile(pods)
        attempt = gang_attempt.GangAttempt(self._cache, self._policy, profile, self._undo)
        entries = [QueuedPod(pod, queued_at_ns=turn) for turn, pod in enumerate(pods)]
        tried = [await attempt.place(entry) for entry in sorted(entries, key=lambda entry: -entry.pod.priority)]
        placed = [one for one in tried if isinstance(one, PlacedMember)]
        unplaced = [one for one in tried if isinstance(one, UnplacedMember)]
        if self.has_enough(gang):
            told = [(other.entry, other.why) for other in unplaced]
        else:
            told = gang_attempt.refusals(self._cache, gang, _placed(self._cache, gang), placed, unplaced)
            for member in reversed(placed):
                self._undo(profile, member.entry.pod, member.node_name)
            placed = []
        found: dict[str, Result] = {pod_id(one.entry.pod): self._chosen(one.entry.pod, one.node_name) for one in placed}
        for entry, why in told:
            pod = entry.pod
            found[pod_id(pod)] = self._refused(pod, why.message) if why.is_refusal else Failed(pod, why.message)
        return [found[pod_id(pod)] for pod in pods]

    def _chosen(self, pod: Pod, node_name: str) -> Chosen:
        return Chosen(pod, node_name, self._cache.table.row_of[node_name], 0)

    # Kubernetes' own

    def _told(self, member: TriedMember, result: GroupResult) -> Result:
        pod = member.entry.pod
        if member.node_name and result.status.is_success:
            return self._chosen(pod, member.node_name)
        if member.is_error or result.status.is_error:
            return Failed(pod, member.why.message if member.why is not None else result.status.summary)
        if member.verdict is not None:
            return Refused(pod, member.verdict.fit_error(), member.verdict)
        return self._refused(pod, result.status.message)

    def _refused(self, pod: Pod, message: str) -> Refused:
        names = self._cache.table.names()
        return Refused(pod, message, Verdict(np.zeros(len(names), dtype=np.int32), Vocabulary(), names))

    # Why

    async def explain(self, root: GroupKey, pods: Sequence[Pod]) -> GroupExplanation:
        """Say of every placement how many pods it takes and what is against the next; and who would be evicted."""
        tree = plant(self._cache, self._policy, root, pods)
        if isinstance(tree, str):
            return GroupExplanation(str(root), 0, len(pods), 0, problem=tree)
        profile, scheduled = self._profile(pods), len(self._cache.groups.scheduled(root))
        needed = tree.group.spec.min_count
        if not root.is_composite and len(pods) + scheduled < needed:
            return GroupExplanation(str(root), needed, len(pods), scheduled, problem=_held_back(needed))
        attempt = self._try(profile)
        reports = [self._report(name, results, root) async for name, results in attempt.survey(tree)]
        helped, victims = "", tuple[str, ...]()
        if not any(one.is_enough for one in reports):
            helped, victims = await self._make_room(profile, tree, frozenset(attempt.prepared))
        return GroupExplanation(str(root), needed, len(pods), scheduled, tuple(reports), helped, victims)

    def _report(self, name: str, results: Results, root: GroupKey) -> PlacementReport:
        members = [member for result in results.values() for member in result.members]
        missing = next((one for one in members if one.why is not None), None)
        whole = results[root].status
        why = missing.why.message if missing is not None and missing.why is not None else whole.message
        return PlacementReport(
            name,
            {one.entry.pod.key: one.node_name for one in members if one.node_name},
            is_enough=all(result.status.is_success for result in results.values()),
            missing=missing.entry.pod.key if missing is not None else "",
            why=why,
        )

    async def _make_room(
        self, profile: Profile, tree: GroupNode, prepared: frozenset[str]
    ) -> tuple[str, tuple[str, ...]]:
        trial = ClusterTrial(self._cache, self._policy, lambda: self._try(profile), tree)
        asked = GroupAttempt(tree.group, tree.pods, prepared, trial, {}, Nodes(self._cache.table))
        try:
            filtered = await run_group_post_filter(profile, asked)
        finally:
            trial.restore()
        victims = filtered.nominated.victims if filtered.nominated is not None else ()
        return filtered.error or filtered.message, tuple(victim.key for victim in victims)

    def _try(self, profile: Profile) -> GroupTry:
        return GroupTry(self._cache, self._policy, profile, self._undo)

    def _undo(self, profile: Profile, pod: Pod, node_name: str) -> None:
        binding_cycle.undo(self._cache, profile, pod, node_name)

    def _profile(self, pods: Sequence[Pod]) -> Profile:
        return self._policy.profiles[pods[0].spec.scheduler_name]
