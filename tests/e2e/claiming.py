"""What became of claims: the volume or the devices that each was given, and for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.e2e.api import Api, Object


def users(api: Api, namespace: str) -> dict[str, set[str]]:
    """Return by claim for devices the pods it is reserved for, none of which may be gone."""
    pods = {
        item["metadata"]["uid"]: item["metadata"]["name"] for item in api.items(f"/api/v1/namespaces/{namespace}/pods")
    }
    return {
        item["metadata"]["name"]: {pods[user["uid"]] for user in item.get("status", {}).get("reservedFor", ())}
        for item in device_claims(api, namespace)
    }


def device_claims(api: Api, namespace: str) -> list[Object]:
    return api.items(f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims")


def devices_of(claim: Object) -> list[str]:
    """Return what a claim was given, as pool and device."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    return [f"{result['pool']}/{result['device']}" for result in results]


def volumes_of_claims(api: Api, namespace: str) -> dict[str, str]:
    """Return the volume of each claim; volume and claim must name each other."""
    claims = api.items(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
    found = {item["metadata"]["name"]: item["spec"].get("volumeName", "") for item in claims}
    uids = {item["metadata"]["uid"]: item["metadata"]["name"] for item in claims}
    volumes = api.items("/api/v1/persistentvolumes")
    tied = {item["metadata"]["name"]: item["spec"].get("claimRef", {}).get("uid") for item in volumes}
    assert {uids[uid]: name for name, uid in tied.items() if uid in uids} == {
        claim: name for claim, name in found.items() if name
    }
    return found


def given_twice(things: Iterable[str]) -> list[str]:
    return [thing for thing, count in Counter(things).items() if count > 1]
