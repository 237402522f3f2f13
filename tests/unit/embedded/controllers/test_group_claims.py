"""Claims for devices are made for groups of pods, and used by their pods."""

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import Catalogue
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.controllers.test_resourceclaim import (
    ALLOCATION,
    BY_TEMPLATE,
    CLAIMS,
    FINALIZER,
    add_pod,
    add_template,
    only_claim,
    status,
)
from tests.unit.embedded.given import PODS

GATES = frozenset({"GenericWorkload", "DRAWorkloadResourceClaims"})
MEMBER: Any = {"schedulingGroup": {"podGroupName": "train"}}


def groups(cluster: SmallCluster) -> Resource:
    """The resource of groups as the release of the cluster serves it."""
    [first, *_] = [one for one in cluster.api.catalogue.all() if one.kind == "PodGroup"]
    return first


def add_group(cluster: SmallCluster, entry: Object = BY_TEMPLATE) -> Object:
    spec = {"schedulingPolicy": {"gang": {"minCount": 1}}, "resourceClaims": [entry]}
    return cluster.create(groups(cluster), "train", spec)


def statuses(cluster: SmallCluster, of: Resource, name: str) -> list[tuple[str, str]]:
    found = (cluster.get(of, name).get("status") or {}).get("resourceClaimStatuses") or []
    return [(one["name"], one["resourceClaimName"]) for one in found]


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_a_group_gets_one_claim_that_all_its_pods_name(release: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        group = add_group(cluster)
        for name in ("train-0", "train-1"):
            add_pod(cluster, name, BY_TEMPLATE, schedulingGates=[{"name": "wait"}], **MEMBER)
        await cluster.pass_time(0.5)
        meta = only_claim(cluster)["metadata"]
        assert meta["name"].startswith("train-accelerator-")
        assert meta["annotations"] == {"note": "x", "resource.kubernetes.io/pod-claim-name": "accelerator"}
        [owner] = meta["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
            "PodGroup",
            "train",
            group["metadata"]["uid"],
            True,
        )
        assert owner["apiVersion"] == groups(cluster).api_version
        expected = [("accelerator", meta["name"])]
        assert statuses(cluster, groups(cluster), "train") == expected
        assert [statuses(cluster, PODS, name) for name in ("train-0", "train-1")] == [expected, expected]

    tell(story, catalogue=Catalogue(release, GATES))


def test_an_entry_that_the_group_has_not_is_the_pods_own() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        add_group(cluster, {"name": "other", "resourceClaimTemplateName": "one-gpu"})
        add_pod(cluster, "train-0", BY_TEMPLATE, schedulingGates=[{"name": "wait"}], **MEMBER)
        await cluster.pass_time(0.5)
        made = [claim["metadata"]["name"] for claim in cluster.api.list(CLAIMS, "default")]
        assert sorted(name.rsplit("-", 1)[0] for name in made) == ["train-0-accelerator", "train-other"]

    tell(story, catalogue=Catalogue("1.37", GATES))


def test_a_pod_waits_for_its_group_and_a_group_for_its_template() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_pod(cluster, "train-0", BY_TEMPLATE, schedulingGates=[{"name": "wait"}], **MEMBER)
        await cluster.pass_time(0.5)
        add_group(cluster)
        await cluster.pass_time(0.5)
        assert cluster.events("FailedResourceClaimCreation")[0] == (
            'PodGroupResourceClaim accelerator: resource claim template "one-gpu": '
            'resourceclaimtemplates.resource.k8s.io "one-gpu" not found'
        )
        add_template(cluster)
        await cluster.pass_time(0.5)
        name = only_claim(cluster)["metadata"]["name"]
        assert statuses(cluster, PODS, "train-0") == [("accelerator", name)]

    tell(story, catalogue=Catalogue("1.37", GATES))


def test_what_was_lost_is_made_again() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        add_group(cluster)
        await cluster.pass_time(0.5)
        first = only_claim(cluster)["metadata"]["name"]
        cluster.delete(CLAIMS, first)
        await cluster.pass_time(0.5)
        second = only_claim(cluster)["metadata"]["name"]
        assert second != first
        assert statuses(cluster, groups(cluster), "train") == [("accelerator", second)]

    tell(story, catalogue=Catalogue("1.37", GATES))


def test_the_group_has_its_devices_until_it_goes() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        group = add_group(cluster)
        add_pod(cluster, "train-0", BY_TEMPLATE, nodeName="node-0", **MEMBER)
        await cluster.pass_time(0.5)
        name = only_claim(cluster)["metadata"]["name"]
        cluster.edit(CLAIMS, name, lambda obj: obj["metadata"].update(finalizers=[FINALIZER]))
        claim = cluster.get(CLAIMS, name)
        claim["status"] = {"allocation": ALLOCATION}
        cluster.api.update(CLAIMS, "default", name, claim, subresource="status")
        await cluster.pass_time(2)
        consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train"}
        assert status(cluster, name)["reservedFor"] == [{**consumer, "uid": group["metadata"]["uid"]}]
        assert cluster.get(PODS, "train-0")["status"]["phase"] == "Running"
        cluster.delete(PODS, "train-0")
        await cluster.pass_time(2)
        assert status(cluster, name)["allocation"] == ALLOCATION
        cluster.delete(groups(cluster), "train")
        await cluster.pass_time(2)
        assert not cluster.api.list(CLAIMS, "default")

    tell(story, catalogue=Catalogue("1.37", GATES))


def test_without_the_feature_gate_a_group_has_no_claims() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_template(cluster)
        add_group(cluster)
        add_pod(cluster, "train-0", BY_TEMPLATE, schedulingGates=[{"name": "wait"}], **MEMBER)
        await cluster.pass_time(0.5)
        assert only_claim(cluster)["metadata"]["name"].startswith("train-0-accelerator-")

    tell(story, catalogue=Catalogue("1.37", frozenset({"GenericWorkload"})))
