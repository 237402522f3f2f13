"""What PreBind does: the claims reserved for a pod are written, and binding conditions of its devices are waited for.

Devices may have to be made ready before a pod can be bound. Their driver reports in the status of the claim; a
condition that says it failed ends the waiting, and so does the time since the devices were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Final

import msgspec

from stowplan.model.dra import AllocationResult, ClaimConsumer, DeviceRequestAllocationResult, ResourceClaim
from stowplan.model.duration import Duration
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import extended_resources
from stowplan.plugins.dynamicresources.claim_tracker import DevicesHandle
from stowplan.plugins.dynamicresources.claim_writes import FINALIZER, ClaimWrites
from stowplan.plugins.dynamicresources.claims import consumer_of, is_reserved_for
from stowplan.plugins.dynamicresources.extended_resources import Mappings
from stowplan.plugins.dynamicresources.node_allocatable import Statuses

PENDING: Final = "BindingConditionsPending"
#: Metrics: allocations of devices that had to be made ready, and how long that took.
ALLOCATIONS: Final = "scheduler_dra_bindingconditions_allocations_total"
WAITS: Final = "scheduler_dra_bindingconditions_wait_duration_seconds"
_SECOND_NS: Final = 1_000_000_000


class ClaimBinding:
    """Writes what is reserved for pods, and waits until their devices are ready."""

    def __init__(self, handle: DevicesHandle, writes: ClaimWrites, timeout: Duration | None) -> None:
        """`timeout` is how long devices may take to get ready; None if nobody waits for that."""
        self._handle = handle
        self._claims = handle.claims
        self._writes = writes
        self._timeout = timeout

    async def prepare(self, pod: Pod, node_name: str, reservation: Reservation) -> None:
        """Make the cluster know what is the pod's. Raise ClaimWriteError or BindingError."""
        for reserved in reservation.claims:
            if not is_reserved_for(pod, reserved.claim, in_groups=self._claims.has_group_claims):
                await self._write(pod, reserved, reservation.allocated.mappings)
        if reservation.allocated.node_allocatable:
            await self._writes.note_taken(pod, reservation.allocated.node_allocatable)
        claims = [reserved.claim for reserved in reservation.claims]
        if self._timeout is not None and any(map(has_binding_conditions, claims)):
            self._handle.announce(pod, PENDING, f"waiting for binding conditions for device on node {node_name}")
            await self._wait(pod, claims, self._timeout)
        for reserved in reservation.claims:
            self._claims.release(reserved.uid)

    async def _write(self, pod: Pod, reserved: ReservedClaim, mappings: Mappings) -> None:
        """Write that a claim is the pod's now; from then on the cluster's word counts."""
        if extended_resources.is_in_memory(reserved.claim):
            reserved.claim = await self._writes.create(reserved.claim)
        # As it stands in an allocation: whole seconds.
        now = datetime.fromtimestamp(self._handle.now_ns() // _SECOND_NS, UTC)
        at = now if self._timeout is not None else None
        consumer = reserved.consumer or consumer_of(pod)
        reserved.claim = await self._writes.give(reserved.claim, consumer, reserved.allocation, at)
        self._claims.settle(reserved.uid or reserved.claim.uid, reserved.claim)
        if reserved.is_made:
            await self._writes.name_in(pod, reserved.claim, mappings)

    async def _wait(self, pod: Pod, claims: Sequence[ResourceClaim], limit: Duration) -> None:
        """Wait for the devices, and note how long that took and how it ended. Raise BindingError."""
        started_ns, end = self._handle.now_ns(), "error"
        try:
            await self._wait_for(claims, limit)
            end = "success"
        except BindingError as error:
            end = error.end
            raise
        finally:
            seconds = (self._handle.now_ns() - started_ns) / _SECOND_NS
            for result in chain.from_iterable(map(_results, claims)):
                labels = (pod.spec.scheduler_name, result.driver, end)
                self._handle.measures.time(WAITS, seconds, *labels)
                if result.binding_conditions:
                    self._handle.measures.count(ALLOCATIONS, *labels)

    async def _wait_for(self, claims: Sequence[ResourceClaim], limit: Duration) -> None:
        """Wait until the drivers have made all devices ready. Raise BindingError if they do not."""

        def are_ready() -> bool:
            for claim in claims:
                current = self._claims.find(claim.namespace, claim.name)
                if current is None:
                    raise BindingError(f'could not find ResourceClaim "{claim.key}"')
                if not is_ready(current):
                    if is_late(current, self._handle.now_ns(), limit):
                        raise BindingError(f"device binding timeout: claim={claim.name}", "timeout")
                    return False
            return True

        if not await self._handle.cluster_changes.until(are_ready, limit.seconds):
            raise BindingError("device binding timeout: context deadline exceeded", "timeout")


@dataclass(frozen=True, slots=True)
class Reservation:
    """The claims of a pod that has a node, and what that node gave it."""

    claims: Sequence[ReservedClaim]
    allocated: Allocated


@dataclass(slots=True)
class ReservedClaim:
    """A claim of a pod as it was written last.

    `allocation` is what it is given, if that is new, `uid` under which it is held, `consumer` whom it is reserved for
    if that is not the pod.
    """

    claim: ResourceClaim
    allocation: AllocationResult | None = None
    uid: str = ""
    consumer: ClaimConsumer | None = None

    @property
    def is_made(self) -> bool:
        """Whether it was made for extended resources, and is in memory no more."""
        return bool(extended_resources.pod_behind(self.claim)) and not extended_resources.is_in_memory(self.claim)

    def as_given(self) -> ResourceClaim:
        """Return the claim as it is going to be."""
        claim = self.claim
        finalizers = (*(name for name in claim.metadata.finalizers if name != FINALIZER), FINALIZER)
        metadata = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
        status = msgspec.structs.replace(claim.status, allocation=self.allocation)
        return msgspec.structs.replace(claim, metadata=metadata, status=status)


@dataclass(frozen=True, slots=True)
class Allocated:
    """The claims that a node would have to give a pod, what each would be given, and which containers get what."""

    pending: Sequence[ResourceClaim]
    results: Sequence[AllocationResult]
    mappings: Mappings = ()
    #: What the devices take of the node's own resources.
    node_allocatable: Statuses = ()


class BindingError(Exception):
    """The devices of a claim do not get ready; `end` is upstream's word for how the waiting ended."""

    def __init__(self, text: str, end: str = "error") -> None:
        super().__init__(text)
        self.end = end


def has_binding_conditions(claim: ResourceClaim) -> bool:
    """Say whether some device of the claim has to be made ready."""
    return any(result.binding_conditions for result in _results(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """Say whether all devices of an allocated claim are ready. Raise BindingError if one cannot be made so."""
    if claim.status.allocation is None:
        return False
    for result in _results(claim):
        if not result.binding_conditions:
            continue
        reported = _conditions(claim, result)
        failed = [reported[name] for name in result.binding_failure_conditions if _is_true(reported.get(name))]
        if failed:
            said = f'claim={claim.name}, reason={failed[0].reason}, message="{failed[0].message}"'
            raise BindingError(f"device binding failed: {said}", "failure")
        if not all(_is_true(reported.get(name)) for name in result.binding_conditions):
            return False
    return True


def is_late(claim: ResourceClaim, now_ns: int, timeout: Duration) -> bool:
    """Say whether devices that have to be made ready were given too long ago."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None or not has_binding_conditions(claim):
        return False
    given_ns = round(allocation.allocation_timestamp.timestamp() * _SECOND_NS)
    return given_ns + timeout.nanoseconds < now_ns


def has_failed(claim: ResourceClaim, now_ns: int, timeout: Duration) -> bool:
    """Say whether there is no point in waiting for the devices of a claim any longer."""
    try:
        return not is_ready(claim) and is_late(claim, now_ns, timeout)
    except BindingError:
        return True


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None else ()


def _conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, Condition]:
    """Return what the driver reports about a device, by type."""
    for report in claim.status.devices:
        if (report.driver, report.pool, report.device) == (result.driver, result.pool, result.device):
            return {condition.type: condition for condition in report.conditions}
    return {}


def _is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "True"
