"""The search for devices on one node: the first that fit, tried in order, one claim and one request after the other.

A device that is tried is counted in until what comes after it turns out impossible; then it is taken back and the next
one is tried. The order decides which devices are given, so it is upstream's: pools, slices and devices as in
`pools.py`, alternatives as listed, and within one request only later devices after earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from stowplan.model.device_pool import DeviceTaint
from stowplan.model.dra import DeviceToleration
from stowplan.model.node import Node
from stowplan.model.quantity import Quantity
from stowplan.plugins.dynamicresources import capacity
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, PoolId
from stowplan.plugins.dynamicresources.capacity import NOTHING, Amounts, CapacityError, CapacityRules
from stowplan.plugins.dynamicresources.cel_selectors import CelError, CelPrograms, with_hint
from stowplan.plugins.dynamicresources.claim_constraints import ClaimConstraint
from stowplan.plugins.dynamicresources.claim_requests import MAX_DEVICES, AllocationError, RequestSpec
from stowplan.plugins.dynamicresources.counters import AvailableCounters, ConsumedCounters
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import DevicePool, NodeSelectionError, OfferedDevice, Reachable

#: What a node declares if its kubelet knows which operations on devices it may leave out.
SKIPS_OPERATIONS: Final = "DRAOptionalNodeOperations"

IsLate = Callable[[], bool]


def never() -> bool:
    """Say that there is always time left."""
    return False


class DeviceSearch:
    """One search on one node. `requests` has, by claim and request, the alternatives."""

    def __init__(self, requests: Sequence[NodeRequests], allocating: AllocatingDevices, is_late: IsLate) -> None:
        """`is_late` says whether the time for this node is over."""
        self._requests = requests
        self._allocating = allocating
        self._is_late = is_late

    def result(self) -> list[list[GivenDevice]] | None:
        """Return, by claim, the devices that are given; None if they do not suffice. Raise AllocationError."""
        trials: list[_Trial] = [self._try(_Position(0))]
        # A trial is started by None and goes on with the outcome of the one that followed it.
        outcome: bool | None = None
        while trials:
            try:
                position = trials[-1].send(outcome)  # type: ignore[arg-type]
            except StopIteration as end:
                outcome = end.value
                trials.pop()
                continue
            if position.claim == len(self._requests):
                return self._allocating.given
            outcome = None
            trials.append(self._try(position))
        return None

    def _try(self, position: _Position) -> _Trial:
        claim, request, alternative, device, _ = position
        requests = self._requests[claim]
        if self._is_late():
            raise AllocationError(f"node {self._allocating.node.name}: timed out trying to allocate devices")
        if request == len(requests):
            yield _Position(claim + 1)
            # Other devices for earlier claims may leave some for alternatives of this one.
            return False
        alternatives = requests[request]
        if alternative < 0 and alternatives[0].spec.sub_request:
            return (yield from self._try_alternatives(position, len(alternatives)))
        wanted = alternatives[max(alternative, 0)]
        if wanted.all_devices is not None and not wanted.all_devices:
            return False
        if device >= wanted.needed:
            return (yield _Position(claim, request + 1))
        if len(self._allocating.given[claim]) + wanted.needed - device > MAX_DEVICES:
            return True
        if wanted.all_devices is not None:
            return (yield from self._try_this(position, wanted.spec, wanted.all_devices[device]))
        return (yield from self._try_each(position, wanted.spec))

    def _try_alternatives(self, position: _Position, count: int) -> _Trial:
        has_too_many = True
        for alternative in range(count):
            # In this order: every alternative has to be tried.
            has_too_many = (yield position._replace(alternative=alternative)) and has_too_many
        return has_too_many

    def _try_this(self, position: _Position, spec: RequestSpec, offered: OfferedDevice) -> _Trial:
        given = self._allocating.give(spec, offered)
        if given is None:
            return False
        has_too_many = yield position._replace(device=position.device + 1)
        self._allocating.take_back(given)
        return has_too_many

    def _try_each(self, position: _Position, spec: RequestSpec) -> _Trial:
        claim, request, alternative, device, start = position
        allocating, devices = self._allocating, self._allocating.reachable.devices
        for index in range(start, len(devices)):
            offered = devices[index]
            if not allocating.is_free(spec, offered) or not allocating.suits(spec, offered):
                continue
            given = allocating.give(spec, offered)
            if given is None:
                continue
            has_too_many = yield _Position(claim, request, alternative, device + 1, index + 1)
            allocating.take_back(given)
            if has_too_many:
                return True
        return False


class NodeRequest(NamedTuple):
    """A request on one node: how many devices it needs there, and which, if it wants all of them."""

    spec: RequestSpec
    needed: int
    all_devices: Sequence[OfferedDevice] | None = None


#: By request of a claim, the alternatives.
NodeRequests = Sequence[Sequence[NodeRequest]]


class _Position(NamedTuple):
    """The device that is looked for next."""

    claim: int
    request: int = 0
    #: -1 as long as none is chosen.
    alternative: int = -1
    device: int = 0
    #: Within a request, where to go on in the list of devices.
    start: int = 0


#: Yields what is looked for next; is sent, and returns, whether a claim would be given too many devices whatever is
#: tried, so that other devices for the same number of them need no trying.
_Trial = Generator[_Position, bool, bool]


class AllocatingDevices:
    """What the claims of a pod hold on a node. `given` has it by claim, in the order in which it was given."""

    def __init__(
        self, context: SearchContext, node: Node, reachable: Reachable, constraints: list[list[ClaimConstraint]]
    ) -> None:
        self.node = node
        self.given: list[list[GivenDevice]] = [[] for _ in constraints]
        self._context = context
        self._allocated = context.allocated
        self._features = context.features
        self.reachable = reachable
        self.constraints = constraints
        self._holders: dict[OfferedDevice, set[int]] = {}
        self._consumed: dict[OfferedDevice, Mapping[str, Quantity]] = {}
        self._counters = ConsumedCounters(context.counters)
        self._pools: dict[PoolId, DevicePool] = {}

    def is_free(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        """Say whether nobody has the device; with admin access, whether this claim does not have it yet."""
        holders = self._holders.get(offered)
        if spec.is_admin:
            return not holders or spec.claim_index not in holders
        return not holders and offered.id not in self._allocated.devices

    def suits(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        """Say whether class and request select a device the node reaches, with enough left. Raise AllocationError."""
        return self._is_selected(spec, offered) and self.has_capacity(spec, offered)

    def is_meant(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        """Say whether a device is among all those that a request stands for. Raise AllocationError."""
        if not self._features.rules.all_means_all:
            return self.suits(spec, offered)
        if not self._is_selected(spec, offered):
            return False
        # Devices of which too little is left are meant, so that the request fails.
        return self._is_left(spec, offered, offered.id.device)

    def _is_selected(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        if offered.device.binding_conditions and not self._features.binding_conditions:
            return False
        verdict = offered.verdicts.get(spec.expressions)
        if verdict is None:
            verdict = offered.verdicts[spec.expressions] = self._select(spec, offered)
        if not verdict or offered.selection is None:
            return verdict
        try:
            return offered.selection.includes(self.node)
        except NodeSelectionError as error:
            raise AllocationError(str(error)) from error

    def has_capacity(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        """Say whether enough of a device is left for a request. Raise AllocationError."""
        taken = self._allocated.consumed.get(offered.id, NOTHING)
        return self._is_left(spec, offered, str(offered.id), taken, self._consumed.get(offered, NOTHING))

    def _is_left(self, spec: RequestSpec, offered: OfferedDevice, called: str, *taken: Amounts) -> bool:
        """Say whether a device has what a request takes besides what is taken; `called` is its name in errors."""
        if not self._features.consumable_capacity:
            return True
        if offered.has_plain_capacity and not spec.capacity and not any(taken):
            return True
        try:
            return self._context.capacity.is_left(offered.device, spec.capacity, *taken)
        except CapacityError as error:
            raise AllocationError(f"{spec.where}: checking capacity for device {called}: {error}") from error

    def give(self, spec: RequestSpec, offered: OfferedDevice) -> GivenDevice | None:
        """Give a device that suits, unless something is in the way. Raise AllocationError.

        Who wants all devices must get this one: a constraint that forbids it is an error.
        """
        has_counters = bool(offered.device.consumes_counters)
        if (has_counters and not self._features.partitionable_devices) or not self._is_served(offered):
            return None
        if spec.wants_all and not self.is_free(spec, offered):
            return None
        is_shared = self._features.consumable_capacity and offered.device.allow_multiple_allocations
        consumed_before = self._consumed.get(offered)
        is_in_shares = is_shared and (consumed_before is not None or self._context.counters.has_shares(offered.id))
        has_consumed = has_counters and not is_in_shares
        if has_consumed and not self._counters.consume(self._pool_of(offered), offered):
            return None
        if not self._is_permitted(spec, offered):
            if has_consumed:
                self._counters.give_back(self._pool_of(offered), offered)
            return None
        consumed = None
        if is_shared:
            consumed = self._context.capacity.consumed(offered.device, spec.capacity)
            self._consumed[offered] = capacity.add(consumed_before or {}, consumed)
        else:
            self._holders.setdefault(offered, set()).add(spec.claim_index)
        given = GivenDevice(spec, offered, consumed, has_consumed, consumed_before)
        self.given[spec.claim_index].append(given)
        return given

    def take_back(self, given: GivenDevice) -> None:
        """Take back the device that was given last."""
        spec, offered = given.spec, given.offered
        self.given[spec.claim_index].pop()
        if given.consumed is None:
            self._holders[offered].discard(spec.claim_index)
        elif given.consumed_before is None:
            del self._consumed[offered]
        else:
            self._consumed[offered] = given.consumed_before
        for constraint in self.constraints[spec.claim_index]:
            constraint.remove(spec)
        if given.has_consumed:
            self._counters.give_back(self._pool_of(offered), offered)

    def _select(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        for index, expression in enumerate(spec.expressions):
            try:
                if not self._context.cel.matches(expression, offered):
                    return False
            except CelError as error:
                origin = f"claim {spec.claim_key}: selector #{index - spec.class_expressions}"
                if index < spec.class_expressions and spec.device_class is not None:
                    origin = f"class {spec.device_class.name}: selector #{index}"
                if error.stage == "runtime" and self._features.rules.errors_name_devices:
                    origin = f"{origin} on device {offered.id}"
                    error = with_hint(error)
                raise AllocationError(f"{origin}: CEL {error.stage} error: {error}") from error
        return True

    def _is_permitted(self, spec: RequestSpec, offered: OfferedDevice) -> bool:
        """Say whether taints, constraints and earlier shares let a request have a device; constraints then count it."""
        if self._features.device_taints and not _are_tolerated(offered.taints, spec.tolerations):
            return False
        constraints = self.constraints[spec.claim_index]
        for added, constraint in enumerate(constraints):
            if constraint.add(spec, offered):
                continue
            for earlier in constraints[:added]:
                earlier.remove(spec)
            if spec.wants_all:
                raise AllocationError(
                    f"{spec.where}: cannot add device {offered.id} because a claim constraint would not be satisfied"
                )
            return False
        # Whoever takes what comes has looked at the capacity already; shares may have been made of all devices since.
        if spec.wants_all and not self.has_capacity(spec, offered):
            for constraint in constraints:
                constraint.remove(spec)
            return False
        return True

    def _is_served(self, offered: OfferedDevice) -> bool:
        """Say whether the node can leave out what need not be done for a device; who does not know, does not ask."""
        if not offered.origin.spec.skip_node_operations or not self._features.is_experimental:
            return True
        return self._features.optional_node_operations and SKIPS_OPERATIONS in self.node.status.declared_features

    def _pool_of(self, offered: OfferedDevice) -> DevicePool:
        if not self._pools:
            self._pools = {pool.id: pool for pool in self.reachable.pools}
        return self._pools[offered.id.pool_id]


@dataclass(frozen=True, slots=True, eq=False)
class GivenDevice:
    """A device that is given to a request. `consumed` is None unless it is a share of the device."""

    spec: RequestSpec
    offered: OfferedDevice
    consumed: Mapping[str, Quantity] | None
    #: Whether it consumes counters of its pool, which have to be given back with it.
    has_consumed: bool
    #: What shares of the device that are given too consume; None if this is the first.
    consumed_before: Mapping[str, Quantity] | None


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What is taken in the cluster, and by which rules devices are chosen."""

    allocated: AllocatedState
    counters: AvailableCounters
    capacity: CapacityRules
    features: Features
    cel: CelPrograms


def _are_tolerated(taints: Sequence[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    return all(any(_tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
