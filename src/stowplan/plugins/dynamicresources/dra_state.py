"""What allocations are decided on: the pools, the classes, and what is taken, each as of now.

A `Ground` is brought up to date before it is used; `Mark` is where it stood at some moment, to tell later what moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stowplan.config.feature_gates import FeatureGates
from stowplan.framework.handle import Listers
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.device_taint_rules import TaintedSlices
from stowplan.model.dra import ResourceClaim
from stowplan.model.duration import Duration
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import allocator, extended_resources
from stowplan.plugins.dynamicresources.allocator import Allocator
from stowplan.plugins.dynamicresources.cel_selectors import CelPrograms
from stowplan.plugins.dynamicresources.claim_requests import NodeAllocationError
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.inventory import Inventory
from stowplan.plugins.dynamicresources.node_allocatable import NodeAllocatable
from stowplan.plugins.dynamicresources.search import IsLate, never
from stowplan.table.columns import Codes, Scores
from stowplan.table.nodes import Nodes


@dataclass(frozen=True, slots=True)
class StateVersion:
    """Versions of the slices and classes, and the position in what is taken."""

    slices: int = -1
    classes: int = -1
    taken: int = 0


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How long something may take, by a clock that never goes back; there is no limit if it is zero."""

    duration: Duration
    monotonic_ns: Callable[[], int]

    def timer(self) -> IsLate:
        """Start the time; what is returned says whether it is over."""
        if not self.duration:
            return never
        monotonic_ns = self.monotonic_ns
        end_ns = monotonic_ns() + self.duration.nanoseconds
        return lambda: monotonic_ns() >= end_ns


def _no_limit() -> IsLate:
    return never


class DRAState:
    """Everything that allocations depend on, but for the node."""

    def __init__(self, listers: Listers, claims: ClaimTracker, gates: FeatureGates, limit: TimeLimit) -> None:
        """`limit` is how long allocating on a node may take."""
        self.features = Features.from_gates(gates)
        #: Starts the time that allocating on one node may take; what it returns says whether that is over.
        self.timer = limit.timer if gates.enabled("DRASchedulerFilterTimeout") else _no_limit
        self.inventory = Inventory((), self.features)
        self.node_allocatable = NodeAllocatable(gates)
        self.mark = StateVersion()
        #: The class that serves each resource; empty if devices serve no resources at all.
        self.served: dict[str, str] = {}
        self._serves_resources = gates.enabled("DRAExtendedResource")
        self._has_taint_rules = gates.enabled("DRADeviceTaintRules")
        self._tainted = TaintedSlices()
        self._listers = listers
        self._claims = claims
        self._cel = CelPrograms(self.features)

    def refresh(self) -> StateVersion:
        """Bring everything up to date, and return where it stands. Everything that was read is noted."""
        self._claims.refresh()
        self.refresh_classes()
        slices = self._listers.version("ResourceSlice")
        if self._has_taint_rules:
            # Neither ever goes back, so the sum tells every change of one of them.
            slices += self._listers.version("DeviceTaintRule")
        if slices != self.mark.slices:
            found = list(self._slices())
            self.inventory.refresh(found)
            self.node_allocatable.refresh(found)
        self.mark = StateVersion(slices, self.mark.classes, self._claims.usage.position)
        return self.mark

    def _slices(self) -> Iterable[ResourceSlice]:
        slices = self._listers.resource_slices()
        return self._tainted.of(slices, list(self._listers.device_taint_rules())) if self._has_taint_rules else slices

    def refresh_classes(self) -> None:
        """Bring up to date which class serves which resource."""
        classes = self._listers.version("DeviceClass") if self._serves_resources else 0
        if classes != self.mark.classes:
            found = self._listers.device_classes() if self._serves_resources else ()
            self.served = extended_resources.classes_by_resource(found)
            self.mark = StateVersion(self.mark.slices, classes, self.mark.taken)

    def allocator(self, claims: Sequence[ResourceClaim]) -> Allocator:
        """Return who allocates these claims, node by node."""
        return Allocator(claims, self._listers.device_class, self.inventory, self._claims.usage.in_use, self._cel)

    def nodes_touched(self, since: StateVersion) -> frozenset[str] | None:
        """Return the nodes of whose devices more or less is taken since then; None if any may be."""
        pools = self._claims.usage.touched_since(since.taken)
        if pools is None:
            return None
        homes = {self.inventory.home(pool) for pool in set(pools)}
        return None if None in homes else frozenset(home for home in homes if home is not None)


CANNOT_ALLOCATE: Final = "cannot allocate all claims"
UNKNOWN, FITS, FIRST_REASON = 0, 1, 2

#: By code: not known, or fits, or the number of a reason.
Verdicts = NDArray[np.int16]


def node_identity(node: Node) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return all that allocation reads of a node."""
    return node.metadata.name, tuple(sorted(node.metadata.labels.items()))


class NodeAllocations:
    """The answers for one set of requests."""

    def __init__(self, claims: Sequence[ResourceClaim], ground: DRAState) -> None:
        self.reasons: list[str] = [CANNOT_ALLOCATE]
        self._claims = tuple(claims)
        self._ground = ground
        self._mark = StateVersion()
        self._code_of: Mapping[Any, int] | None = None
        self._verdicts: Verdicts = np.zeros(0, dtype=np.int16)
        self._scores: Scores = np.zeros(0, dtype=np.int64)
        # The codes that are known, by the name of their node, with what was true of it then.
        self._asked: dict[str, dict[int, tuple[Node, int]]] = {}

    def of(self, nodes: Nodes, wanted: NDArray[np.bool_] | None) -> tuple[Verdicts, Scores]:
        """Return the answers for rows; those that are not wanted may be unknown. Raise AllocationError."""
        codes = self._codes(nodes)
        unknown = self._verdicts[codes] == UNKNOWN
        if wanted is not None:
            unknown &= wanted
        if np.count_nonzero(unknown):
            self._ask(nodes, np.flatnonzero(unknown).tolist(), codes)
        return self._verdicts[codes], self._scores[codes]

    def bring_up(self) -> None:
        """Forget what may not be true any more."""
        mark, ground = self._mark, self._ground
        if mark == ground.mark:
            return
        touched = ground.nodes_touched(mark)
        if touched is None or mark.classes != ground.mark.classes:
            self._verdicts[:] = UNKNOWN
            self._asked.clear()
        else:
            for name in touched:
                self._forget(name)
            if mark.slices != ground.mark.slices:
                self._forget_restocked()
        self._mark = ground.mark

    def _codes(self, nodes: Nodes) -> Codes:
        coded = nodes.coded("devices", node_identity)
        if coded.code_of is not self._code_of:
            self._code_of = coded.code_of
            self._verdicts, self._scores = self._verdicts[:0], self._scores[:0]
            self._asked.clear()
        missing = len(coded.meanings) - len(self._verdicts)
        if missing > 0:
            self._verdicts = np.append(self._verdicts, np.zeros(missing, dtype=np.int16))
            self._scores = np.append(self._scores, np.zeros(missing, dtype=np.int64))
        return coded.codes

    def _ask(self, nodes: Nodes, positions: list[int], codes: Codes) -> None:
        allocate = self._ground.allocator(self._claims).allocate
        for position in positions:
            node, code = nodes.node(position), int(codes[position])
            try:
                results = allocate(node, self._ground.timer())
            except NodeAllocationError as error:
                self._verdicts[code] = self._number(str(error))
            else:
                self._verdicts[code] = self._number(CANNOT_ALLOCATE) if results is None else FITS
                self._scores[code] = 0 if results is None else allocator.score(self._claims, results)
            stamp = self._ground.inventory.reachable(node).stamp
            self._asked.setdefault(node.metadata.name, {})[code] = (node, stamp)

    def _number(self, reason: str) -> int:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return FIRST_REASON + self.reasons.index(reason)

    def _forget(self, name: str) -> None:
        for code in self._asked.pop(name, ()):
            self._verdicts[code] = UNKNOWN

    def _forget_restocked(self) -> None:
        """Forget the nodes that reach other devices than before."""
        reachable = self._ground.inventory.reachable
        for name, known in list(self._asked.items()):
            if any(reachable(node).stamp != then for node, then in known.values()):
                self._forget(name)
