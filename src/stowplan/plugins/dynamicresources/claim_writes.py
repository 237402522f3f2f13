"""What is written about claims: devices given and reserved for a pod, given back, and claims for extended resources.

A write is made for the version that we know. If the cluster has another by then, that one is read and the write tried
again, as long as it still makes sense.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from stowplan.framework.handle import ConflictError
from stowplan.model.dra import AllocationResult, ClaimConsumer, ResourceClaim, ResourceClaimStatus
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.claim_tracker import DevicesHandle
from stowplan.plugins.dynamicresources.extended_resources import Mappings
from stowplan.plugins.dynamicresources.node_allocatable import Statuses

T = TypeVar("T", ResourceClaim, Pod)

#: Keeps a claim from being deleted while its devices are given away.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
MAX_TRIES: Final = 5
CREATES: Final = "dynamic_resource_allocation_resourceclaim_creates_total"
#: Whether it is for an administrator, and the API group and kind of whom it is made for.
_MADE_FOR: Final = ("false", "", "Pod")
# How long to wait for the version that a write did not go with.
WATCH_SECONDS: Final = 5.0


class ClaimWriteError(Exception):
    """A claim cannot be written; the text is upstream's."""


class ClaimWrites:
    """Writes claims through a handle."""

    def __init__(self, handle: DevicesHandle) -> None:
        self._handle = handle
        self._claims = handle.claims

    async def give(
        self, claim: ResourceClaim, consumer: ClaimConsumer, allocation: AllocationResult | None, at: datetime | None
    ) -> ResourceClaim:
        """Reserve a claim, and write what it was given if that is new, and when. Raise ClaimWriteError."""

        async def once(current: ResourceClaim) -> ResourceClaim:
            if current.metadata.deletion_timestamp is not None:
                raise ClaimWriteError(f"claim {current.key} got deleted in the meantime")
            if allocation is not None and current.status.allocation is not None:
                raise ClaimWriteError(f"claim {current.key} got allocated elsewhere in the meantime")
            if allocation is None and current.status.allocation is None:
                raise ClaimWriteError(f"claim {current.key} got deallocated elsewhere in the meantime")
            if allocation is not None:
                current = await self._protect(current)
            given = allocation or current.status.allocation
            consumers = [*current.status.reserved_for, consumer]
            status: dict[str, Any] = {"reservedFor": [_encoded(one) for one in consumers]}
            if given is not None and given.allocation_timestamp is None and at is not None:
                given = msgspec.structs.replace(given, allocation_timestamp=at)
            if given is not None and given is not current.status.allocation:
                status["allocation"] = _encoded(given)
            what = "reservation" if allocation is None else "allocation and reservation"
            return await self._patch(current, {"status": status}, f"add {what} to claim {current.key}", "status")

        return await self._retried(claim, once)

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        """Make a claim that was in memory only, under a name that the cluster gives. Raise ClaimWriteError."""
        metadata = msgspec.structs.replace(claim.metadata, name="", uid="")
        unnamed = msgspec.structs.replace(claim, metadata=metadata, status=ResourceClaimStatus())
        try:
            created: ResourceClaim = await self._handle.writes.create(unnamed)
        except Exception as error:
            self._handle.measures.count(CREATES, "failure", *_MADE_FOR)
            raise ClaimWriteError(f"create claim for extended resources {claim.namespace}/: {error}") from error
        self._handle.measures.count(CREATES, "success", *_MADE_FOR)
        return created

    async def name_in(self, pod: Pod, claim: ResourceClaim, mappings: Mappings) -> None:
        """Write into the status of a pod which claim has its extended resources. Raise ClaimWriteError."""
        if not mappings:
            text = f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
            raise ClaimWriteError(text)
        content = {"resourceClaimName": claim.name, "requestMappings": [_encoded(mapping) for mapping in mappings]}
        await self._note(pod, {"extendedResourceClaimStatus": content}, "update", "ExtendedResourceClaimStatus")

    async def note_taken(self, pod: Pod, statuses: Statuses) -> None:
        """Write into the status of a pod what its devices take of their node; () if nothing. Raise ClaimWriteError."""
        # An empty list is more than a client says that does not know the field.
        patch = {"nodeAllocatableResourceClaimStatuses": [_encoded(status) for status in statuses]}
        await self._note(pod, patch, "updating", "NodeAllocatableResourceClaimStatuses")

    async def _note(self, pod: Pod, status: dict[str, Any], does: str, field: str) -> None:
        # Whatever version the pod has by now: nobody else writes this field.
        unversioned = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, resource_version=""))
        await self._patch(unversioned, {"status": status}, f"{does} pod {pod.key} {field}", "status")

    async def give_back(
        self, pod: Pod, reserved: Sequence[ResourceClaim], made: ResourceClaim | None, has_status: bool
    ) -> None:
        """Take back what was written for a pod that is not going to be bound.

        These are the claims reserved for it, the one made for its extended resources, and what its status says that
        devices take of the node.
        """

        for claim in reserved:
            await self.unreserve(claim, pod.uid)
        if made is not None:
            await self.delete(made)
        if has_status:
            await self.note_taken(pod, ())

    async def unreserve(self, claim: ResourceClaim, consumer_uid: str) -> None:
        """Let a claim be reserved for somebody no longer. Raise ClaimWriteError."""

        async def once(current: ResourceClaim) -> ResourceClaim:
            consumers = current.status.reserved_for
            others = [one for one in consumers if one.uid != consumer_uid]
            if len(others) == len(consumers):
                return current
            patch = {"status": {"reservedFor": [_encoded(one) for one in others] or None}}
            return await self._patch(current, patch, f"unreserve claim {current.key}", "status")

        changed = await self._retried(claim, once)
        self._claims.settle(changed.uid, changed)

    async def deallocate(self, claim: ResourceClaim) -> None:
        """Take back what a claim was given, if it is still as it was when that was decided."""
        patch = {"status": {"allocation": None, "reservedFor": None, "devices": None}}
        await self._patch(claim, patch, f"deallocate claim {claim.key}", "status")

    async def delete(self, claim: ResourceClaim) -> None:
        """Delete a claim that was made for extended resources."""

        async def once(current: ResourceClaim) -> ResourceClaim:
            if FINALIZER not in current.metadata.finalizers:
                return current
            others = [name for name in current.metadata.finalizers if name != FINALIZER]
            patch = {"metadata": {"finalizers": others or None}}
            return await self._patch(current, patch, f"update resourceclaim {current.key}")

        await self._handle.writes.delete(await self._retried(claim, once))

    async def _protect(self, claim: ResourceClaim) -> ResourceClaim:
        if FINALIZER in claim.metadata.finalizers:
            return claim
        patch = {"metadata": {"finalizers": [*claim.metadata.finalizers, FINALIZER]}}
        return await self._patch(claim, patch, f"add finalizer to claim {claim.key}")

    async def _patch(self, found: T, patch: dict[str, Any], what: str, subresource: str = "") -> T:
        try:
            changed: T = await self._handle.writes.patch(found, patch, subresource)
        except ConflictError:
            raise
        except Exception as error:
            raise ClaimWriteError(f"{what}: {error}") from error
        return changed

    async def _retried(
        self, claim: ResourceClaim, once: Callable[[ResourceClaim], Awaitable[ResourceClaim]]
    ) -> ResourceClaim:
        """Try a write, and again with what the cluster has now if that is another version."""
        for _ in range(MAX_TRIES - 1):
            try:
                return await once(claim)
            except ConflictError:
                claim = await self._read_again(claim)
        return await once(claim)

    async def _read_again(self, claim: ResourceClaim) -> ResourceClaim:
        """Wait for the version of a claim that the cluster told us we do not know."""

        def current() -> ResourceClaim | None:
            return self._handle.listers.get(ResourceClaim, claim.namespace, claim.name)

        def is_another() -> bool:
            found = current()
            return found is None or found.metadata.resource_version != claim.metadata.resource_version

        await self._handle.cluster_changes.until(is_another, WATCH_SECONDS)
        found = current()
        if found is None or found.uid != claim.uid:
            gone = f'resourceclaims.resource.k8s.io "{claim.name}" not found'
            raise ClaimWriteError(f"get updated claim {claim.key} after conflict: {gone}")
        return found


def _encoded(value: msgspec.Struct) -> dict[str, object]:
    """Return a part of a claim as it stands in a patch."""
    content: dict[str, object] = msgspec.to_builtins(value, enc_hook=str)
    return content
