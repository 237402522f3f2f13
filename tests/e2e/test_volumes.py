"""Pods with volumes land: bound claims, claims that wait for their pod, volumes that are made, limits of drivers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.e2e.api import Api, Object
from tests.e2e.burst import refusal_of
from tests.e2e.claiming import volumes_of_claims
from tests.e2e.errands import runs
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.stage import Stage
from tests.e2e.storage import (
    SELECTED_NODE,
    attachable,
    claim,
    csi_node,
    scratch,
    storage_class,
    volume,
    volumes_of,
)
from tests.e2e.storekeeper import Storekeeper

pytestmark = [pytest.mark.each_release, pytest.mark.usefixtures("scheduler_beside_controllers")]

LOCAL, MADE, DRIVER = "local", "made", "limited.example.test"


def test_a_pod_lands_where_its_bound_volume_is(api: Api, stage: Stage, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register(node(name) for name in ("a", "b", "c"))
    bound = volume("here", LOCAL, ["b"], claimRef={"namespace": namespace, "name": "data"})
    stage.put([storage_class(LOCAL), bound])
    stage.put([claim(namespace, "data", LOCAL, volumeName="here")])
    api.wait_for(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/data", is_bound)
    api.create(pod(namespace, "web", volumes=volumes_of("data")))

    assert landed(api, namespace, "web") == ["b"]


def test_claims_that_wait_get_local_volumes(api: Api, stage: Stage, kubelets: Kubelets, namespace: str) -> None:
    names = [f"web-{number}" for number in range(6)]
    kubelets.register(node(name) for name in ("a", "b", "c"))
    stage.put([storage_class(LOCAL), *(claim(namespace, name, LOCAL) for name in names)])
    stage.put(volume(f"{one}-{number}", LOCAL, [one]) for one in ("a", "b", "c") for number in range(2))
    api.create_all(pod(namespace, name, volumes=volumes_of(name)) for name in names)

    nodes = landed(api, namespace, *names)
    assert sorted(nodes) == ["a", "a", "b", "b", "c", "c"]
    # A volume is named after its node.
    found = volumes_of_claims(api, namespace)
    assert [found[name].partition("-")[0] for name in names] == nodes
    assert sorted(found.values()) == ["a-0", "a-1", "b-0", "b-1", "c-0", "c-1"]


def test_a_volume_is_made_where_the_pod_is_to_run(api: Api, stage: Stage, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register([node("a"), node("b", {"cpu": "8"})])
    stage.put([storage_class(MADE, "maker.example.test"), claim(namespace, "data", MADE)])
    api.create(pod(namespace, "web", {"cpu": "6"}, volumes=volumes_of("data")))
    provisioner = Storekeeper(api, namespace, binds=False)
    provisioner.start()
    try:
        assert landed(api, namespace, "web") == ["b"]
    finally:
        provisioner.stop()

    made = api.get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/data")
    assert made["metadata"]["annotations"][SELECTED_NODE] == "b"
    assert volumes_of_claims(api, namespace) == {"data": f"made-{made['metadata']['uid']}"}


def test_an_ephemeral_volume_gets_a_claim_of_its_own(
    api: Api, stage: Stage, kubelets: Kubelets, namespace: str
) -> None:
    kubelets.register([node("a"), node("b")])
    stage.put([storage_class(LOCAL), volume("there", LOCAL, ["b"])])
    api.create(pod(namespace, "web", volumes=scratch("scratch", LOCAL)))

    assert landed(api, namespace, "web") == ["b"]
    assert volumes_of_claims(api, namespace) == {"web-scratch": "there"}


def test_pods_that_share_a_volume_land_together(api: Api, stage: Stage, kubelets: Kubelets, namespace: str) -> None:
    kubelets.register(node(name) for name in ("a", "b", "c"))
    stage.put([storage_class(LOCAL), claim(namespace, "data", LOCAL), volume("there", LOCAL, ["c"])])
    names = ["one", "two", "three"]
    api.create_all(pod(namespace, name, volumes=volumes_of("data")) for name in names)

    assert landed(api, namespace, *names) == ["c", "c", "c"]
    assert volumes_of_claims(api, namespace) == {"data": "there"}


def test_nodes_are_filled_up_to_what_can_be_attached(
    api: Api, stage: Stage, kubelets: Kubelets, namespace: str
) -> None:
    names = [f"web-{number}" for number in range(6)]
    kubelets.register(node(name) for name in ("a", "b", "c"))
    stage.put([storage_class(LOCAL), *(csi_node(name, DRIVER, 2) for name in ("a", "b", "c"))])
    # A controller that meets a claim before its volume looks again much later.
    stage.put(attached_volume(namespace, name) for name in [*names, "late"])
    stage.put(claim(namespace, name, LOCAL, volumeName=name) for name in [*names, "late"])
    api.wait_for(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", all_bound)
    api.create_all(pod(namespace, name, volumes=volumes_of(name)) for name in names)
    assert sorted(landed(api, namespace, *names)) == ["a", "a", "b", "b", "c", "c"]

    api.create(pod(namespace, "late", volumes=volumes_of("late")))
    refused = api.wait_for(f"/api/v1/namespaces/{namespace}/pods/late", lambda item: refusal_of(item) != ("", ""))
    assert refusal_of(refused)[1].startswith("0/3 nodes are available: 3 node(s) exceed max volume count. ")

    leaving = api.get(f"/api/v1/namespaces/{namespace}/pods/web-0")
    api.delete(f"/api/v1/namespaces/{namespace}/pods/web-0")
    assert landed(api, namespace, "late") == [leaving["spec"]["nodeName"]]


def attached_volume(namespace: str, claim: str) -> Object:
    """Describe a volume that is meant for a claim, and that a driver attaches."""
    return volume(claim, LOCAL, csi=attachable(DRIVER, claim), claimRef={"namespace": namespace, "name": claim})


def landed(api: Api, namespace: str, *names: str) -> Sequence[str]:
    """Wait until pods run, and return their nodes."""
    paths = [f"/api/v1/namespaces/{namespace}/pods/{name}" for name in names]
    return [api.wait_for(path, runs)["spec"]["nodeName"] for path in paths]


def is_bound(claim: Object) -> bool:
    return bool(claim["status"]["phase"] == "Bound")


def all_bound(claims: Object) -> bool:
    return all(map(is_bound, claims["items"]))
