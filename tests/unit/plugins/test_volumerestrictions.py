"""VolumeRestrictions: disks that cannot be shared on a node, claims that cannot be shared at all."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.framework.contract import SKIP, refuse
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.plugins.volumerestrictions import VolumeRestrictions
from stowplan.testing import LocalHandle
from tests.unit.plugins.small_cluster import Refusals, SmallCluster, make_node, make_pod

NO_DISK = ("node(s) had no available disk", "resolvable")
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    "resolvable",
)

Source = dict[str, Any]


def mounts(*sources: Source, name: str = "pod", namespace: str = "default") -> Pod:
    volumes = [{"name": f"v{index}", **source} for index, source in enumerate(sources)]
    metadata = {"name": name, "namespace": namespace, "uid": name}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"volumes": volumes}})


def gce(name: str, read_only: bool = False) -> Source:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def aws(name: str, read_only: bool = False) -> Source:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, portal: str = "10.0.0.1", read_only: bool = False) -> Source:
    return {"iscsi": {"targetPortal": portal, "iqn": iqn, "lun": 0, "readOnly": read_only}}


def rbd(monitors: list[str], image: str = "image", pool: str = "pool", read_only: bool = False) -> Source:
    return {"rbd": {"monitors": monitors, "image": image, "pool": pool, "readOnly": read_only}}


def uses(claim: str) -> Source:
    return {"persistentVolumeClaim": {"claimName": claim}}


def claim(name: str, mode: str = "ReadWriteOncePod", namespace: str = "default") -> PersistentVolumeClaim:
    content = {"metadata": {"name": name, "namespace": namespace}, "spec": {"accessModes": [mode]}}
    return decode.convert(PersistentVolumeClaim, content)


def plugin(*claims: PersistentVolumeClaim) -> VolumeRestrictions:
    return VolumeRestrictions(LocalHandle(*claims))


def cluster_with(*pods: Pod) -> SmallCluster:
    cluster = SmallCluster(make_node("node"), make_node("empty"))
    cluster.place("node", *pods)
    return cluster


@pytest.mark.parametrize(
    ("held", "wanted", "is_free"),
    [
        pytest.param(gce("d"), gce("d"), False, id="one GCE disk"),
        pytest.param(gce("d"), gce("e"), True, id="two GCE disks"),
        pytest.param(gce("d", True), gce("d", True), True, id="a GCE disk that both read only"),
        pytest.param(gce("d", True), gce("d"), False, id="a GCE disk that one writes"),
        pytest.param(aws("d"), aws("d"), False, id="one AWS volume"),
        pytest.param(aws("d", True), aws("d", True), False, id="an AWS volume that both read only"),
        pytest.param(aws("d"), gce("d"), True, id="the same name in two clouds"),
        pytest.param(iscsi("t"), iscsi("t", "10.0.0.2"), False, id="an iSCSI target by two portals"),
        pytest.param(iscsi("t", read_only=True), iscsi("t", read_only=True), True, id="an iSCSI target read only"),
        pytest.param(iscsi("t"), iscsi("u"), True, id="two iSCSI targets"),
        pytest.param(rbd(["m", "n"]), rbd(["n", "o"]), False, id="an RBD image by a monitor in common"),
        pytest.param(rbd(["m"]), rbd(["n"]), True, id="RBD images by different monitors"),
        pytest.param(rbd(["m"]), rbd(["m"], pool="other"), True, id="RBD images of two pools"),
        pytest.param(rbd(["m"]), rbd(["m"], image="other"), True, id="two RBD images"),
        pytest.param(rbd(["m"], read_only=True), rbd(["m"], read_only=True), True, id="an RBD image read only"),
    ],
)
def test_a_disk_is_had_by_one_pod_of_a_node(held: Source, wanted: Source, is_free: bool) -> None:
    expected: Refusals = {} if is_free else {"node": NO_DISK}
    assert cluster_with(mounts(held)).refusals(plugin(), mounts(wanted)) == expected


def test_a_volume_of_two_sources_is_compared_by_its_disk() -> None:
    template = {"spec": {"resources": {"requests": {"storage": "1Gi"}}, "selector": {"matchLabels": {"a": "b"}}}}
    both = {**gce("d"), "ephemeral": {"volumeClaimTemplate": template}}
    assert cluster_with(mounts(both)).refusals(plugin(), mounts(both)) == {"node": NO_DISK}


def test_a_claim_for_one_pod_is_refused_on_every_node_while_it_is_in_use() -> None:
    cluster = cluster_with(mounts(uses("data"), name="user"))
    assert cluster.refusals(plugin(claim("data")), mounts(uses("data"))) == {"node": IN_USE, "empty": IN_USE}


def test_the_disk_is_complained_of_before_the_claim() -> None:
    cluster = cluster_with(mounts(gce("d"), uses("data"), name="user"))
    refused = cluster.refusals(plugin(claim("data")), mounts(gce("d"), uses("data")))
    assert refused == {"node": NO_DISK, "empty": IN_USE}


@pytest.mark.parametrize(
    ("known", "used_by"),
    [
        pytest.param(claim("data", "ReadWriteOnce"), mounts(uses("data")), id="a claim for one node"),
        pytest.param(claim("data"), mounts(uses("other")), id="a claim that nobody uses"),
        pytest.param(claim("data"), mounts(uses("data"), namespace="other"), id="a claim of that name elsewhere"),
        pytest.param(claim("data"), mounts(gce("data")), id="a disk of that name"),
    ],
)
def test_nothing_to_say_about_claims_that_may_be_used(known: PersistentVolumeClaim, used_by: Pod) -> None:
    assert plugin(known).pre_filter(mounts(uses("data")), cluster_with(used_by).nodes) is SKIP


def test_a_pod_whose_claim_is_missing_is_refused_for_good() -> None:
    answer = plugin(claim("data")).pre_filter(mounts(uses("data"), uses("gone")), cluster_with().nodes)
    assert answer == refuse('persistentvolumeclaim "gone" not found')


def test_pods_differ_by_claims_that_are_meant_for_one_pod_and_by_no_others() -> None:
    known = plugin(claim("one"), claim("two"), claim("shared", "ReadWriteMany"), claim("too", "ReadWriteMany"))
    one, two, shared, too, gone, missing = (
        known.sign(mounts(uses(name))) for name in ("one", "two", "shared", "too", "gone", "missing")
    )
    assert shared == too
    assert len({one, two, shared, gone, missing}) == 5


def test_a_claim_is_free_once_its_pod_is_gone() -> None:
    user = mounts(uses("data"), name="user")
    cluster = cluster_with(user)
    gone = cluster.suppose("node", gone=(user,))
    assert cluster.refusals(plugin(claim("data")), mounts(uses("data")), gone) == {}
    swapped = cluster.suppose("node", gone=(user,), added=(mounts(uses("data"), name="next"),))
    assert cluster.refusals(plugin(claim("data")), mounts(uses("data")), swapped) == {"node": IN_USE}


def test_a_disk_is_free_once_its_pod_is_gone() -> None:
    user = mounts(gce("d"), name="user")
    cluster = cluster_with(user)
    assert cluster.refusals(plugin(), mounts(gce("d")), cluster.suppose("node", gone=(user,))) == {}


def test_a_pod_without_disks_and_claims_is_none_of_its_business() -> None:
    assert plugin().pre_filter(make_pod(), cluster_with(mounts(gce("d"))).nodes) is SKIP
