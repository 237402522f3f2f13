"""Volumes outlive their claims, or not, as their policy says."""

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.controllers.storage_objects import (
    CLAIMS,
    VOLUMES,
    add_claim,
    add_volume,
    bound_to,
    volume_phase,
)

CSI = {"driver": "disks.example.com", "volumeHandle": "1"}
NO_DELETER = 'error getting deleter volume plugin for volume "disk": no deletable volume plugin matched'


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"phase": "Released"}, id="kept if nothing is said"),
        pytest.param({"persistentVolumeReclaimPolicy": "Retain"}, {"phase": "Released"}, id="kept"),
        pytest.param({"persistentVolumeReclaimPolicy": "Delete", "csi": CSI}, None, id="deleted by its driver"),
        pytest.param(
            {"persistentVolumeReclaimPolicy": "Delete"},
            {"phase": "Failed", "message": NO_DELETER},
            id="failed if nobody can delete it",
        ),
        pytest.param({"persistentVolumeReclaimPolicy": "Recycle"}, {"phase": "Available"}, id="emptied"),
    ],
)
def test_what_becomes_of_a_volume_after_its_claim(spec: Object, expected: Object | None) -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "disk", **spec)
        add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        assert volume_phase(cluster, "disk") == "Bound"
        cluster.delete(CLAIMS, "data")
        await cluster.pass_time(0.1)
        assert not cluster.exists(CLAIMS, "data")
        if expected is None:
            assert not cluster.exists(VOLUMES, "disk")
            return
        status = cluster.get(VOLUMES, "disk")["status"]
        assert {key: status[key] for key in status if key != "lastPhaseTransitionTime"} == expected

    tell(story)


def test_a_released_volume_is_not_for_others_until_it_is_freed() -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "disk")
        add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        cluster.delete(CLAIMS, "data")
        await cluster.pass_time(0.1)
        add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        assert (bound_to(cluster, "data"), volume_phase(cluster, "disk")) == ("", "Released")
        cluster.edit(VOLUMES, "disk", lambda obj: obj["spec"].pop("claimRef"))
        await cluster.pass_time(0.1)
        assert (bound_to(cluster, "data"), volume_phase(cluster, "disk")) == ("disk", "Bound")

    tell(story)


@pytest.mark.parametrize(
    ("annotations", "reference"),
    [
        pytest.param({"pv.kubernetes.io/bound-by-controller": "yes"}, None, id="found by a controller"),
        pytest.param({}, {"namespace": "default", "name": "data"}, id="reserved by its maker"),
    ],
)
def test_a_volume_whose_claim_took_another_one_is_given_back(annotations: dict[str, str], reference: Any) -> None:
    async def story(cluster: SmallCluster) -> None:
        add_volume(cluster, "first")
        made = add_claim(cluster, "data")
        await cluster.pass_time(0.1)
        add_volume(cluster, "second")

        def reserve(volume: Object) -> None:
            uid = made["metadata"]["uid"]
            volume["spec"]["claimRef"] = {"namespace": "default", "name": "data", "uid": uid}
            volume["metadata"]["annotations"] = dict(annotations)

        cluster.edit(VOLUMES, "second", reserve)
        await cluster.pass_time(0.1)
        assert bound_to(cluster, "data") == "first"
        volume = cluster.get(VOLUMES, "second")
        assert (volume["spec"].get("claimRef"), volume["status"]["phase"]) == (reference, "Available")

    tell(story)
