"""Pods with claims for devices land: claims of their own or shared, made for them or standing for a resource."""

from __future__ import annotations

import pytest

from tests.e2e.api import Api, Object
from tests.e2e.burst import refusal_of
from tests.e2e.claiming import device_claims, devices_of, given_twice, users
from tests.e2e.devices import (
    FINALIZER,
    claims_from,
    claims_of,
    device_claim,
    device_class,
    devices_on,
    request,
    template,
)
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.stage import Stage

pytestmark = [pytest.mark.each_release, pytest.mark.usefixtures("scheduler_beside_controllers")]

GPU, SERVED = "gpu", "example.test/served-gpu"


@pytest.fixture
def gpus(stage: Stage, kubelets: Kubelets) -> None:
    """Three nodes, two of which have two devices each."""
    kubelets.register(node(name) for name in ("a", "b", "c"))
    stage.put([device_class(GPU, SERVED), devices_on("a", GPU, "d1", "d2"), devices_on("b", GPU, "d1", "d2")])


@pytest.mark.usefixtures("gpus")
def test_a_claim_is_given_a_device_and_reserved_for_its_pod(api: Api, stage: Stage, namespace: str) -> None:
    stage.put([device_claim(namespace, "mine", request(GPU))])
    api.create(pod(namespace, "web", nodeSelector={"kubernetes.io/hostname": "b"}, **claims_of("mine")))

    running = wait_until_running(api, namespace, "web")
    [claim] = device_claims(api, namespace)
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert (running["spec"]["nodeName"], result["pool"], result["driver"]) == ("b", "b", "gpu.example.test")
    assert claim["status"]["allocation"]["nodeSelector"] == {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    }
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "web", "uid": running["metadata"]["uid"]}]
    assert FINALIZER in claim["metadata"]["finalizers"]


@pytest.mark.usefixtures("gpus")
def test_pods_that_share_a_device_land_together(api: Api, stage: Stage, namespace: str) -> None:
    stage.put([device_claim(namespace, "shared", request(GPU))])
    names = ["one", "two", "three"]
    api.create_all(pod(namespace, name, **claims_of("shared")) for name in names)

    nodes = {wait_until_running(api, namespace, name)["spec"]["nodeName"] for name in names}
    [claim] = device_claims(api, namespace)
    assert [place.partition("/")[0] for place in devices_of(claim)] == list(nodes)
    assert users(api, namespace) == {"shared": {"one", "two", "three"}}


@pytest.mark.usefixtures("gpus")
def test_devices_run_out_and_are_free_again_when_a_pod_leaves(api: Api, stage: Stage, namespace: str) -> None:
    stage.put([template(namespace, "one-gpu", request(GPU))])
    names = [f"web-{number}" for number in range(4)]
    api.create_all(pod(namespace, name, **claims_from("one-gpu")) for name in names)
    nodes = {name: wait_until_running(api, namespace, name)["spec"]["nodeName"] for name in names}
    assert sorted(nodes.values()) == ["a", "a", "b", "b"]
    api.create(pod(namespace, "late", **claims_from("one-gpu")))
    refused = api.wait_for(f"/api/v1/namespaces/{namespace}/pods/late", lambda item: refusal_of(item) != ("", ""))
    assert refusal_of(refused)[1].startswith("0/3 nodes are available: 3 cannot allocate all claims. ")

    api.delete(f"/api/v1/namespaces/{namespace}/pods/web-2")
    assert wait_until_running(api, namespace, "late")["spec"]["nodeName"] == nodes["web-2"]
    given = [place for claim in device_claims(api, namespace) for place in devices_of(claim)]
    assert (given_twice(given), sorted(given)) == ([], ["a/d1", "a/d2", "b/d1", "b/d2"])


@pytest.mark.usefixtures("gpus")
def test_devices_stand_for_an_extended_resource(api: Api, namespace: str) -> None:
    asked = {SERVED: "2"}
    container = {"name": "main", "image": "i", "resources": {"requests": asked, "limits": asked}}
    api.create_all(pod(namespace, name, containers=[container]) for name in ("one", "two"))

    running = [wait_until_running(api, namespace, name) for name in ("one", "two")]
    assert sorted(item["spec"]["nodeName"] for item in running) == ["a", "b"]
    claims = {claim["metadata"]["name"]: claim for claim in device_claims(api, namespace)}
    for item in running:
        status = item["status"]["extendedResourceClaimStatus"]
        claim = claims.pop(status["resourceClaimName"])
        assert [mapping["resourceName"] for mapping in status["requestMappings"]] == [SERVED]
        assert [owner["uid"] for owner in claim["metadata"]["ownerReferences"]] == [item["metadata"]["uid"]]
        assert sorted(devices_of(claim)) == [f"{item['spec']['nodeName']}/{name}" for name in ("d1", "d2")]
    assert claims == {}


@pytest.mark.usefixtures("gpus")
def test_a_pod_waits_for_its_claim(api: Api, stage: Stage, namespace: str) -> None:
    api.create(pod(namespace, "early", **claims_of("later")))
    api.create(pod(namespace, "web"))
    wait_until_running(api, namespace, "web")
    assert "nodeName" not in api.get(f"/api/v1/namespaces/{namespace}/pods/early")["spec"]

    stage.put([device_claim(namespace, "later", request(GPU))])
    wait_until_running(api, namespace, "early")
    assert users(api, namespace) == {"later": {"early"}}


def wait_until_running(api: Api, namespace: str, name: str) -> Object:
    return api.wait_for(
        f"/api/v1/namespaces/{namespace}/pods/{name}", lambda item: item["status"]["phase"] == "Running"
    )
