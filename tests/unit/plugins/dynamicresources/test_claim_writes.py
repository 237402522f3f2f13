"""What is written about claims, and what happens if the cluster has another version by then."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from stowplan.framework.handle import ConflictError
from stowplan.model import decode
from stowplan.model.dra import AllocationResult, ResourceClaim
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import extended_resources
from stowplan.plugins.dynamicresources.claim_writes import ClaimWriteError, ClaimWrites
from stowplan.plugins.dynamicresources.claims import consumer_of
from stowplan.testing import LocalHandle
from tests.unit.plugins.dynamicresources.claim_objects import claim, given, user_of

CREATES = "dynamic_resource_allocation_resourceclaim_creates_total"

T = TypeVar("T")

FINALIZER = "resource.kubernetes.io/delete-protection"
D1 = decode.convert(AllocationResult, given("n", "d1"))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
POD = user_of("claim")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Touchy(LocalHandle):
    """A cluster in which objects get new versions, and in which some writes come too late or fail."""

    def __init__(self, *objects: Any) -> None:
        super().__init__(*objects)
        #: What comes between before a write: another version of the claim, an error, or nothing.
        self.between: list[Any] = []

    async def patch(self, found: Any, patch: Any, subresource: str = "") -> Any:
        comes = self.between.pop(0) if self.between else None
        if isinstance(comes, ResourceClaim):
            self.listers.put(comes)
            raise ConflictError("the object has been modified")
        if isinstance(comes, Exception):
            raise comes
        return await super().patch(found, patch, subresource)

    @property
    def claim(self) -> ResourceClaim:
        found = self.listers.get(ResourceClaim, "default", "claim")
        assert found is not None
        return found

    @property
    def own_writes(self) -> ClaimWrites:
        return ClaimWrites(self)


def test_devices_are_written_under_protection_and_reserved_for_the_pod() -> None:
    handle = Touchy(claim("claim"))
    run(handle.own_writes.give(handle.claim, consumer_of(POD), D1, NOON))
    expected = claim("claim", allocation=given("n", "d1") | {"allocationTimestamp": "2026-01-01T12:00:00Z"})
    assert handle.claim.metadata.finalizers == (FINALIZER,)
    assert handle.claim.status.allocation == expected.status.allocation
    assert [(one.resource, one.name, one.uid) for one in handle.claim.status.reserved_for] == [("pods", "pod", "pod")]
    assert handle.written == [("patch", "ResourceClaim/claim"), ("patch", "ResourceClaim/claim")]


def test_a_claim_that_has_its_devices_is_only_reserved() -> None:
    handle = Touchy(claim("claim", allocation=given("n", "d1"), reserved=["other"], finalizers=[FINALIZER]))
    run(handle.own_writes.give(handle.claim, consumer_of(POD), None, None))
    assert [one.uid for one in handle.claim.status.reserved_for] == ["other", "pod"]
    assert handle.claim.status.allocation == D1
    assert handle.written == [("patch", "ResourceClaim/claim")]


def test_a_write_that_comes_too_late_is_made_again_with_what_is_there_now() -> None:
    handle = Touchy(claim("claim", resourceVersion="1"))
    handle.between = [claim("claim", resourceVersion="2", labels={"new": "yes"})]
    run(handle.own_writes.give(handle.claim, consumer_of(POD), D1, None))
    assert handle.claim.metadata.labels == {"new": "yes"}
    assert handle.claim.status.allocation == D1


@pytest.mark.parametrize(
    ("now", "text"),
    [
        pytest.param(
            claim("claim", resourceVersion="2", deletionTimestamp="2026-01-01T00:00:00Z"),
            "claim default/claim got deleted in the meantime",
            id="it is being deleted",
        ),
        pytest.param(
            claim("claim", resourceVersion="2", allocation=given("n", "d2")),
            "claim default/claim got allocated elsewhere in the meantime",
            id="somebody else gave it devices",
        ),
        pytest.param(
            replace(claim("claim", resourceVersion="2"), metadata=claim("claim", uid="another").metadata),
            'get updated claim default/claim after conflict: resourceclaims.resource.k8s.io "claim" not found',
            id="it is another claim by now",
        ),
        pytest.param(
            RuntimeError("no"), "add finalizer to claim default/claim: no", id="the cluster does not take the write"
        ),
    ],
)
def test_devices_that_cannot_be_written(now: Any, text: str) -> None:
    handle = Touchy(claim("claim", resourceVersion="1"))
    handle.between = [now]
    with pytest.raises(ClaimWriteError) as raised:
        run(handle.own_writes.give(handle.claim, consumer_of(POD), D1, None))
    assert str(raised.value) == text


def test_a_claim_that_lost_its_devices_is_not_reserved() -> None:
    handle = Touchy(claim("claim", resourceVersion="2"))
    before = claim("claim", resourceVersion="1", allocation=given("n", "d1"))
    handle.between = [handle.claim]
    with pytest.raises(ClaimWriteError, match="claim default/claim got deallocated elsewhere in the meantime"):
        run(handle.own_writes.give(before, consumer_of(POD), None, None))


def test_a_write_that_always_comes_too_late_is_given_up() -> None:
    handle = Touchy(claim("claim", resourceVersion="0", finalizers=[FINALIZER]))
    handle.between = [claim("claim", resourceVersion=str(version)) for version in range(1, 9)]
    with pytest.raises(ConflictError):
        run(handle.own_writes.give(handle.claim, consumer_of(POD), D1, None))
    assert len(handle.between) == 3


def test_a_reservation_is_taken_back_and_others_stay() -> None:
    handle = Touchy(claim("claim", allocation=given("n", "d1"), reserved=["other", "pod"]))
    run(handle.own_writes.give_back(POD, [handle.claim], None, False))
    assert [one.uid for one in handle.claim.status.reserved_for] == ["other"]
    assert handle.claim.status.allocation == D1


def test_a_claim_is_deallocated_as_a_whole() -> None:
    handle = Touchy(claim("claim", allocation=given("n", "d1"), reserved=["pod"], devices=[{"device": "d1"}]))
    run(handle.own_writes.deallocate(handle.claim))
    assert handle.claim.status == claim("claim").status


def test_a_claim_for_extended_resources_is_made_and_named_in_its_pod_and_deleted() -> None:
    handle = Touchy()
    pod = user_of(requests={"example.com/gpu": "1"})
    requests, mappings = extended_resources.requests_of(pod, {"example.com/gpu": "gpu"})
    made = run(
        handle.own_writes.create(extended_resources.asking_for(extended_resources.claim_in_memory(pod), requests))
    )
    assert made.name == "pod-extended-resources-1"
    assert handle.counted == [(CREATES, "success", "false", "", "Pod")]
    run(handle.own_writes.name_in(pod, made, mappings))
    found: Any = handle.listers.get(Pod, "default", "pod")
    status = found.status.extended_resource_claim_status
    assert (status.resource_claim_name, status.request_mappings) == ("pod-extended-resources-1", mappings)
    run(handle.own_writes.give(made, consumer_of(pod), D1, None))
    run(handle.own_writes.delete(next(iter(handle.listers.list(ResourceClaim)))))
    assert list(handle.listers.list(ResourceClaim)) == []


def test_a_claim_that_the_cluster_does_not_make_is_counted_as_a_failure() -> None:
    class Full(Touchy):
        async def create(self, found: Any) -> Any:
            raise RuntimeError("exceeded quota")

    handle = Full()
    pod = user_of(requests={"example.com/gpu": "1"})
    with pytest.raises(ClaimWriteError, match="create claim for extended resources default/: exceeded quota"):
        run(handle.own_writes.create(extended_resources.claim_in_memory(pod)))
    assert handle.counted == [(CREATES, "failure", "false", "", "Pod")]


def test_a_claim_for_extended_resources_without_any_is_a_fault() -> None:
    handle = Touchy(claim("claim"))
    text = "nil or empty request mappings, no update of pod default/pod ExtendedResourceClaimStatus"
    with pytest.raises(ClaimWriteError, match=text):
        run(handle.own_writes.name_in(POD, handle.claim, ()))
