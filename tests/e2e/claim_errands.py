"""Errands like those of `errands.py` that make a scheduler use its permissions on volumes and devices.

The node `plain` must be there, and somebody who looks after the claims of the namespace.
"""

from __future__ import annotations

from tests.e2e.api import Api, Object
from tests.e2e.devices import claims_of, device_claim, device_class, devices_on, request
from tests.e2e.errands import ours, runs
from tests.e2e.stage import Stage
from tests.e2e.storage import claim, storage_class, volume, volumes_of

SERVED = "example.test/served"


def give_a_volume(api: Api, stage: Stage, namespace: str) -> None:
    stage.put([storage_class("local"), volume("there", "local", ["plain"]), claim(namespace, "local", "local")])
    land(api, ours(namespace, "local", volumes=volumes_of("local")))


def choose_where_a_volume_is_made(api: Api, stage: Stage, namespace: str) -> None:
    stage.put([storage_class("made", "maker.example.test"), claim(namespace, "made", "made")])
    land(api, ours(namespace, "made", volumes=volumes_of("made")))


def give_a_device(api: Api, stage: Stage, namespace: str) -> None:
    stage.put([device_class("gpu"), devices_on("plain", "gpu", "d1"), device_claim(namespace, "gpu", request("gpu"))])
    land(api, ours(namespace, "gpu", **claims_of("gpu")))


def serve_a_resource(api: Api, stage: Stage, namespace: str) -> None:
    """Have a claim made for a pod."""
    stage.put([device_class("served", SERVED), devices_on("plain", "served", "d1", "d2")])
    land(api, serving(namespace, "served"))


def clear_a_claim_away(api: Api, namespace: str) -> None:
    """Have a claim deleted that was made for a pod in vain."""
    gated = serving(namespace, "outdated")
    gated["spec"]["schedulingGates"] = [{"name": "example.test/later"}]
    left = left_over(namespace, "outdated", api.create(gated)["metadata"]["uid"])
    api.create(left)
    api.patch(api.path_of(gated), {"spec": {"schedulingGates": None}})

    def is_gone(claims: Object) -> bool:
        return left["metadata"]["name"] not in [one["metadata"]["name"] for one in claims["items"]]

    api.wait_for(api.path_of(left).rpartition("/")[0], is_gone)


def serving(namespace: str, name: str) -> Object:
    asked = {SERVED: "1"}
    resources = {"requests": asked, "limits": asked}
    return ours(namespace, name, containers=[{"name": "main", "image": "i", "resources": resources}])


def left_over(namespace: str, pod: str, uid: str) -> Object:
    """Describe a claim for extended resources that a scheduler made for a pod, and did not live to use."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": True}
    made = device_claim(namespace, f"{pod}-extended-resources-left", request("served", "container-0-request-0"))
    metadata = {
        **made["metadata"],
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
    }
    return {**made, "metadata": metadata}


def land(api: Api, wanted: Object) -> None:
    path = api.path_of(wanted)
    api.create(wanted)
    api.wait_for(path, runs)
