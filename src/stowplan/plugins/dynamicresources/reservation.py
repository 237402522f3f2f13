"""What was taken for a pod that has a node: held until it is written, and written before the pod is bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from stowplan.model.dra import AllocationResult, ResourceClaim
from stowplan.model.duration import Duration
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import binding_conditions, extended
from stowplan.plugins.dynamicresources.binding_conditions import TIMED_OUT, BindingError
from stowplan.plugins.dynamicresources.claim_writes import ClaimWrites
from stowplan.plugins.dynamicresources.claims import FINALIZER, is_reserved_for
from stowplan.plugins.dynamicresources.extended import Mappings
from stowplan.plugins.dynamicresources.handle import DevicesHandle
from stowplan.plugins.dynamicresources.node_allocatable import Statuses

PENDING: Final = "BindingConditionsPending"
#: Metrics: allocations of devices that had to be made ready, and how long that took.
ALLOCATIONS: Final = "scheduler_dra_bindingconditions_allocations_total"
WAITS: Final = "scheduler_dra_bindingconditions_wait_duration_seconds"

_SECOND_NS: Final = 1_000_000_000


@dataclass(slots=True)
class Taken:
    """A claim of a pod as it was written last; what it is given, if that is new, and the uid under which it is held."""

    claim: ResourceClaim
    allocation: AllocationResult | None = None
    uid: str = ""

    @property
    def is_made(self) -> bool:
        """Whether it was made for extended resources, and is in memory no more."""
        return bool(extended.pod_behind(self.claim)) and not extended.is_in_memory(self.claim)

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


@dataclass(frozen=True, slots=True)
class Reservation:
    """The claims of a pod, which containers get what of the one for extended resources, and what devices take."""

    taken: Sequence[Taken]
    mappings: Mappings = ()
    node_allocatable: Statuses = ()


class Preparation:
    """Writes what was taken for pods, and waits until their devices are ready."""

    def __init__(self, handle: DevicesHandle, writes: ClaimWrites, timeout: Duration | None) -> None:
        """`timeout` is how long devices may take to get ready; None if nobody waits for that."""
        self._handle = handle
        self._claims = handle.claims
        self._writes = writes
        self._timeout = timeout

    async def prepare(self, pod: Pod, node_name: str, reservation: Reservation) -> None:
        """Make the cluster know what is the pod's. Raise ClaimError or BindingError."""
        for taken in reservation.taken:
            if not is_reserved_for(pod, taken.claim):
                await self._write(pod, taken, reservation.mappings)
        if reservation.node_allocatable:
            await self._writes.note_taken(pod, reservation.node_allocatable)
        claims = [taken.claim for taken in reservation.taken]
        if self._timeout is not None and any(map(binding_conditions.has_any, claims)):
            self._handle.announce(pod, PENDING, f"waiting for binding conditions for device on node {node_name}")
            await self._wait(pod, claims, self._timeout)

    async def _write(self, pod: Pod, taken: Taken, mappings: Mappings) -> None:
        """Write that a claim is the pod's now; from then on the cluster's word counts."""
        if extended.is_in_memory(taken.claim):
            taken.claim = await self._writes.create(taken.claim)
        at = binding_conditions.time_at(self._handle.now_ns()) if self._timeout is not None else None
        taken.claim = await self._writes.give(taken.claim, pod, taken.allocation, at)
        self._claims.settle(taken.uid or taken.claim.uid, taken.claim)
        if taken.is_made:
            await self._writes.name_in(pod, taken.claim, mappings)

    async def _wait(self, pod: Pod, claims: Sequence[ResourceClaim], limit: Duration) -> None:
        """Wait for the devices, and note how long that took and how it ended. Raise BindingError."""
        started_ns, end = self._handle.now_ns(), "error"
        try:
            await self._wait_for(claims, limit)
            end = "success"
        except BindingError as error:
            end = binding_conditions.end_of(error)
            raise
        finally:
            seconds = (self._handle.now_ns() - started_ns) / _SECOND_NS
            for result in binding_conditions.results(claims):
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
                if not binding_conditions.is_ready(current):
                    if binding_conditions.is_late(current, self._handle.now_ns(), limit):
                        raise BindingError(f"{TIMED_OUT}: claim={claim.name}")
                    return False
            return True

        if not await self._handle.news.until(are_ready, limit.seconds):
            raise BindingError(f"{TIMED_OUT}: context deadline exceeded")
