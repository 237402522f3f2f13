"""Whether a pod's device claims are there, and which changes may let it have its devices."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.framework.changes import Action
from stowplan.model.dra import AllocationResult, ResourceClaim, ResourceClaimStatus
from stowplan.model.meta import NamespacedMeta, OwnerReference
from stowplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from stowplan.plugins.dynamicresources import claims as hinting
from stowplan.testing import make_pod


def make_claim(name: str = "claim", **fields: Any) -> ResourceClaim:
    return ResourceClaim(metadata=NamespacedMeta(name=name, uid=f"uid-{name}", **fields))


def allocated(claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, status=ResourceClaimStatus(allocation=AllocationResult()))


def claiming(*entries: PodResourceClaim, statuses: tuple[PodResourceClaimStatus, ...] = ()) -> Pod:
    pod = make_pod("p").build()
    return replace(
        pod,
        spec=replace(pod.spec, resource_claims=entries),
        status=replace(pod.status, resource_claim_statuses=statuses),
    )


NAMED = PodResourceClaim(name="gpu", resource_claim_name="claim")
FROM_TEMPLATE = PodResourceClaim(name="gpu", resource_claim_template_name="template")
GENERATED = PodResourceClaimStatus(name="gpu", resource_claim_name="claim")
OWNED: dict[str, Any] = {
    "owner_references": (OwnerReference(kind="Pod", uid=make_pod("p").build().uid, controller=True),)
}
GONE: dict[str, Any] = {"deletion_timestamp": datetime(2026, 1, 1, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("pod", "claims", "problem"),
    [
        pytest.param(make_pod("p").build(), [], "", id="a pod without claims"),
        pytest.param(claiming(NAMED), [make_claim()], "", id="its claim is there"),
        pytest.param(claiming(NAMED), [], 'could not find ResourceClaim "default/claim"', id="its claim is missing"),
        pytest.param(
            claiming(NAMED), [make_claim(**GONE)], 'resourceclaim "claim" is being deleted', id="its claim is going"
        ),
        pytest.param(
            claiming(FROM_TEMPLATE), [], 'pod "default/p": ResourceClaim not created yet', id="none is made for it yet"
        ),
        pytest.param(
            claiming(FROM_TEMPLATE, statuses=(GENERATED,)), [make_claim(**OWNED)], "", id="one is made for it"
        ),
        pytest.param(
            claiming(FROM_TEMPLATE, statuses=(GENERATED,)),
            [make_claim()],
            "ResourceClaim default/claim was not created for Pod default/p (Pod is not owner)",
            id="one of that name is made for another",
        ),
        pytest.param(
            claiming(FROM_TEMPLATE, statuses=(PodResourceClaimStatus(name="gpu"),)),
            [],
            "",
            id="none is needed after all",
        ),
    ],
)
def test_a_pod_without_its_claims_is_held_back(pod: Pod, claims: list[ResourceClaim], problem: str) -> None:
    assert hinting.problem_with_claims(finder(*claims), pod) == problem


OWN, OTHER = make_claim(), make_claim("other")


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, OWN, True, id="its claim is made"),
        pytest.param(None, OTHER, False, id="another claim is made"),
        pytest.param(OWN, allocated(OWN), True, id="its claim changes its status"),
        pytest.param(OWN, replace(OWN), False, id="its claim changes in nothing that matters"),
        pytest.param(OTHER, allocated(OTHER), False, id="another claim is allocated"),
        pytest.param(allocated(OTHER), OTHER, True, id="another claim gives its devices back"),
    ],
)
def test_claims_that_come_or_change(old: ResourceClaim | None, new: ResourceClaim, helps: bool) -> None:
    assert hinting.is_claim_better(finder(OWN, new), claiming(NAMED), old, new) is helps


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        pytest.param(allocated(OTHER), True, id="with devices"),
        pytest.param(OTHER, False, id="without devices"),
    ],
)
def test_a_claim_that_is_deleted_helps_if_it_had_devices(gone: ResourceClaim, helps: bool) -> None:
    assert hinting.is_claim_better(finder(OWN), claiming(NAMED), gone, None) is helps


@pytest.mark.parametrize(
    ("hears_deletions", "expected"),
    [(True, Action.ADD | Action.UPDATE | Action.DELETE), (False, Action.ADD | Action.UPDATE)],
)
def test_claims_that_are_deleted_are_heard_of_since_1_37(hears_deletions: bool, expected: Action) -> None:
    awaited = {one.resource: one.actions for one in hinting.awaited(finder(), hears_deletions=hears_deletions)}
    assert awaited["resource.k8s.io/ResourceClaim"] == expected


def test_no_claim_helps_while_one_of_the_pods_own_is_missing() -> None:
    assert hinting.is_claim_better(finder(OTHER), claiming(NAMED), allocated(OTHER), OTHER) is False


def test_a_pod_that_is_given_its_claims_helps_itself() -> None:
    old, new = claiming(FROM_TEMPLATE), claiming(FROM_TEMPLATE, statuses=(GENERATED,))
    assert hinting.has_all_claims(finder(make_claim(**OWNED)), new, old, new) is True
    assert hinting.has_all_claims(finder(), new, old, new) is False


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        pytest.param(None, OWN, [True, False], id="a claim that comes concerns those that refer to it"),
        pytest.param(OWN, allocated(OWN), [True, False], id="so does one that is allocated"),
        pytest.param(OWN, None, [True, False], id="and one that goes without having had devices"),
        pytest.param(None, OTHER, [False, False], id="a claim that nobody refers to concerns nobody"),
        pytest.param(allocated(OWN), OWN, None, id="devices that are given back concern all"),
        pytest.param(allocated(OWN), None, None, id="so does the end of a claim that has devices"),
    ],
)
def test_whom_a_claim_concerns(old: ResourceClaim | None, new: ResourceClaim | None, named: list[bool] | None) -> None:
    concerns = hinting.who_refers_to(old, new)
    pods = claiming(NAMED), claiming(FROM_TEMPLATE)
    assert named == (None if concerns is None else [concerns(pod) for pod in pods])


def test_a_pod_refers_to_a_claim_made_for_it_once_it_is_told_its_name() -> None:
    concerns = hinting.who_refers_to(None, make_claim())
    assert concerns is not None
    assert concerns(claiming(FROM_TEMPLATE, statuses=(GENERATED,))) is True


def finder(*claims: ResourceClaim) -> hinting.FindClaim:
    by_name = {(claim.namespace, claim.name): claim for claim in claims}
    return lambda namespace, name: by_name.get((namespace, name))
