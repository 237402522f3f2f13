"""How many devices the ResourceSlices of each node have, and how many of these are allocated to claims.

Devices that several nodes reach are no node's. Slices change seldom; claims with every pod that has any, so what
changed since the last time is looked at alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from stowplan.cache.cache import Cache
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.dra import ResourceClaim
from stowplan.table.journal import Journal

#: The name under which they stand among the resources of a node.
DEVICES: Final = "devices"

_Device = tuple[str, str, str]


class DeviceColumns:
    """Devices by node name, and by row when somebody asks."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._slices_at = self._claims_at = -1
        self._node_of: dict[_Device, str] = {}
        self._has: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._held: dict[tuple[str, str], tuple[str, ...]] = {}
        #: Grows with every change of slices, and with every change at all.
        self.layout = self.revision = 0

    @property
    def has_any(self) -> bool:
        return bool(self._node_of)

    def columns(self) -> tuple[list[int], list[int]]:
        """Return how many each node has, and how many of them are taken."""
        names = self._cache.table.names()
        return [self._has[name] for name in names], [self._taken[name] for name in names]

    def of(self, node: str) -> tuple[int, int]:
        """Return how many one node has, and how many of them are taken."""
        return self._has[node], self._taken[node]

    def bring_up(self, journal: Journal) -> None:
        """Take over what has changed, and mark the rows of which more or less is taken."""
        objects = self._cache.objects
        slices, claims = objects.version(ResourceSlice.__name__), objects.version(ResourceClaim.__name__)
        if slices != self._slices_at:
            self._slices_at, self._claims_at = slices, claims
            self._read_slices()
            journal.mark_all()
        elif claims != self._claims_at:
            changed = objects.changed(ResourceClaim.__name__, self._claims_at)
            self._claims_at = claims
            if changed is None:
                self._read_claims()
                journal.mark_all()
            else:
                for row in self._recount(set(changed)):
                    journal.mark(row)

    def _read_slices(self) -> None:
        had_any = self.has_any
        self._node_of = {
            (found.spec.driver, found.spec.pool.name, device.name): found.spec.node_name
            for found in self._cache.objects.list(ResourceSlice)
            if found.spec.node_name
            for device in found.spec.devices
        }
        self._has = Counter(self._node_of.values())
        self._read_claims()
        if had_any or self.has_any:
            self.layout += 1

    def _read_claims(self) -> None:
        self._held, self._taken = {}, Counter()
        if self.has_any:
            self._recount(
                (one.metadata.namespace, one.metadata.name) for one in self._cache.objects.list(ResourceClaim)
            )
        self.revision += 1

    def _recount(self, keys: Iterable[tuple[str, str]]) -> list[int]:
        touched: set[str] = set()
        for key in keys if self.has_any else ():
            before = self._held.pop(key, ())
            held = self._devices_of(self._cache.objects.get(ResourceClaim, *key))
            if held:
                self._held[key] = held
            self._taken.subtract(before)
            self._taken.update(held)
            if held != before:
                touched.update(before, held)
        self.revision += bool(touched)
        row_of = self._cache.table.row_of
        return [row_of[name] for name in touched if name in row_of]

    def _devices_of(self, claim: ResourceClaim | None) -> tuple[str, ...]:
        """Return the node of each device that a claim has, and that is a node's own."""
        allocation = claim.status.allocation if claim is not None else None
        if allocation is None:
            return ()
        given = {(one.driver, one.pool, one.device) for one in allocation.devices.results if not one.admin_access}
        return tuple(sorted(self._node_of[device] for device in given if device in self._node_of))
