"""VolumeZone: volumes are had in their zone and region only."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.framework.contract import SKIP, refuse
from stowplan.model.pod import Pod
from stowplan.plugins.volumezone import VolumeZone
from stowplan.testing import LocalHandle, check_plugin
from tests.unit.plugins.small_cluster import SmallCluster, make_node
from tests.unit.plugins.volumes.storage import EPHEMERAL, claim, pod, storage_class, volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ELSEWHERE = ("node(s) had no available volume zone", "unresolvable")

Labels = dict[str, str]


def refused(node: Labels, *volumes: Labels) -> bool:
    """Ask about one node and a pod with volumes of these labels."""
    names = [f"claim-{number}" for number in range(len(volumes))]
    objects = [claim(name, f"of-{name}") for name in names]
    labelled = [volume(f"of-{name}", labels=labels) for name, labels in zip(names, volumes, strict=True)]
    plugin = VolumeZone(LocalHandle(*objects, *labelled))
    told = SmallCluster(make_node("node", labels=node)).refusals(plugin, pod("pod", *names))
    assert told in ({}, {"node": ELSEWHERE})
    return bool(told)


@pytest.mark.parametrize(
    ("node", "volume_labels", "is_refused"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, False, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, True, id="another zone"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, True, id="another region"),
        pytest.param({ZONE: "a", REGION: "r"}, {REGION: "r"}, False, id="a volume of the whole region"),
        pytest.param({ZONE: "b"}, {ZONE: "a__b"}, False, id="one of several zones"),
        pytest.param({ZONE: "c"}, {ZONE: "a__b"}, True, id="none of several zones"),
        pytest.param({ZONE: "c"}, {ZONE: "a__"}, False, id="a list with an empty name in it is not read"),
        pytest.param({}, {ZONE: "a"}, False, id="a node that does not say where it is"),
        pytest.param({"rack": "1"}, {ZONE: "a"}, False, id="a node that has other labels only"),
        pytest.param({REGION: "r"}, {ZONE: "a"}, True, id="a node that tells its region but not its zone"),
        pytest.param({ZONE: "a"}, {OLD_ZONE: "a"}, False, id="an old label and the present one of the node"),
        pytest.param({ZONE: "b"}, {OLD_ZONE: "a"}, True, id="an old label and another zone by the present one"),
        pytest.param({OLD_ZONE: "b", ZONE: "a"}, {OLD_ZONE: "a"}, True, id="old labels of both come first"),
        pytest.param({OLD_ZONE: "a"}, {OLD_ZONE: "a"}, False, id="old labels of both"),
        pytest.param({OLD_ZONE: "a"}, {ZONE: "a"}, True, id="a present label and only an old one of the node"),
        pytest.param({REGION: "r"}, {OLD_REGION: "r"}, False, id="an old label of the region"),
    ],
)
def test_a_node_must_be_where_the_volume_is(node: Labels, volume_labels: Labels, is_refused: bool) -> None:
    assert refused(node, volume_labels) == is_refused


def test_all_volumes_of_a_pod_count() -> None:
    assert refused({ZONE: "a"}, {ZONE: "a"}, {ZONE: "b"})
    assert not refused({ZONE: "a"}, {ZONE: "a"}, {}, {ZONE: "b__a"})


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="a claim that is not there"),
        pytest.param([claim("data", "gone")], 'persistentvolume "gone" not found', id="a volume that is not there"),
        pytest.param(
            [claim("data")], "PersistentVolumeClaim had no pv name and storageClass name", id="neither volume nor class"
        ),
        pytest.param(
            [claim("data", storage_class="gone")],
            'storageclass.storage.k8s.io "gone" not found',
            id="a class that is not there",
        ),
        pytest.param(
            [claim("data", storage_class="fast"), storage_class("fast")],
            "PersistentVolume had no name",
            id="a claim that somebody was to bind at once",
        ),
    ],
)
def test_a_pod_whose_volume_cannot_be_found_is_refused_for_good(objects: list[Any], words: str) -> None:
    plugin = VolumeZone(LocalHandle(*objects))
    assert plugin.pre_filter(pod("pod", "data"), SmallCluster().nodes) == refuse(words)


def test_a_claim_without_a_name_is_refused_for_good() -> None:
    answer = VolumeZone(LocalHandle()).pre_filter(pod("pod", ""), SmallCluster().nodes)
    assert answer == refuse("PersistentVolumeClaim had no name")


@pytest.mark.parametrize(
    ("asked", "objects"),
    [
        pytest.param(pod("pod"), [], id="a pod without volumes"),
        pytest.param(pod("pod", EPHEMERAL), [], id="an ephemeral volume"),
        pytest.param(pod("pod", "data"), [claim("data", "v"), volume("v")], id="a volume that is anywhere"),
        pytest.param(
            pod("pod", "data"),
            [claim("data", storage_class="late"), storage_class("late", mode="WaitForFirstConsumer")],
            id="a volume that is made where the pod goes",
        ),
        pytest.param(pod("pod", {"gcePersistentDisk": {"pdName": "d"}}), [], id="a disk written into the pod"),
    ],
)
def test_nothing_to_say_about_pods_that_may_go_anywhere(asked: Pod, objects: list[Any]) -> None:
    assert VolumeZone(LocalHandle(*objects)).pre_filter(asked, SmallCluster().nodes) is SKIP


def test_pods_differ_by_where_their_volumes_are_not_by_what_they_are_called() -> None:
    here, there = {ZONE: "zone-0"}, {ZONE: "zone-1"}
    volumes = [volume("v1", labels=here), volume("v2", labels=here), volume("v3", labels=there)]
    claims = [claim("one", "v1"), claim("two", "v2"), claim("three", "v3")]
    plugin = VolumeZone(LocalHandle(*volumes, *claims))
    one, two, three, missing, gone = (
        plugin.sign(pod(name, name)) for name in ("one", "two", "three", "missing", "gone")
    )
    assert one == two
    assert len({one, three, missing, gone}) == 4


def test_it_keeps_the_contract() -> None:
    handle = LocalHandle(claim("data", "v"), volume("v", labels={ZONE: "zone-0__zone-1", OLD_REGION: "r"}))
    check_plugin(VolumeZone(handle), pods=[pod("zoned", "data"), pod("plain")])
