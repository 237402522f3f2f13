"""The claims of one pod: those it names, the one made for extended resources, and what they come to for every node.

What has to be allocated depends on the node: a resource that the node has itself is not asked of devices there.
`StateData` is what DynamicResources hands from its PreFilter to its Filter, under upstream's name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from stowplan.framework.contract import Reject, reject
from stowplan.framework.kept.incremental import Incremental
from stowplan.model.dra import AllocationResult, ClaimConsumer, ResourceClaim
from stowplan.model.node import Node
from stowplan.model.node_selector import CompiledNodeSelector
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import allocator, extended_resources, node_allocatable
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.plugins.dynamicresources.claims import (
    FindClass,
    MissingClaimError,
    can_be_reserved,
    claims_of,
    is_reserved_for,
    named_claims_of,
    problem_with_requests,
    request_key,
)
from stowplan.plugins.dynamicresources.dra_state import FIRST_REASON, FITS, DRAState, StateVersion
from stowplan.plugins.dynamicresources.extended_resources import Mappings
from stowplan.plugins.dynamicresources.group_consumers import consumers_of
from stowplan.plugins.dynamicresources.search import SKIPS_OPERATIONS
from stowplan.table import node_match
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.nodes import Nodes

UNAVAILABLE: Final = "resourceclaim not available on the node"
LEFT_OVER: Final = "cannot schedule extended resource claim"
CANNOT_FIT: Final = "cannot fit resource"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod as they are now."""

    pod: Pod
    #: The claims that the pod names, each with the name by which containers refer to it.
    named: tuple[tuple[str, ResourceClaim], ...] = ()
    #: The claim for extended resources: in memory, or left from an earlier attempt; None if no device serves any.
    made: ResourceClaim | None = None
    #: Requested resources that a class serves, with that class.
    served: Mapping[str, str] = field(default_factory=dict)
    #: Requested resources that devices might serve, but no class does.
    unserved: tuple[str, ...] = ()
    #: By uid, what claims were just given for other pods that share them.
    shared: Mapping[str, AllocationResult] = field(default_factory=dict)
    #: By the names in the pod, whom claims are reserved for if that is not the pod itself.
    consumers: Mapping[str, ClaimConsumer] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.named) or self.made is not None

    @property
    def own(self) -> tuple[ResourceClaim, ...]:
        return tuple([claim for _, claim in self.named])

    @property
    def given(self) -> list[ResourceClaim]:
        return [claim for _, claim in self.named if claim.status.allocation is not None]

    @property
    def sharing(self) -> list[tuple[ResourceClaim, AllocationResult]]:
        """The claims that other pods were just given, with what they were given."""
        if not self.shared:
            return []
        return [(claim, self.shared[claim.uid]) for _, claim in self.named if claim.uid in self.shared]

    @property
    def is_left_over(self) -> bool:
        """Whether the claim for extended resources is from an earlier attempt: it has to go before the next."""
        return self.made is not None and bool(self.made.spec.devices.requests)

    def pending(self, lacking: Sequence[str]) -> tuple[tuple[ResourceClaim, ...], Mappings]:
        """Return the claims to be allocated on a node that lacks some served resources, and who gets what of them."""
        claims = [claim for _, claim in self.named if claim.status.allocation is None]
        if self.shared:
            claims = [claim for claim in claims if claim.uid not in self.shared]
        if self.made is None or not lacking:
            return tuple(claims), ()
        requests, mappings = extended_resources.requests_of(self.pod, {name: self.served[name] for name in lacking})
        return (*claims, extended_resources.asking_for(self.made, requests)), mappings

    def lacking_on(self, node: Node) -> list[str]:
        """Return the served resources that a node has not got itself."""
        has = node.status.allocatable
        return [name for name in self.served if name not in has or has[name].is_zero]


def resolve(pod: Pod, claims: ClaimTracker, class_of: Mapping[str, str], requested: Mapping[str, int]) -> PodClaims:
    """Find the claims of a pod. Raise MissingClaimError if one cannot be used."""
    found = named_by(pod, claims)
    names = [name for name, amount in requested.items() if amount and extended_resources.may_be_served(name)]
    if not names:
        return found
    served = {name: class_of[name] for name in names if name in class_of}
    if not served:
        return found
    made = claims.made_for(pod.uid) or extended_resources.claim_in_memory(pod)
    unserved = tuple(name for name in names if name not in class_of)
    return replace(found, made=made, served=served, unserved=unserved)


def named_by(pod: Pod, claims: ClaimTracker) -> PodClaims:
    """Find the claims that a pod names, its group's among them. Raise MissingClaimError if one cannot be used."""
    if not pod.spec.resource_claims:
        return PodClaims(pod)
    named = tuple(named_claims_of(claims.find, pod, in_groups=claims.has_group_claims))
    consumers = consumers_of(pod, claims.groups) if claims.has_group_claims else {}
    if not claims.is_shared:
        return PodClaims(pod, named, consumers=consumers)
    on_their_way = [(claim.uid, claims.shared(claim)) for _, claim in named if claim.status.allocation is None]
    shared = {uid: allocation for uid, allocation in on_their_way if allocation is not None}
    return PodClaims(pod, named, shared=shared, consumers=consumers)


def usable_claims(pod: Pod, claims: ClaimTracker) -> Iterator[ResourceClaim]:
    """Yield the claims that a pod names, up to the first that cannot be used."""
    try:
        for _, claim in named_claims_of(claims.find, pod, in_groups=claims.has_group_claims):
            yield claim
    except MissingClaimError:
        return


def obstacle(claims: PodClaims, tracker: ClaimTracker, find_class: FindClass, *, allows_alternatives: bool) -> str:
    """Return why the claims of a pod cannot be had on any node at the moment, "" if they can be tried."""
    for claim in claims.own if claims.made is None else (*claims.own, claims.made):
        if claim.status.allocation is not None:
            if not (can_be_reserved(claim) or is_reserved_for(claims.pod, claim, in_groups=tracker.has_group_claims)):
                return "resourceclaim in use"
        elif claims.shared and claim.uid in claims.shared:
            continue
        elif tracker.is_held(claim):
            return f"resource claim {claim.key} is in the process of being allocated"
        elif claim is not claims.made:
            text = problem_with_requests(claim, find_class, allows_alternatives=allows_alternatives)
            if text:
                return text
    return ""


def signed(pod: Pod, claims: ClaimTracker, has_failed: Callable[[ResourceClaim], bool]) -> Hashable:
    """Return all that decides about the claims of a pod, but for classes and devices; never what they are called."""
    made = claims.made_for(pod.uid)
    try:
        found = claims_of(claims.find, pod, in_groups=claims.has_group_claims)
    except MissingClaimError as missing:
        return str(missing)
    signatures: list[Hashable] = []
    for claim in found:
        asked, allocation, requests = request_key((claim,)), claim.status.allocation, claim.spec.devices.requests
        shared = claims.shared(claim) if claims.is_shared and allocation is None else None
        if allocation is not None:
            is_usable = can_be_reserved(claim) or is_reserved_for(pod, claim, in_groups=claims.has_group_claims)
            given = repr(allocation.node_selector), repr(allocation.devices)
            signatures.append((asked, *given, is_usable, has_failed(claim)))
        elif shared is not None:
            signatures.append((asked, claim.key, repr(shared)))
        else:
            is_plain = all(request.exactly is not None or request.first_available for request in requests)
            # What is said of others names them.
            signatures.append((asked, "" if is_plain and not claims.is_held(claim) else claim.key))
    return made.key if made is not None else None, tuple(signatures)


@dataclass(frozen=True, slots=True)
class StateData(Incremental):
    """The claims of a pod, and what they are allocated from, as of the version when the pod was prepared."""

    claims: PodClaims
    given: tuple[AllocatedClaim, ...]
    state: DRAState
    version: StateVersion

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        """Only nodes of whose devices more or less is taken have changed, as long as all else is the same."""
        is_same = (self.version.slices, self.version.classes) == (before.version.slices, before.version.classes)
        if not is_same or self.requests != before.requests:
            return None
        touched = self.state.nodes_touched(before.version)
        return None if touched is None else np.flatnonzero(nodes.with_names(touched))

    @property
    def requests(self) -> tuple[object, ...]:
        """What is asked for, whatever the claims are called."""
        return request_key(self.claims.own), self.claims.served, self.claims.unserved

    def rejections(self, nodes: Nodes) -> Iterator[Reject]:
        """Yield the rows that cannot take the pod, with the reason."""
        asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked.copy()
        if self.claims.is_left_over:
            yield reject(asked, LEFT_OVER, unresolvable=True)
            return
        for name in self.claims.unserved:
            lacks = asked & ~nodes.fact(("lists", name), partial(_lists, name), bool)
            yield reject(lacks, CANNOT_FIT, unresolvable=True)
            asked &= ~lacks
        if self.state.node_allocatable.is_on:
            for users, reason in self._used_by_others(nodes):
                yield reject(asked & users, reason, unresolvable=True)
                asked &= ~users
        for rows, pending in self._variants(nodes, asked):
            fits = rows.copy()
            for refused in self._left_out(nodes, rows):
                yield refused
                fits &= ~refused.mask
            for refused in self._unallocated(nodes, fits.copy(), pending):
                yield refused
                fits &= ~refused.mask
            for given in self.given:
                missing = fits & given.is_unusable_on(nodes)
                yield reject(missing, UNAVAILABLE, unresolvable=True)
                fits &= ~missing

    def _left_out(self, nodes: Nodes, rows: Mask) -> Iterator[Reject]:
        """Yield the rows that cannot leave out what need not be done for devices that others were just given."""
        for claim, allocation in self.claims.sharing:
            if _leaves_out(allocation):
                lacking = rows & ~nodes.fact("skips operations", _skips_operations, bool)
                text = f"resource claim {claim.key} allocation requires DRAOptionalNodeOperations feature on the node"
                yield reject(lacking, text, unresolvable=True)
                rows = rows & ~lacking

    def _unallocated(self, nodes: Nodes, rows: Mask, pending: Sequence[ResourceClaim]) -> Iterator[Reject]:
        """Yield the rows where claims cannot be allocated, or their devices would take more than the node has."""
        fits = rows
        if pending:
            allocations = self.state.allocations(pending)
            verdicts, _ = allocations.of(nodes, rows)
            for number, reason in enumerate(allocations.reasons, FIRST_REASON):
                yield reject(rows & (verdicts == number), reason, unresolvable=True)
            fits = rows & (verdicts == FITS)
        if self.state.node_allocatable.is_on:
            yield from self._short_of_node_resources(nodes, fits, pending)

    def _short_of_node_resources(self, nodes: Nodes, rows: Mask, pending: Sequence[ResourceClaim]) -> Iterator[Reject]:
        allocate = self.state.allocator(pending).allocate
        found = {}
        for position in np.flatnonzero(rows).tolist():
            node = nodes.node(position)
            results = (allocate(node, self.state.timer()) or ()) if pending else ()
            given = [*zip(pending, results, strict=True), *self.claims.sharing]
            statuses = self.state.node_allocatable.taken(self.claims.named, given, self.claims.pod, node)
            if statuses:
                found[position] = self.state.node_allocatable.unfit(self.claims.pod, statuses, nodes, position)
        yield from node_allocatable.rejections(found, len(nodes))

    def _used_by_others(self, nodes: Nodes) -> Iterator[tuple[Mask, str]]:
        for given in self.given:
            is_reached = ~given.is_out_of_reach(nodes)
            allocation = self.claims.shared.get(given.claim.uid)
            for users, reason in self.state.node_allocatable.shared(given.claim, allocation, self.claims.pod, nodes):
                yield is_reached & users, reason

    def scores(self, nodes: Nodes) -> Scores:
        """Return how good the alternatives are that rows would give."""
        asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked
        total = np.zeros(len(nodes), dtype=np.int64)
        given = [(claim, claim.status.allocation) for claim in self.claims.given if claim.status.allocation]
        given += self.claims.sharing
        before = allocator.score([claim for claim, _ in given], [allocation for _, allocation in given])
        for rows, pending in self._variants(nodes, asked):
            if pending:
                _, scores = self.state.allocations(pending).of(nodes, rows)
                np.copyto(total, before + scores, where=rows)
            elif self.claims.shared:
                np.copyto(total, before, where=rows)
        return total

    def _variants(self, nodes: Nodes, asked: Mask) -> Iterator[tuple[Mask, tuple[ResourceClaim, ...]]]:
        """Yield the rows that lack the same served resources, with what is to be allocated there."""
        names = list(self.claims.served)
        if not names:
            yield asked, self.claims.pending(())[0]
            return
        allocatable = nodes.allocatable
        lacks = np.array([allocatable[nodes.resource(name)] == 0 for name in names])  # (resources, nodes)
        kinds = (lacks * (1 << np.arange(len(names)))[:, None]).sum(axis=0)
        for kind in np.unique(kinds[asked]).tolist():
            lacking = [name for bit, name in enumerate(names) if kind >> bit & 1]
            yield asked & (kinds == kind), self.claims.pending(lacking)[0]


@dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """An allocated claim: the nodes that reach its devices (None: all), and whether its devices cannot get ready."""

    claim: ResourceClaim
    selector: CompiledNodeSelector | None
    has_failed: bool

    def is_unusable_on(self, nodes: Nodes) -> Mask:
        """Say which rows cannot use it."""
        return np.ones(len(nodes), dtype=bool) if self.has_failed else self.is_out_of_reach(nodes)

    def is_out_of_reach(self, nodes: Nodes) -> Mask:
        """Say which rows do not reach its devices, or cannot leave out what need not be done for them."""
        lacking = np.zeros(len(nodes), dtype=bool)
        allocation = self.claim.status.allocation
        if allocation is not None and _leaves_out(allocation):
            lacking = ~nodes.fact("skips operations", _skips_operations, bool)
        return lacking if self.selector is None else lacking | ~node_match.selected(self.selector, nodes)


def _leaves_out(allocation: AllocationResult) -> bool:
    """Say whether some operations need not be done for the devices that were given."""
    return any(result.skip_node_operations for result in allocation.devices.results)


def _skips_operations(node: Node) -> bool:
    return SKIPS_OPERATIONS in node.status.declared_features


def _lists(resource: str, node: Node) -> bool:
    return resource in node.status.allocatable
