"""A patch that names the version it was made for is refused once that version is gone: schedulers rely on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.embedded.talking import Caller

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
DEVICE_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
MERGE, STRATEGIC = "merge-patch+json", "strategic-merge-patch+json"

VOLUME: dict[str, Any] = {
    "metadata": {"name": "x"},
    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}},
}
CLAIM: dict[str, Any] = {
    "metadata": {"name": "x"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
DEVICE_CLAIM: dict[str, Any] = {
    "metadata": {"name": "x"},
    "spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu"}}]}},
}
CLAIMED = {"spec": {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c", "uid": "1"}}}
SELECTED = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}
ALLOCATED = {
    "status": {
        "allocation": {"devices": {"results": [{"request": "a", "driver": "d", "pool": "p", "device": "g"}]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}],
    }
}


@dataclass(frozen=True)
class Case:
    """An object, and what a scheduler changes about which part of it."""

    collection: str
    obj: dict[str, Any]
    part: str
    change: dict[str, Any]


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(VOLUMES, VOLUME, "", CLAIMED), id="a volume"),
        pytest.param(Case(CLAIMS, CLAIM, "", SELECTED), id="a claim for a volume"),
        pytest.param(Case(DEVICE_CLAIMS, DEVICE_CLAIM, "/status", ALLOCATED), id="the status of a claim for devices"),
    ],
)
def test_only_the_version_that_a_patch_names_is_changed(caller: Caller, case: Case, kind: str) -> None:
    version = caller.post(case.collection, case.obj).content["metadata"]["resourceVersion"]
    path, part, change = f"{case.collection}/x", case.part, case.change
    assert caller.patch(path, {"metadata": {"labels": {"a": "b"}}}, kind).code == 200
    stale = {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": version}}
    refused = caller.patch(f"{path}{part}", stale, kind)
    assert (refused.code, refused.content["reason"]) == (409, "Conflict")
    fresh = caller.get(path).content["metadata"]["resourceVersion"]
    stale["metadata"]["resourceVersion"] = fresh
    taken = caller.patch(f"{path}{part}", stale, kind)
    assert taken.code == 200
    for key, value in change.items():
        if key != "metadata":
            assert taken.content[key] | value == taken.content[key]
    assert taken.content["metadata"]["labels"] == {"a": "b"}
