"""The devices that claims hold while a search goes on: may a device be given to an ask, give it, take it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stowplan.model.node import Node
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources import capacity
from stowplan.plugins.dynamicresources.asks import AllocationError, Ask
from stowplan.plugins.dynamicresources.constraints import Constraint
from stowplan.plugins.dynamicresources.counters import Counters, Drawn
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.identity import InUse, PoolId
from stowplan.plugins.dynamicresources.inventory import Reachable
from stowplan.plugins.dynamicresources.pools import OfferedDevice, Pool
from stowplan.plugins.dynamicresources.selection import CelError, CelPrograms
from stowplan.plugins.dynamicresources.taints import is_tolerated

_NOTHING: Mapping[str, Quantity] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A device that is given to an ask. `consumed` is None unless it is a share of the device."""

    ask: Ask
    offered: OfferedDevice
    consumed: Mapping[str, Quantity] | None
    has_drawn: bool
    #: What shares of the device that are given too consume; None if this is the first.
    consumed_before: Mapping[str, Quantity] | None


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is taken in the cluster, and by which rules devices are chosen."""

    in_use: InUse
    counters: Counters
    features: Features
    cel: CelPrograms


class Holding:
    """What the claims of a pod hold on a node. `given` has it by claim, in the order in which it was given."""

    def __init__(self, cluster: Cluster, node: Node, reachable: Reachable, constraints: list[list[Constraint]]) -> None:
        self.node = node
        self.given: list[list[Given]] = [[] for _ in constraints]
        self._cluster = cluster
        self._in_use = cluster.in_use
        self._features = cluster.features
        self._reachable = reachable
        self.constraints = constraints
        self._holders: dict[OfferedDevice, set[int]] = {}
        self._consumed: dict[OfferedDevice, Mapping[str, Quantity]] = {}
        self._drawn = Drawn(cluster.counters)
        self._pools: dict[PoolId, Pool] = {}

    def is_free(self, ask: Ask, offered: OfferedDevice) -> bool:
        """Say whether nobody has the device; with admin access, whether this claim does not have it yet."""
        holders = self._holders.get(offered)
        if ask.is_admin:
            return not holders or ask.claim_index not in holders
        return not holders and offered.id not in self._in_use.devices

    def suits(self, ask: Ask, offered: OfferedDevice) -> bool:
        """Say whether a device is of the kind that is asked for, and large enough. Raise AllocationError."""
        return self.is_selected(ask, offered) and self.has_capacity(ask, offered)

    def is_selected(self, ask: Ask, offered: OfferedDevice) -> bool:
        """Say whether class and request select a device that the node can reach. Raise AllocationError."""
        if offered.device.binding_conditions and not self._features.binding_conditions:
            return False
        verdict = offered.verdicts.get(ask.expressions)
        if verdict is None:
            verdict = offered.verdicts[ask.expressions] = self._select(ask, offered)
        return verdict and (offered.reach is None or offered.reach.includes(self.node))

    def has_capacity(self, ask: Ask, offered: OfferedDevice) -> bool:
        """Say whether enough of a device is left for an ask."""
        if not self._features.consumable_capacity:
            return True
        taken = self._in_use.consumed.get(offered.id, _NOTHING)
        if offered.has_plain_capacity and not ask.capacity and not taken:
            return True
        return capacity.is_left(offered.device, ask.capacity, taken, self._consumed.get(offered, _NOTHING))

    def give(self, ask: Ask, offered: OfferedDevice) -> Given | None:
        """Give a device that suits, unless something is in the way. Raise AllocationError.

        Who wants all devices must get this one: a constraint that forbids it is an error.
        """
        draws = bool(offered.device.consumes_counters)
        if (draws and not self._features.partitionable_devices) or (ask.wants_all and not self.is_free(ask, offered)):
            return None
        is_shared = self._features.consumable_capacity and offered.device.allow_multiple_allocations
        consumed_before = self._consumed.get(offered)
        is_in_shares = is_shared and (consumed_before is not None or offered.id in self._in_use.consumed)
        has_drawn = draws and not is_in_shares
        if has_drawn and not self._drawn.draw(self._pool_of(offered), offered):
            return None
        if not self._is_permitted(ask, offered):
            if has_drawn:
                self._drawn.give_back(self._pool_of(offered), offered)
            return None
        consumed = None
        if is_shared:
            consumed = capacity.consumed(offered.device, ask.capacity)
            self._consumed[offered] = capacity.add(consumed_before or {}, consumed)
        else:
            self._holders.setdefault(offered, set()).add(ask.claim_index)
        given = Given(ask, offered, consumed, has_drawn, consumed_before)
        self.given[ask.claim_index].append(given)
        return given

    def take_back(self, given: Given) -> None:
        """Take back the device that was given last."""
        ask, offered = given.ask, given.offered
        self.given[ask.claim_index].pop()
        if given.consumed is None:
            self._holders[offered].discard(ask.claim_index)
        elif given.consumed_before is None:
            del self._consumed[offered]
        else:
            self._consumed[offered] = given.consumed_before
        for constraint in self.constraints[ask.claim_index]:
            constraint.remove(ask.request, ask.sub_request)
        if given.has_drawn:
            self._drawn.give_back(self._pool_of(offered), offered)

    def _select(self, ask: Ask, offered: OfferedDevice) -> bool:
        for index, expression in enumerate(ask.expressions):
            try:
                if not self._cluster.cel.matches(expression, offered):
                    return False
            except CelError as error:
                raise AllocationError(f"{_origin(ask, index)}: CEL {error.stage} error: {error}") from error
        return True

    def _is_permitted(self, ask: Ask, offered: OfferedDevice) -> bool:
        """Say whether taints, constraints and earlier shares let an ask have a device; constraints then count it in."""
        if self._features.device_taints and not all(is_tolerated(taint, ask.tolerations) for taint in offered.taints):
            return False
        constraints = self.constraints[ask.claim_index]
        for added, constraint in enumerate(constraints):
            if constraint.add(ask.request, ask.sub_request, offered):
                continue
            for earlier in constraints[:added]:
                earlier.remove(ask.request, ask.sub_request)
            if ask.wants_all:
                raise AllocationError(
                    f"claim {ask.claim}, request {ask.own_name}: cannot add device {offered.id}"
                    " because a claim constraint would not be satisfied"
                )
            return False
        # Whoever takes what comes has looked at the capacity already; shares may have been made of all devices since.
        if ask.wants_all and not self.has_capacity(ask, offered):
            for constraint in constraints:
                constraint.remove(ask.request, ask.sub_request)
            return False
        return True

    def _pool_of(self, offered: OfferedDevice) -> Pool:
        if not self._pools:
            self._pools = {pool.id: pool for pool in self._reachable.pools}
        return self._pools[offered.id.pool_id]


def _origin(ask: Ask, index: int) -> str:
    """Say where the expression of that number stands."""
    if index < ask.class_expressions and ask.device_class is not None:
        return f"class {ask.device_class.name}: selector #{index}"
    return f"claim {ask.claim}: selector #{index - ask.class_expressions}"
