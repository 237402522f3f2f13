"""What allocations are decided on: the pools, the classes, and what is taken, each as of now.

A `Ground` is brought up to date before it is used; `Mark` is where it stood at some moment, to tell later what moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from stowplan.config.feature_gates import FeatureGates
from stowplan.framework.handle import Listers
from stowplan.model.device_pool import ResourceSlice, TaintedSlices
from stowplan.model.dra import ResourceClaim
from stowplan.model.duration import Duration
from stowplan.plugins.dynamicresources import extended
from stowplan.plugins.dynamicresources.allocator import Allocator
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.in_flight import InFlight
from stowplan.plugins.dynamicresources.inventory import Inventory
from stowplan.plugins.dynamicresources.node_allocatable import NodeAllocatable
from stowplan.plugins.dynamicresources.search import IsLate, never
from stowplan.plugins.dynamicresources.selection import CelPrograms


@dataclass(frozen=True, slots=True)
class Mark:
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


class Ground:
    """Everything that allocations depend on, but for the node."""

    def __init__(self, listers: Listers, claims: InFlight, gates: FeatureGates, limit: TimeLimit) -> None:
        """`limit` is how long allocating on a node may take."""
        self.features = Features.from_gates(gates)
        #: Starts the time that allocating on one node may take; what it returns says whether that is over.
        self.timer = limit.timer if gates.enabled("DRASchedulerFilterTimeout") else _no_limit
        self.inventory = Inventory((), self.features)
        self.node_allocatable = NodeAllocatable(gates)
        self.mark = Mark()
        #: The class that serves each resource; empty if devices serve no resources at all.
        self.served: dict[str, str] = {}
        self._serves_resources = gates.enabled("DRAExtendedResource")
        self._has_taint_rules = gates.enabled("DRADeviceTaintRules")
        self._tainted = TaintedSlices()
        self._listers = listers
        self._claims = claims
        self._cel = CelPrograms(self.features)

    def refresh(self) -> Mark:
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
        self.mark = Mark(slices, self.mark.classes, self._claims.usage.position)
        return self.mark

    def _slices(self) -> Iterable[ResourceSlice]:
        slices = self._listers.resource_slices()
        return self._tainted.of(slices, list(self._listers.device_taint_rules())) if self._has_taint_rules else slices

    def refresh_classes(self) -> None:
        """Bring up to date which class serves which resource."""
        classes = self._listers.version("DeviceClass") if self._serves_resources else 0
        if classes != self.mark.classes:
            found = self._listers.device_classes() if self._serves_resources else ()
            self.served = extended.classes_by_resource(found)
            self.mark = Mark(self.mark.slices, classes, self.mark.taken)

    def allocator(self, claims: Sequence[ResourceClaim]) -> Allocator:
        """Return who allocates these claims, node by node."""
        return Allocator(claims, self._listers.device_class, self.inventory, self._claims.usage.in_use, self._cel)

    def nodes_touched(self, since: Mark) -> frozenset[str] | None:
        """Return the nodes of whose devices more or less is taken since then; None if any may be."""
        pools = self._claims.usage.touched_since(since.taken)
        if pools is None:
            return None
        homes = {self.inventory.home(pool) for pool in set(pools)}
        return None if None in homes else frozenset(home for home in homes if home is not None)
