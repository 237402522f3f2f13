"""What is known of a pod's claims before any node is looked at, and what that comes to for every node.

The state that DynamicResources hands from its `pre_filter` to its `filter`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from stowplan.framework.contract import Reject, reject
from stowplan.framework.kept.incremental import Successive
from stowplan.model.dra import ResourceClaim
from stowplan.model.node import Node
from stowplan.model.node_selector import CompiledNodeSelector
from stowplan.plugins.dynamicresources import allocator, node_allocatable
from stowplan.plugins.dynamicresources.claims import request_key
from stowplan.plugins.dynamicresources.ground import Ground, Mark
from stowplan.plugins.dynamicresources.outcomes import FIRST_REASON, FITS, Outcomes
from stowplan.plugins.dynamicresources.pod_claims import PodClaims
from stowplan.table import node_match
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.nodes import Nodes

UNAVAILABLE: Final = "resourceclaim not available on the node"
LEFT_OVER: Final = "cannot schedule extended resource claim"
CANNOT_FIT: Final = "cannot fit resource"

# Sets of requests whose outcomes are kept, the least recently used go first.
KEPT_OUTCOMES: Final = 64


@dataclass(frozen=True, slots=True)
class Given:
    """An allocated claim: the nodes that reach its devices (None: all), and whether its devices cannot get ready."""

    claim: ResourceClaim
    selector: CompiledNodeSelector | None
    has_failed: bool

    def is_missed_by(self, nodes: Nodes) -> Mask:
        """Say which rows cannot use it."""
        return np.ones(len(nodes), dtype=bool) if self.has_failed else self.is_out_of_reach(nodes)

    def is_out_of_reach(self, nodes: Nodes) -> Mask:
        """Say which rows do not reach its devices."""
        if self.selector is None:
            return np.zeros(len(nodes), dtype=bool)
        return ~node_match.selected(self.selector, nodes)


class KeptOutcomes:
    """The outcomes of allocating, by what is requested."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._kept: OrderedDict[tuple[bytes, ...], Outcomes] = OrderedDict()

    def of(self, claims: Sequence[ResourceClaim]) -> Outcomes:
        key = request_key(claims)
        outcomes = self._kept.pop(key, None) or Outcomes(claims, self._ground)
        self._kept[key] = outcomes
        if len(self._kept) > KEPT_OUTCOMES:
            self._kept.popitem(last=False)
        outcomes.bring_up()
        return outcomes


@dataclass(frozen=True, slots=True)
class Prepared(Successive):
    """The claims of a pod, and the ground on which they are allocated as it was when the pod was prepared."""

    claims: PodClaims
    given: tuple[Given, ...]
    ground: Ground
    kept: KeptOutcomes
    mark: Mark

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        """Only nodes of whose devices more or less is taken have changed, as long as all else is the same."""
        is_same = (self.mark.slices, self.mark.classes) == (before.mark.slices, before.mark.classes)
        if not is_same or self.requests != before.requests:
            return None
        touched = self.ground.nodes_touched(before.mark)
        return None if touched is None else np.flatnonzero(nodes.with_names(touched))

    @property
    def requests(self) -> tuple[object, ...]:
        """What is asked for, whatever the claims are called."""
        return request_key(self.claims.own), self.claims.served, self.claims.unserved

    def objections(self, nodes: Nodes) -> Iterator[Reject]:
        """Yield the rows that cannot take the pod, with the reason."""
        asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked.copy()
        if self.claims.is_left_over:
            yield reject(asked, LEFT_OVER, unresolvable=True)
            return
        for name in self.claims.unserved:
            lacks = asked & ~nodes.fact(("lists", name), partial(_lists, name), bool)
            yield reject(lacks, CANNOT_FIT, unresolvable=True)
            asked &= ~lacks
        if self.ground.node_allocatable.is_on:
            for users, reason in self._used_by_others(nodes):
                yield reject(asked & users, reason, unresolvable=True)
                asked &= ~users
        for rows, pending in self._variants(nodes, asked):
            fits = rows.copy()
            for refused in self._unallocated(nodes, rows, pending):
                yield refused
                fits &= ~refused.mask
            for given in self.given:
                missing = fits & given.is_missed_by(nodes)
                yield reject(missing, UNAVAILABLE, unresolvable=True)
                fits &= ~missing

    def _unallocated(self, nodes: Nodes, rows: Mask, pending: Sequence[ResourceClaim]) -> Iterator[Reject]:
        """Yield the rows where claims cannot be allocated, or their devices would take more than the node has."""
        if not pending:
            return
        outcomes = self.kept.of(pending)
        verdicts, _ = outcomes.of(nodes, rows)
        for number, reason in enumerate(outcomes.reasons, FIRST_REASON):
            yield reject(rows & (verdicts == number), reason, unresolvable=True)
        if self.ground.node_allocatable.is_on:
            yield from self._overtaxed(nodes, rows & (verdicts == FITS), pending)

    def _overtaxed(self, nodes: Nodes, rows: Mask, pending: Sequence[ResourceClaim]) -> Iterator[Reject]:
        allocate = self.ground.allocator(pending).allocate
        found = {}
        for position in np.flatnonzero(rows).tolist():
            results = allocate(nodes.node(position), self.ground.timer()) or ()
            given = zip(pending, results, strict=True)
            statuses = self.ground.node_allocatable.taken(self.claims.named, given, self.claims.pod)
            if statuses:
                found[position] = self.ground.node_allocatable.unfit(self.claims.pod, statuses, nodes, position)
        yield from node_allocatable.rejections(found, len(nodes))

    def _used_by_others(self, nodes: Nodes) -> Iterator[tuple[Mask, str]]:
        for given in self.given:
            is_reached = ~given.is_out_of_reach(nodes)
            for users, reason in node_allocatable.shared(given.claim, self.claims.pod, nodes):
                yield is_reached & users, reason

    def scores(self, nodes: Nodes) -> Scores:
        """Return how good the alternatives are that rows would give."""
        asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked
        total = np.zeros(len(nodes), dtype=np.int64)
        given = self.claims.given
        before = allocator.score(given, [claim.status.allocation for claim in given if claim.status.allocation])
        for rows, pending in self._variants(nodes, asked):
            if pending:
                _, scores = self.kept.of(pending).of(nodes, rows)
                np.copyto(total, before + scores, where=rows)
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


def _lists(resource: str, node: Node) -> bool:
    return resource in node.status.allocatable
