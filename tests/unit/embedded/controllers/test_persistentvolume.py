"""Claims and volumes find each other, and both say so."""

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.controllers.storage_objects import (
    CLAIMS,
    VOLUMES,
    add_claim,
    add_class,
    add_volume,
    bound_to,
    marks,
    phase,
    volume_phase,
)

BY_CONTROLLER = {"pv.kubernetes.io/bound-by-controller": "yes"}
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def test_both_ends_of_a_binding_say_whom_they_belong_to() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "disk", accessModes=["ReadWriteOnce", "ReadOnlyMany"])
        await cluster.pass_time(0.1)
        assert volume_phase(cluster, "disk") == "Available"
        made = add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        claim, volume = cluster.get(CLAIMS, "data"), cluster.get(VOLUMES, "disk")
        assert claim["spec"]["volumeName"] == "disk"
        assert marks(claim) == BY_CONTROLLER | COMPLETED
        assert claim["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
            "capacity": {"storage": "10Gi"},
        }
        reference = volume["spec"]["claimRef"]
        reference.pop("resourceVersion")
        assert reference == {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": "data",
            "uid": made["metadata"]["uid"],
        }
        assert marks(volume) == BY_CONTROLLER
        assert volume["status"]["phase"] == "Bound"

    tell(story)


def test_a_claim_waits_for_a_volume_that_suits_it() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_claim(cluster, "data", "5Gi")
        add_volume(cluster, "small", "1Gi")
        await cluster.pass_time(0.1)
        assert phase(cluster, "data") == "Pending"
        message = "no persistent volumes available for this claim and no storage class is set"
        assert cluster.events("FailedBinding") == [message]
        add_volume(cluster, "large", "6Gi")
        await cluster.pass_time(0.1)
        assert bound_to(cluster, "data") == "large"
        assert volume_phase(cluster, "small") == "Available"

    tell(story)


def test_each_volume_goes_to_one_claim() -> None:
    async def story(cluster: SmallCluster) -> None:
        for number in range(5):
            add_claim(cluster, f"data-{number}", "1Gi")
        await cluster.pass_time(0.1)
        for number in range(4):
            add_volume(cluster, f"disk-{number}")
        await cluster.pass_time(0.1)
        names = [bound_to(cluster, f"data-{number}") for number in range(5)]
        assert sorted(names) == ["", "disk-0", "disk-1", "disk-2", "disk-3"]

    tell(story)


def test_a_claim_that_asks_for_a_volume_gets_that_one_and_no_other() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "other", "1Gi")
        add_claim(cluster, "data", volumeName="mine")
        await cluster.pass_time(0.1)
        assert phase(cluster, "data") == "Pending"
        add_volume(cluster, "mine")
        await cluster.pass_time(0.1)
        assert phase(cluster, "data") == "Bound"
        # Its maker chose it, not the controller.
        assert marks(cluster.get(CLAIMS, "data")) == COMPLETED
        assert marks(cluster.get(VOLUMES, "mine")) == BY_CONTROLLER

    tell(story)


def test_a_volume_that_is_asked_for_but_does_not_suit_is_refused_in_words() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "mine", "1Gi")
        add_claim(cluster, "data", "5Gi", volumeName="mine")
        await cluster.pass_time(0.1)
        assert phase(cluster, "data") == "Pending"
        assert set(cluster.events("VolumeMismatch")) == {
            'Cannot bind to requested volume "mine": requested PV is too small'
        }

    tell(story)


def test_a_volume_that_is_reserved_for_a_claim_waits_for_it() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "mine", claimRef={"namespace": "default", "name": "data"})
        add_claim(cluster, "other")
        await cluster.pass_time(0.1)
        assert (volume_phase(cluster, "mine"), phase(cluster, "other")) == ("Available", "Pending")
        made = add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        volume = cluster.get(VOLUMES, "mine")
        assert (bound_to(cluster, "data"), volume["spec"]["claimRef"]["uid"]) == ("mine", made["metadata"]["uid"])
        assert marks(volume) == {}

    tell(story)


def test_a_claim_that_waits_for_its_consumer_is_bound_to_the_volume_that_a_scheduler_reserves() -> None:
    async def story(cluster: SmallCluster) -> None:
        local = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        add_class(cluster, "local", **local)
        for name in ("disk-a", "disk-b"):
            add_volume(cluster, name, storageClassName="local")
        made = add_claim(cluster, "data", storageClassName="local")
        await cluster.pass_time(0.1)
        assert phase(cluster, "data") == "Pending"
        assert cluster.events("WaitForFirstConsumer") == ["waiting for first consumer to be created before binding"]
        reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"}

        def reserve(volume: Object) -> None:
            volume["spec"]["claimRef"] = reference | {"uid": made["metadata"]["uid"]}
            volume["metadata"]["annotations"] = {"pv.kubernetes.io/bound-by-controller": "yes"}

        cluster.edit(VOLUMES, "disk-b", reserve)
        await cluster.pass_time(0.1)
        assert (bound_to(cluster, "data"), phase(cluster, "data")) == ("disk-b", "Bound")
        assert (volume_phase(cluster, "disk-a"), volume_phase(cluster, "disk-b")) == ("Available", "Bound")

    tell(story)


@pytest.mark.parametrize(
    ("content", "reason", "message"),
    [
        pytest.param(
            None, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found', id="the class is not there"
        ),
        pytest.param(
            {"provisioner": "kubernetes.io/no-provisioner"},
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/no-provisioner",
            id="nobody makes volumes of the class",
        ),
        pytest.param(
            {"provisioner": "disks.example.com"},
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external provisioner 'disks.example.com' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered.",
            id="somebody else makes volumes of the class",
        ),
    ],
)
def test_why_a_claim_waits(content: dict[str, Any] | None, reason: str, message: str) -> None:
    async def story(cluster: SmallCluster) -> None:
        if content is not None:
            add_class(cluster, "fast", **content)
        add_claim(cluster, "data", storageClassName="fast")
        await cluster.pass_time(0.1)
        assert phase(cluster, "data") == "Pending"
        assert cluster.events(reason) == [message]

    tell(story, has_provisioner=False)


def test_who_is_to_make_a_volume_is_written_on_the_claim() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_class(cluster, "fast")
        add_claim(cluster, "data", storageClassName="fast")
        await cluster.pass_time(0.1)
        annotations = cluster.get(CLAIMS, "data")["metadata"]["annotations"]
        assert annotations == {
            "volume.kubernetes.io/storage-provisioner": "disks.example.com",
            "volume.beta.kubernetes.io/storage-provisioner": "disks.example.com",
        }

    tell(story, has_provisioner=False)


def test_a_default_class_that_comes_late_is_for_claims_that_named_none() -> None:
    async def story(cluster: SmallCluster) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        cluster.create(CLAIMS, "any", spec)
        cluster.create(CLAIMS, "none", {**spec, "storageClassName": ""})
        await cluster.pass_time(0.1)
        add_class(cluster, "fast", is_default=True)
        await cluster.pass_time(0.1)
        assert cluster.get(CLAIMS, "any")["spec"]["storageClassName"] == "fast"
        assert (phase(cluster, "any"), phase(cluster, "none")) == ("Bound", "Pending")

    tell(story)


def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "disk")
        add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        # Somebody insists.
        cluster.edit(VOLUMES, "disk", lambda obj: obj["metadata"].update(finalizers=[]))
        cluster.delete(VOLUMES, "disk")
        await cluster.pass_time(0.1)
        assert cluster.get(CLAIMS, "data")["status"] == {"phase": "Lost"}
        assert cluster.events("ClaimLost") == ["Bound claim has lost its PersistentVolume. Data on the volume is lost!"]

    tell(story)
