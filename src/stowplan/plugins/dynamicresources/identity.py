"""The names devices go by, and what of them is taken in the whole cluster."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from stowplan.model.quantity import Quantity


class PoolId(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)


class SharedId(NamedTuple):
    """One share of a device that allows several allocations."""

    driver: str
    pool: str
    device: str
    share: str

    @property
    def device_id(self) -> DeviceId:
        return DeviceId(self.driver, self.pool, self.device)


@dataclass(frozen=True, slots=True)
class InUse:
    """What is taken in the whole cluster: devices for themselves, shares of devices, and how much the shares consume.

    The sets are read, never changed nor kept, so they may be live ones.
    """

    devices: AbstractSet[DeviceId] = frozenset()
    shared: AbstractSet[SharedId] = frozenset()
    consumed: Mapping[DeviceId, Mapping[str, Quantity]] = field(default_factory=dict)
