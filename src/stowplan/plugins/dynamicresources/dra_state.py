"""What allocations are decided on (pools, classes, allocated devices), and what they came to on each node.

`DRAState` is brought up to date before it is used; a `StateVersion` is where it stood at some moment, to tell later
what moved. What allocating the same requests came to is kept by node and asked again only where something moved. Nodes
are told apart by all that allocation reads of them, which is name, labels, and whether they may leave out operations;
that has a code (`Nodes.coded`), and answers stand in arrays by code. `pod_claims.py` makes rejections and scores of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stowplan.model.device_pool import DeviceTaintRule, ResourceSlice, TaintedSlices
from stowplan.model.dra import DeviceClass, ResourceClaim
from stowplan.model.duration import Duration
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import allocator
from stowplan.plugins.dynamicresources.allocator import Allocator
from stowplan.plugins.dynamicresources.cel_selectors import CelPrograms
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, ClaimRequests, NodeAllocationError
from stowplan.plugins.dynamicresources.claim_tracker import DevicesHandle
from stowplan.plugins.dynamicresources.claims import alike_classes, request_key
from stowplan.plugins.dynamicresources.extended_resources import classes_by_resource
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.node_allocatable import NodeAllocatable
from stowplan.plugins.dynamicresources.pools import Inventory, NodeSelectionError
from stowplan.plugins.dynamicresources.search import SKIPS_OPERATIONS, IsLate, never
from stowplan.table.columns import Codes, Scores
from stowplan.table.nodes import Nodes

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
UNKNOWN, FITS, FIRST_REASON = 0, 1, 2
#: Sets of requests whose allocations are kept; the least recently used go first.
_MOST_KEPT: Final = 64
#: By code: not known, or fits, or the number of a reason.
Verdicts = NDArray[np.int16]


class DRAState:
    """Everything that allocations depend on, but for the node."""

    def __init__(self, handle: DevicesHandle, filter_timeout: Duration | None) -> None:
        """`filter_timeout` is how long allocating on a node may take; there is no limit if it is None or zero."""
        gates = handle.feature_gates
        self.features = Features.from_gates(gates)
        self.inventory = Inventory((), self.features)
        self.node_allocatable = NodeAllocatable(gates)
        self.version = StateVersion()
        #: The class that serves each resource; empty if devices serve no resources at all.
        self.served: dict[str, str] = {}
        # Classes that ask the same of a device: what was found out for one holds for the others.
        self._alike: dict[str, str] = {}
        self._serves_resources = gates.enabled("DRAExtendedResource")
        self._has_taint_rules = gates.enabled("DRADeviceTaintRules")
        self._tainted = TaintedSlices()
        self._limit_ns = 0
        if filter_timeout is not None and gates.enabled("DRASchedulerFilterTimeout"):
            self._limit_ns = filter_timeout.nanoseconds
        self._monotonic_ns = handle.monotonic_ns
        self._listers = handle.listers
        self._claims = handle.claims
        self._cel = CelPrograms(self.features)
        self._kept: OrderedDict[tuple[bytes, ...], NodeAllocations] = OrderedDict()

    def refresh(self) -> StateVersion:
        """Bring everything up to date, and return where it stands. Everything that was read is noted."""
        self._claims.refresh()
        self.refresh_classes()
        slices = self._listers.version("ResourceSlice")
        if self._has_taint_rules:
            # Neither ever goes back, so the sum tells every change of one of them.
            slices += self._listers.version("DeviceTaintRule")
        if slices != self.version.slices:
            found = list(self._slices())
            self.inventory.refresh(found)
            self.node_allocatable.refresh(found)
        self.version = StateVersion(slices, self.version.classes, self._claims.allocated.position)
        return self.version

    def _slices(self) -> Iterable[ResourceSlice]:
        slices = self._listers.list(ResourceSlice)
        return self._tainted.of(slices, list(self._listers.list(DeviceTaintRule))) if self._has_taint_rules else slices

    def refresh_classes(self) -> None:
        """Bring up to date which class serves which resource."""
        classes = self._listers.version("DeviceClass")
        if classes != self.version.classes:
            found = list(self._listers.list(DeviceClass))
            self.served, self._alike = (
                classes_by_resource(found if self._serves_resources else ()),
                alike_classes(found),
            )
            self.version = StateVersion(self.version.slices, classes, self.version.allocated)

    def allocator(self, claims: Sequence[ResourceClaim]) -> Allocator:
        """Return who allocates these claims, node by node."""
        return self.allocator_for(self.requests_of(claims))

    def allocator_for(self, requests: Sequence[ClaimRequests]) -> Allocator:
        """Return who allocates claims that were read before, while classes were as they are."""
        return Allocator(requests, self.inventory, self._claims.allocated.state, self._cel)

    def requests_of(self, claims: Sequence[ResourceClaim]) -> list[ClaimRequests]:
        """Read the requests of claims, with their classes as these are now."""
        find_class = partial(self._listers.get, DeviceClass, "")
        return [ClaimRequests(index, claim, find_class, self.features) for index, claim in enumerate(claims)]

    def allocations(self, claims: Sequence[ResourceClaim]) -> NodeAllocations:
        """Return what allocating claims, or others that request the same, came to on each node."""
        key = request_key(claims, self._alike)
        found = self._kept.pop(key, None) or NodeAllocations(claims, self)
        self._kept[key] = found
        found.named = claims
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        found.refresh()
        return found

    def timer(self) -> IsLate:
        """Start the time that allocating on one node may take; what is returned says whether it is over."""
        if not self._limit_ns:
            return never
        monotonic_ns = self._monotonic_ns
        end_ns = monotonic_ns() + self._limit_ns
        return lambda: monotonic_ns() >= end_ns

    def nodes_touched(self, since: StateVersion) -> frozenset[str] | None:
        """Return the nodes of whose devices more or less is allocated since then; None if any may be."""
        pools = self._claims.allocated.touched_since(since.allocated)
        if pools is None:
            return None
        homes = {self.inventory.home(pool) for pool in set(pools)}
        return None if None in homes else frozenset(home for home in homes if home is not None)


@dataclass(frozen=True, slots=True)
class StateVersion:
    """Versions of the slices and classes, and the position in what is allocated."""

    slices: int = -1
    classes: int = -1
    allocated: int = 0


class NodeAllocations:
    """What allocating one set of requests came to on each node."""

    def __init__(self, claims: Sequence[ResourceClaim], state: DRAState) -> None:
        self.reasons: list[str] = [CANNOT_ALLOCATE]
        self._claims = tuple(claims)
        #: Those that it is asked about now: other names for the same requests, and for classes that are alike.
        self.named: Sequence[ResourceClaim] = self._claims
        self._state = state
        self._version = StateVersion()
        #: As long as the classes are the same.
        self._requests: list[ClaimRequests] | None = None
        self._code_of: Mapping[Any, int] | None = None
        self._verdicts: Verdicts = np.zeros(0, dtype=np.int16)
        self._scores: Scores = np.zeros(0, dtype=np.int64)
        # The codes that are known, by the name of their node, with what it reached then (`Reachable.stamp`).
        self._asked: dict[str, dict[int, tuple[Node, int]]] = {}

    def of(self, nodes: Nodes, wanted: NDArray[np.bool_] | None) -> tuple[Verdicts, Scores]:
        """Return the answers for rows; those that are not wanted may be unknown. Raise AllocationError."""
        codes = self._codes(nodes)
        unknown = self._verdicts[codes] == UNKNOWN
        if wanted is not None:
            unknown &= wanted
        if np.count_nonzero(unknown):
            positions = np.flatnonzero(unknown).tolist()
            try:
                self._ask(nodes, positions, codes)
            except AllocationError:
                # It tells names, which are to be those of the claims at hand.
                self._claims, self._requests = tuple(self.named), None
                self._ask(nodes, positions, codes)
        return self._verdicts[codes], self._scores[codes]

    def refresh(self) -> None:
        """Forget what may not be true any more."""
        before, now = self._version, self._state.version
        if before == now:
            return
        touched = self._state.nodes_touched(before)
        if before.classes != now.classes:
            self._requests = None
        if touched is None or before.classes != now.classes:
            self._verdicts[:] = UNKNOWN
            self._asked.clear()
        else:
            for name in touched:
                self._forget(name)
            if before.slices != now.slices:
                self._forget_restocked()
        self._version = now

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
        if self._requests is None:
            self._requests = self._state.requests_of(self._claims)
        allocate = self._state.allocator_for(self._requests).allocate
        for position in positions:
            node, code = nodes.node(position), int(codes[position])
            try:
                results = allocate(node, self._state.timer())
            except NodeAllocationError as error:
                self._verdicts[code] = self._number(str(error))
            else:
                self._verdicts[code] = self._number(CANNOT_ALLOCATE) if results is None else FITS
                self._scores[code] = 0 if results is None else allocator.score(self._claims, results)
            stamp = self._state.inventory.reachable(node).stamp
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
        for name, known in list(self._asked.items()):
            if any(self._stamp_of(node) != then for node, then in known.values()):
                self._forget(name)

    def _stamp_of(self, node: Node) -> object:
        try:
            return self._state.inventory.reachable(node).stamp
        except NodeSelectionError:
            # It is told when the node is asked for again.
            return None


def node_identity(node: Node) -> tuple[str, tuple[tuple[str, str], ...], bool]:
    """Return all that allocation reads of a node."""
    skips_operations = SKIPS_OPERATIONS in node.status.declared_features
    return node.metadata.name, tuple(sorted(node.metadata.labels.items())), skips_operations
