"""The devices of the cluster that are allocated, kept up to date claim by claim, and which pools that concerns.

`AllocatedState` over it is what the allocator looks at. Two claims may name the same device for a moment (one as it is
about to be, one as the cluster has it), so devices are counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from stowplan.model.dra import DeviceRequestAllocationResult, ResourceClaim
from stowplan.model.quantity import Quantity

K = TypeVar("K", bound=Hashable)
# Touched pools that are told apart; who has not looked for longer has to look at everything.
REMEMBERED: Final = 1 << 14


class AllocatedDevices:
    """Allocated devices, shares of devices, and what the shares consume."""

    def __init__(self, *, counts_shares: bool = True) -> None:
        self._counts_shares = counts_shares
        self._devices: dict[DeviceId, int] = {}
        self._shares: dict[SharedDeviceId, int] = {}
        self._consumed: dict[DeviceId, dict[str, Quantity]] = {}
        self._of: dict[Hashable, tuple[DeviceRequestAllocationResult, ...]] = {}
        self._touched: list[PoolId] = []
        #: Grows with every pool of which more or less is taken than before.
        self.position = 0
        #: What the allocator looks at; it follows every change.
        self.state = AllocatedState(self._devices.keys(), self._shares.keys(), self._consumed)

    def count(self, holder: Hashable, claim: ResourceClaim | None) -> None:
        """Count what a claim was given, in place of what its holder had before; None gives everything back."""
        allocation = claim.status.allocation if claim is not None else None
        now = allocation.devices.results if allocation is not None else ()
        before = self._of.get(holder, ())
        if now == before:
            return
        for result in _real(now):
            self._add(result, 1)
        for result in _real(before):
            self._add(result, -1)
        if now:
            self._of[holder] = now
        else:
            del self._of[holder]

    def touched_since(self, position: int) -> Sequence[PoolId] | None:
        """Return the pools of which more or less is taken since then, repeats included; None if it is too long ago."""
        behind = self.position - position
        if behind > len(self._touched):
            return None
        return self._touched[len(self._touched) - behind :]

    def _add(self, result: DeviceRequestAllocationResult, change: int) -> None:
        device = DeviceId(result.driver, result.pool, result.device)
        if self._counts_shares and result.share_id is not None:
            share = SharedDeviceId(device, result.share_id)
            if _counted(self._shares, share, change):
                self._consume(device, result, change)
                self._touch(device.pool_id)
        elif _counted(self._devices, device, change):
            self._touch(device.pool_id)

    def _consume(self, device: DeviceId, result: DeviceRequestAllocationResult, change: int) -> None:
        consumed = self._consumed.setdefault(device, {})
        for name, amount in result.consumed_capacity.items():
            known = consumed.get(name, Quantity.zero())
            consumed[name] = known + amount if change > 0 else known - amount
            if consumed[name].is_zero:
                del consumed[name]
        if not consumed:
            del self._consumed[device]

    def _touch(self, pool: PoolId) -> None:
        self._touched.append(pool)
        self.position += 1
        if len(self._touched) > 2 * REMEMBERED:
            del self._touched[:REMEMBERED]


@dataclass(frozen=True, slots=True)
class AllocatedState:
    """What is taken in the whole cluster: devices for themselves, shares of devices, and how much the shares consume.

    The sets are read, never changed nor kept, so they may be live ones.
    """

    devices: AbstractSet[DeviceId] = frozenset()
    shared: AbstractSet[SharedDeviceId] = frozenset()
    consumed: Mapping[DeviceId, Mapping[str, Quantity]] = field(default_factory=dict)


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)


class SharedDeviceId(NamedTuple):
    """One share of a device that allows several allocations."""

    device: DeviceId
    share: str


class PoolId(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


def _real(results: Sequence[DeviceRequestAllocationResult]) -> Iterator[DeviceRequestAllocationResult]:
    """Leave out what was given for administration: that takes a device from nobody."""
    return (result for result in results if not result.admin_access)


def _counted(counts: dict[K, int], key: K, change: int) -> bool:
    """Count one more or less; say whether it was the first, or the last."""
    before = counts.get(key, 0)
    now = counts[key] = before + change
    if not now:
        del counts[key]
    return not (before and now)
