"""DynamicResources: find devices for the claims of a pod, keep them for it, and write that down before it is bound."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import (
    MAX_SCORE,
    SKIP,
    Arranged,
    Awaited,
    Errand,
    Filter,
    Normalize,
    PodGroupPostFilter,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    Reject,
    Requeue,
    Reserve,
    Skip,
    Undoable,
    refuse,
)
from stowplan.framework.kept.incremental import TellsApart
from stowplan.framework.pod_groups import GroupArranged, GroupAttempt
from stowplan.framework.verdict import Code, Rejection, WordedError, Words
from stowplan.model import node_selector
from stowplan.model.dra import AllocationResult, DeviceClass, ResourceClaim
from stowplan.model.node_selector import CompiledNodeSelector
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import PodGroup
from stowplan.plugins.dynamicresources import extended_resources, pod_claims, pre_bind
from stowplan.plugins.dynamicresources.arguments import DEFAULT_ARGS, DynamicResourcesArgs
from stowplan.plugins.dynamicresources.claim_tracker import DevicesHandle, SavedClaims
from stowplan.plugins.dynamicresources.claim_writes import ClaimWrites
from stowplan.plugins.dynamicresources.claims import (
    MissingClaimError,
    awaited,
    is_idle_but_for,
    is_reserved_for,
    problem_with_claims,
)
from stowplan.plugins.dynamicresources.dra_state import DRAState
from stowplan.plugins.dynamicresources.group_claims import GroupClaims, MemberHelp
from stowplan.plugins.dynamicresources.node_allocatable import taking_of_node
from stowplan.plugins.dynamicresources.pod_claims import UNAVAILABLE, AllocatedClaim, PodClaims, StateData, signed
from stowplan.plugins.dynamicresources.pre_bind import Allocated, ClaimBinding, Reservation, ReservedClaim
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

NO_CLAIMS: Final = "no new claims to deallocate"
NOT_PREPARED: Final = "not found"
STILL_NOT: Final = "still not schedulable"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
NOT_FOUND: Final = Rejection(("claim allocation not found for node",), Code.ERROR)


class DynamicResources(
    TellsApart,
    PreEnqueue,
    PreFilter,
    Filter,
    PostFilter,
    PodGroupPostFilter,
    Normalize,
    Reserve,
    PreBind,
    Requeue,
    Undoable,
):
    """A pod goes only where all devices that its claims ask for can be had, and gets them there.

    Gates: pods whose claims are missing, being deleted, not made yet, or another pod's; what was made for the group of
        a pod is the pod's, too, with the feature gate DRAWorkloadResourceClaims.
    Rejects: the pod as a whole, for good, if a claim is in use to the full, is just being allocated for another pod, or
        asks for a class that does not exist. Nodes where the devices cannot be allocated, nodes that cannot reach
        devices which were given already, and every node if such devices did not get ready. Always unresolvable.
        Extended resources that a device class serves are asked of devices where the node has not got them itself.
    Scores: the better the alternatives of prioritized lists that a node can give; 0 for pods without claims.
    Preempts: nothing, but devices that were given to the pod, or to nobody, where they are of no use are given back;
        with DRAWorkloadResourceClaims, those of a group that found no place, too, and if there are none, the group
        gives up a claim that it has reserved.
    Reserves: the devices, which the pods of a group that are tried together share if they name the same claim. Claims
        are reserved for the pod; with DRAWorkloadResourceClaims, one that the group has under the same name, of the
        same claim or template, for the group, once and for all of its pods.
    Arguments: `filterTimeout`, how long allocating on a node may take (0: no limit); `bindingTimeout`, how long
        devices may take to get ready.
    Requeued by: a node added, or with other labels or resources; a claim of the pod added or changed, or any that gave
        back its devices or was deleted with some; a device class or resource slice added or changed; the names of the
        pod's claims made known.
    Upstream: pkg/scheduler/framework/plugins/dynamicresources. What PostFilter and Unreserve write is written beside
        the cycle. If the attempt ended before the plugin was prepared, PostFilter fails with "not found". The first pod
        of a group writes what was given to a claim that they share; the others come too late, as upstream, and are
        tried again.
    """

    judges_resizes = False
    args_type = DynamicResourcesArgs
    default_weight = 2
    lists = ("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule")

    def __init__(self, handle: DevicesHandle, args: DynamicResourcesArgs = DEFAULT_ARGS) -> None:
        self._handle = handle
        self._claims = handle.claims
        self._find_listed = partial(handle.listers.get, ResourceClaim)
        self._state = DRAState(handle, args.filter_timeout)
        self._writes = ClaimWrites(handle)
        self._binding_timeout = args.binding_timeout if self._state.features.binding_conditions else None
        self._binding = ClaimBinding(handle, self._writes, self._binding_timeout)
        self._reserved: dict[str, Reservation] = {}
        self._hears_deletions = handle.feature_gates.changed("DeletedClaims")
        #: Whether nothing is said where nothing is given back.
        self._is_silent = handle.feature_gates.changed("SilentDeallocation")
        self._has_placements = handle.feature_gates.enabled("TopologyAwareWorkloadScheduling")

    # Which pods, and what tells them apart

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        in_groups = self._claims.has_group_claims
        problem = problem_with_claims(self._find_listed, pod, in_groups=in_groups) if pod.spec.resource_claims else ""
        return refuse(problem) if problem else None

    def sign(self, pod: Pod) -> Hashable:
        """Pods differ by what their claims ask for or were given, not by what these are called."""
        if not pod.spec.resource_claims and not self._state.served:
            return None
        signature = signed(pod, self._claims, self._has_failed)
        # Without alternatives, claims that have some are refused by name; so are those that take of their node.
        is_nameless = self._state.features.prioritized_list and not self._state.node_allocatable.is_on
        return signature if is_nameless else (signature, pod.uid)

    def events(self) -> tuple[Awaited, ...]:
        in_groups = self._claims.has_group_claims
        return awaited(self._find_listed, hears_deletions=self._hears_deletions, in_groups=in_groups)

    # Which nodes

    def pre_filter(self, pod: Pod, nodes: Nodes) -> StateData | Skip | Rejection:
        try:
            claims = self._resolve(pod, nodes)
        except MissingClaimError as missing:
            return refuse(str(missing))
        if not claims:
            return SKIP
        alternatives = self._state.features.prioritized_list
        find_class = partial(self._handle.listers.get, DeviceClass, "")
        obstacle = pod_claims.obstacle(claims, self._claims, find_class, allows_alternatives=alternatives)
        return refuse(obstacle) if obstacle else self._prepare(claims)

    def filter(self, pod: Pod, nodes: Nodes, state: StateData | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError(NOT_PREPARED)
        yield from (refused for refused in state.rejections(nodes) if np.count_nonzero(refused.mask))

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        # Every pod that is placed changes claims, but seldom whether there are any alternatives.
        if pod.spec.resource_claims and self._state.features.prioritized_list and self._claims.have_alternatives:
            own = pod_claims.usable_claims(pod, self._claims)
            if any(request.first_available for claim in own for request in claim.spec.devices.requests):
                return self._prepare(self._resolve(pod, nodes)).scores(nodes)
        return np.zeros(len(nodes), dtype=np.int64)

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        return scores if high <= 0 else MAX_SCORE * scores // high

    def _resolve(self, pod: Pod, nodes: Nodes) -> PodClaims:
        self._state.refresh_classes()
        if not self._state.served:
            return pod_claims.named_by(pod, self._claims)
        return pod_claims.resolve(pod, self._claims, self._state.served, nodes.incoming(pod).scalar)

    def _prepare(self, claims: PodClaims) -> StateData:
        given = [self._allocated_claim(claim) for claim in claims.given]
        given += [
            AllocatedClaim(claim, _nodes_of(allocation), has_failed=False) for claim, allocation in claims.sharing
        ]
        return StateData(claims, tuple(given), self._state, self._state.refresh())

    def _allocated_claim(self, claim: ResourceClaim) -> AllocatedClaim:
        allocation = claim.status.allocation
        selector = _nodes_of(allocation) if allocation is not None else None
        return AllocatedClaim(claim, selector, self._has_failed(claim))

    def _has_failed(self, claim: ResourceClaim) -> bool:
        """Say whether devices that were given earlier do not get ready."""
        timeout = self._binding_timeout
        return timeout is not None and pre_bind.has_failed(claim, self._handle.now_ns(), timeout)

    # What may help

    def post_filter(self, pod: Pod, attempt: Attempt) -> Arranged | Rejection:
        if attempt.prepared is not None and self.name not in attempt.prepared:
            return Rejection((NOT_PREPARED,), Code.ERROR)
        refused = attempt.verdict.pre_filter
        is_refused = refused is not None and refused.plugin == self.name
        claims = PodClaims(pod) if is_refused else self._resolve(pod, attempt.nodes)
        if not claims:
            return Rejection(() if self._is_silent else (NO_CLAIMS,))
        for claim in self._unavailable(claims.given, attempt):
            if is_idle_but_for(pod, claim):
                return Arranged(Rejection((DEALLOCATED,)), partial(self._writes.deallocate, claim))
        if claims.made is not None and not extended_resources.is_in_memory(claims.made):
            return Arranged(Rejection((DELETED,)), partial(self._writes.delete, claims.made))
        return Rejection(() if self._is_silent else (STILL_NOT,))

    async def pod_group_post_filter(self, attempt: GroupAttempt) -> GroupArranged | Rejection:
        group = attempt.group
        if not isinstance(group, PodGroup) or (self._has_placements and group.spec.scheduling_constraints is not None):
            return Rejection(())
        if self.name not in attempt.prepared:
            return Rejection((NOT_PREPARED,), Code.ERROR)
        failed = []
        for pod in attempt.pods:
            verdict = attempt.verdicts.get(pod_id(pod))
            if verdict is not None and self.name in verdict.prepared:
                failed.append((pod, Attempt(verdict, attempt.nodes, _nothing, verdict.prepared)))
        own = GroupClaims(self._claims, self._writes, self._help_member, self._unavailable_of)
        return own.post_filter(group, attempt, failed)

    def _help_member(self, pod: Pod, attempt: Attempt) -> MemberHelp:
        answer = self.post_filter(pod, attempt)
        if isinstance(answer, Arranged):
            return MemberHelp(True, answer.errand)
        # As upstream: devices that another pod of the group was given in this attempt count as idle. They are free.
        unusable = self._unusable(attempt)
        for claim in pod_claims.usable_claims(pod, self._claims):
            if claim.status.allocation is not None:
                unusable &= ~self._allocated_claim(claim).is_unusable_on(attempt.nodes)
        return MemberHelp(bool(np.count_nonzero(unusable)))

    def _unavailable_of(self, pod: Pod, attempt: Attempt) -> Iterator[ResourceClaim]:
        found = list(pod_claims.usable_claims(pod, self._claims))
        return self._unavailable([claim for claim in found if claim.status.allocation is not None], attempt)

    def _unavailable(self, given: Iterable[ResourceClaim], attempt: Attempt) -> Iterator[ResourceClaim]:
        """Yield the claims of which some node, which would do otherwise, cannot use the devices."""
        rows = self._unusable(attempt)
        for claim in given:
            if np.count_nonzero(rows & self._allocated_claim(claim).is_unusable_on(attempt.nodes)):
                yield claim

    def _unusable(self, attempt: Attempt) -> Mask:
        """Say which nodes would do, but for devices that were given already."""
        verdict = attempt.verdict
        wanting = Rejection((UNAVAILABLE,), Code.UNRESOLVABLE, self.name)
        words = [number for number, said in enumerate(verdict.vocabulary.rejections) if said == wanting]
        rows: Mask = np.isin(verdict.words, words if verdict.pre_filter is None else [])
        return rows

    # What is taken, and given back

    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        if not pod.spec.resource_claims and not self._state.served:
            # Which classes serve resources was found out when the node was looked for.
            return None
        row = self._handle.row_of(node_name)
        claims = self._resolve(pod, row)
        if not claims:
            return None
        allocated = self._allocate(claims, row)
        if allocated is None:
            return NOT_FOUND
        consumers = {claim.uid: claims.consumers.get(name) for name, claim in claims.named}
        taken = [
            ReservedClaim(claim, allocation, claim.uid, consumers.get(claim.uid))
            for claim, allocation in (*zip(allocated.pending, allocated.results, strict=True), *claims.sharing)
        ]
        for one in taken:
            self._claims.hold(one.as_given(), pod.uid)
        given = [ReservedClaim(claim, consumer=consumers[claim.uid]) for claim in claims.given]
        self._reserved[pod.uid] = Reservation([*given, *taken], allocated)
        if self._state.node_allocatable.is_on:
            self._handle.recount(taking_of_node(pod, allocated.node_allocatable))
        return None

    def allocate(self, pod: Pod, node_name: str) -> Allocated | None:
        """Return what a pod would be given on a node; None if its claims do not fit there. Nothing is kept."""
        row = self._handle.row_of(node_name)
        return self._allocate(self._resolve(pod, row), row)

    def _allocate(self, claims: PodClaims, row: Nodes) -> Allocated | None:
        if not len(row):
            return None
        node = row.node(0)
        self._state.refresh()
        pending, mappings = claims.pending(claims.lacking_on(node))
        results = self._state.allocator(pending).allocate(node, self._state.timer()) if pending else ()
        if results is None:
            return None
        given = [*zip(pending, results, strict=True), *claims.sharing]
        taken = self._state.node_allocatable.taken(claims.named, given, claims.pod, node)
        return Allocated(pending, results, mappings, taken)

    def unreserve(self, pod: Pod, node_name: str) -> Errand | None:
        reservation = self._reserved.pop(pod.uid, None)
        made = self._claims.made_for(pod.uid)
        for taken in reservation.claims if reservation is not None else ():
            self._claims.leave(taken.uid, pod.uid)
            if taken.is_made:
                # Nobody else may know of it yet.
                made = taken.claim
        found = list(pod_claims.usable_claims(pod, self._claims))
        reserved = [claim for claim in found if claim.status.allocation is not None and is_reserved_for(pod, claim)]
        has_status = reservation is not None and bool(reservation.allocated.node_allocatable)
        has_status = has_status or any(map(self._state.node_allocatable.is_taken_by, reserved))
        if not reserved and made is None and not has_status:
            return None
        return partial(self._writes.give_back, pod, reserved, made, has_status)

    def save_state(self) -> tuple[dict[str, Reservation], SavedClaims]:
        return dict(self._reserved), self._claims.saved()

    def restore_state(self, saved: tuple[dict[str, Reservation], SavedClaims]) -> None:
        self._reserved, claims = saved
        self._claims.restore(claims)

    # What is written before the pod is bound

    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Skip | None:
        return None if pod.uid in self._reserved else SKIP

    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        reserved = self._reserved.get(pod.uid)
        if reserved is None:
            return None
        await self._binding.prepare(pod, node_name, reserved)
        # What is left to be undone is the cluster's to know.
        self._reserved.pop(pod.uid, None)
        return None


def _nodes_of(allocation: AllocationResult) -> CompiledNodeSelector | None:
    """Return the nodes that reach what was given; None if all do."""
    if allocation.node_selector is None:
        return None
    compiled = node_selector.compile_node_selector(allocation.node_selector)
    if compiled.parse_error is not None:
        raise ValueError(compiled.parse_error)
    return compiled


def _nothing(nodes: Nodes) -> Words:
    """Nobody supposes anything about the nodes of a claim."""
    return np.zeros(len(nodes), dtype=np.int32)
