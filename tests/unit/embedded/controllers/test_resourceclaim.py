"""Claims for devices are made for pods, reserved for them, and given back after them."""

from typing import Any

import pytest

from stowplan.embedded.controllers.resourceclaim_templates import prefix
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.given import PODS, resource

CLAIMS = resource("resourceclaims.resource.k8s.io")
TEMPLATES = resource("resourceclaimtemplates.resource.k8s.io")
FINALIZER = "resource.kubernetes.io/delete-protection"
ONE_GPU: Object = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
RESULT = {"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": "gpu-0"}
ALLOCATION: Object = {"devices": {"results": [RESULT]}}
BY_TEMPLATE: Object = {"name": "accelerator", "resourceClaimTemplateName": "one-gpu"}
SHARED: Object = {"name": "accelerator", "resourceClaimName": "shared"}


def add_template(cluster: SmallCluster) -> None:
    meta = {"labels": {"team": "vision"}, "annotations": {"note": "x"}}
    cluster.create(TEMPLATES, "one-gpu", {"metadata": meta, "spec": ONE_GPU})


def add_pod(cluster: SmallCluster, name: str, entry: Object, **spec: Any) -> Object:
    annotations = spec.pop("annotations", {})
    content = {"containers": [{"name": "main", "image": "app:1"}], "resourceClaims": [entry]}
    return cluster.create(PODS, name, content | spec, annotations=annotations)


def allocate(cluster: SmallCluster, name: str, *pods: Object) -> None:
    """Give a claim its device and reserve it for pods, as a scheduler does."""
    consumers = [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in pods]
    cluster.edit(CLAIMS, name, lambda obj: obj["metadata"].update(finalizers=[FINALIZER]))
    claim = cluster.get(CLAIMS, name)
    claim["status"] = {"allocation": ALLOCATION} | ({"reservedFor": consumers} if consumers else {})
    cluster.api.update(CLAIMS, "default", name, claim, subresource="status")


def status(cluster: SmallCluster, name: str) -> Object:
    found: Object = cluster.get(CLAIMS, name).get("status") or {}
    return found


def only_claim(cluster: SmallCluster) -> Object:
    (claim,) = cluster.api.list(CLAIMS, "default")
    return claim


def test_a_pod_gets_a_claim_of_its_own_and_says_which() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        pod = add_pod(cluster, "train", BY_TEMPLATE, schedulingGates=[{"name": "wait"}])
        await cluster.pass_time(0.1)
        claim = only_claim(cluster)
        meta = claim["metadata"]
        assert meta["name"].startswith("train-accelerator-")
        assert meta["labels"] == {"team": "vision"}
        assert meta["annotations"] == {"note": "x", "resource.kubernetes.io/pod-claim-name": "accelerator"}
        assert [(owner["name"], owner["uid"], owner["controller"]) for owner in meta["ownerReferences"]] == [
            ("train", pod["metadata"]["uid"], True)
        ]
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
        assert claim["spec"] == {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
        assert cluster.get(PODS, "train")["status"]["resourceClaimStatuses"] == [
            {"name": "accelerator", "resourceClaimName": meta["name"]}
        ]

    tell(story)


def test_a_pod_waits_for_a_template_that_is_not_there_yet() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_pod(cluster, "train", BY_TEMPLATE)
        await cluster.pass_time(0.1)
        assert cluster.events("FailedResourceClaimCreation")[0] == (
            'PodResourceClaim accelerator: resource claim template "one-gpu": '
            'resourceclaimtemplates.resource.k8s.io "one-gpu" not found'
        )
        add_template(cluster)
        await cluster.pass_time(0.1)
        assert only_claim(cluster)["metadata"]["name"].startswith("train-accelerator-")

    tell(story)


def test_a_claim_that_was_lost_is_made_again() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        add_pod(cluster, "train", BY_TEMPLATE)
        await cluster.pass_time(0.1)
        first = only_claim(cluster)["metadata"]["name"]
        cluster.delete(CLAIMS, first)
        await cluster.pass_time(0.1)
        second = only_claim(cluster)["metadata"]["name"]
        assert second != first
        statuses = cluster.get(PODS, "train")["status"]["resourceClaimStatuses"]
        assert statuses == [{"name": "accelerator", "resourceClaimName": second}]

    tell(story)


def test_a_pod_that_came_to_its_node_without_the_scheduler_runs_once_its_devices_are_reserved() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CLAIMS, "shared", ONE_GPU)
        pod = add_pod(cluster, "train", SHARED, nodeName="node-0")
        await cluster.pass_time(2)
        assert cluster.get(PODS, "train")["status"]["phase"] == "Pending"
        allocate(cluster, "shared")
        await cluster.pass_time(2)
        reserved = status(cluster, "shared")["reservedFor"]
        assert reserved == [{"resource": "pods", "name": "train", "uid": pod["metadata"]["uid"]}]
        assert cluster.get(PODS, "train")["status"]["phase"] == "Running"

    tell(story)


def test_a_claim_that_is_reserved_for_the_group_of_a_pod_is_the_pods_too() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.api.catalogue.gates = frozenset({"GenericWorkload"})
        cluster.create(CLAIMS, "shared", ONE_GPU)
        allocate(cluster, "shared")
        consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train", "uid": "g"}
        claim = cluster.get(CLAIMS, "shared")
        claim["status"]["reservedFor"] = [consumer]
        cluster.api.update(CLAIMS, "default", "shared", claim, subresource="status")
        add_pod(cluster, "train-0", SHARED, nodeName="node-0", schedulingGroup={"podGroupName": "train"})
        await cluster.pass_time(2)
        assert status(cluster, "shared")["reservedFor"] == [consumer]
        assert cluster.get(PODS, "train-0")["status"]["phase"] == "Running"

    tell(story)


def test_devices_are_given_back_when_the_last_pod_has_ended() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CLAIMS, "shared", ONE_GPU)
        short = {"restartPolicy": "Never", "annotations": {"stowplan.dev/duration": "5s"}}
        pods = [add_pod(cluster, "a", SHARED, **short), add_pod(cluster, "b", SHARED)]
        allocate(cluster, "shared", *pods)
        await cluster.pass_time(2)
        assert [each["name"] for each in status(cluster, "shared")["reservedFor"]] == ["a", "b"]
        await cluster.pass_time(5)
        assert cluster.get(PODS, "a")["status"]["phase"] == "Succeeded"
        assert [each["name"] for each in status(cluster, "shared")["reservedFor"]] == ["b"]
        assert status(cluster, "shared")["allocation"] == ALLOCATION
        cluster.delete(PODS, "b")
        await cluster.pass_time(1)
        claim = cluster.get(CLAIMS, "shared")
        assert (claim["status"], claim["metadata"].get("finalizers", [])) == ({}, [])

    tell(story)


@pytest.mark.parametrize(
    ("spec", "is_deleted"),
    [
        pytest.param({}, True, id="a pod that is deleted takes its claim along"),
        pytest.param({"annotations": {"stowplan.dev/duration": "2s"}}, False, id="one that has ended gives it up, too"),
    ],
)
def test_a_claim_that_was_made_for_a_pod_goes_with_it(spec: Object, is_deleted: bool) -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        pod = add_pod(cluster, "train", BY_TEMPLATE, restartPolicy="Never", **spec)
        await cluster.pass_time(0.2)
        allocate(cluster, only_claim(cluster)["metadata"]["name"], pod)
        await cluster.pass_time(1)
        assert cluster.get(PODS, "train")["status"]["phase"] == "Running"
        if is_deleted:
            cluster.delete(PODS, "train")
        await cluster.pass_time(5)
        assert cluster.api.list(CLAIMS, "default") == []
        assert cluster.exists(PODS, "train") is not is_deleted

    tell(story)


def test_a_deleted_claim_waits_for_its_pods() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CLAIMS, "shared", ONE_GPU)
        pod = add_pod(cluster, "train", SHARED)
        allocate(cluster, "shared", pod)
        await cluster.pass_time(1)
        cluster.delete(CLAIMS, "shared")
        await cluster.pass_time(1)
        assert status(cluster, "shared")["allocation"] == ALLOCATION
        cluster.delete(PODS, "train")
        await cluster.pass_time(1)
        assert not cluster.exists(CLAIMS, "shared")

    tell(story)


@pytest.mark.parametrize(
    ("pod", "entry", "expected"),
    [
        pytest.param("train", "gpu", "train-gpu-", id="both as they are"),
        pytest.param("p" * 50, "gpu", "p" * 50 + "-gpu-", id="just short enough"),
        pytest.param("p" * 60, "c" * 60, "p" * 28 + "-" + "c" * 28, id="both shortened alike"),
    ],
)
def test_what_the_name_of_a_claim_begins_with(pod: str, entry: str, expected: str) -> None:
    assert prefix(pod, entry) == expected
