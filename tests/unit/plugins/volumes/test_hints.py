"""Which changes may help a pod whose volumes were the problem, by the events that the volume plugins await."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change
from stowplan.model.meta import NamespacedMeta, ObjectMeta
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorRequirement,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSpec,
    VolumeNodeResources,
)
from stowplan.model.volumes import ClaimSource, CsiInline, EphemeralSource, GcePersistentDisk, Volume
from stowplan.plugins.nodevolumelimits.plugin import NodeVolumeLimits
from stowplan.plugins.volumebinding.plugin import VolumeBinding
from stowplan.plugins.volumezone import VolumeZone
from stowplan.testing import LocalHandle, PodBuilder, make_pod

ZONE = "topology.kubernetes.io/zone"


def helps_with(
    plugin: type[NodeVolumeLimits | VolumeBinding | VolumeZone], resource: str, pod: Pod, old: Any, new: Any
) -> bool:
    """Say whether a plugin takes a change for one that may help a pod."""
    change = Change(resource, Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE)
    heard = [one for one in plugin(LocalHandle()).events() if changes.is_covered(change, one.resource, one.actions)]
    return any(one.hint is None or one.hint(pod, old, new) for one in heard)


def with_volumes(builder: PodBuilder, *volumes: Volume) -> Pod:
    pod = builder.build()
    return replace(pod, spec=replace(pod.spec, volumes=volumes))


def named(name: str, **fields: Any) -> ObjectMeta:
    return ObjectMeta(name=name, **fields)


CLAIM = Volume(name="data", persistent_volume_claim=ClaimSource(claim_name="claim"))
EPHEMERAL = Volume(name="scratch", ephemeral=EphemeralSource())
DISK = Volume(name="disk", gce_persistent_disk=GcePersistentDisk(pd_name="d"))
INLINE = Volume(name="inline", csi=CsiInline(driver="csi.example.com"))
EMPTY = Volume(name="empty")


@pytest.mark.parametrize(
    ("volume", "claim", "namespace", "is_own", "is_named"),
    [
        pytest.param(CLAIM, "claim", "default", True, True, id="a claim it names"),
        pytest.param(CLAIM, "claim", "other", False, False, id="one of that name elsewhere"),
        pytest.param(CLAIM, "another", "default", False, False, id="another claim"),
        pytest.param(EPHEMERAL, "p-scratch", "default", True, False, id="one made for an ephemeral volume"),
        pytest.param(EMPTY, "claim", "default", False, False, id="a volume without a claim"),
    ],
)
def test_claims(volume: Volume, claim: str, namespace: str, is_own: bool, is_named: bool) -> None:
    pod = with_volumes(make_pod("p"), volume)
    new = PersistentVolumeClaim(metadata=NamespacedMeta(name=claim, namespace=namespace))
    assert helps_with(VolumeBinding, changes.PERSISTENT_VOLUME_CLAIM, pod, None, new) is is_own
    assert helps_with(VolumeZone, changes.PERSISTENT_VOLUME_CLAIM, pod, None, new) is is_named


POD = make_pod("p").build()
IN_ZONE_A = TopologySelectorTerm(match_label_expressions=(TopologySelectorRequirement(key=ZONE, values=("a",)),))


def test_storage_classes() -> None:
    plain, zonal = StorageClass(metadata=named("c")), StorageClass(metadata=named("c"), allowed_topologies=(IN_ZONE_A,))
    assert helps_with(VolumeBinding, changes.STORAGE_CLASS, POD, None, plain) is True
    assert helps_with(VolumeBinding, changes.STORAGE_CLASS, POD, plain, zonal) is True
    assert helps_with(VolumeBinding, changes.STORAGE_CLASS, POD, zonal, zonal) is False
    assert helps_with(VolumeZone, changes.STORAGE_CLASS, POD, None, plain) is False
    late = StorageClass(metadata=named("c"), volume_binding_mode="WaitForFirstConsumer")
    assert helps_with(VolumeZone, changes.STORAGE_CLASS, POD, None, late) is True


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, {}, True, id="a new volume"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, True, id="a volume in another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b__a"}, False, id="a volume in the same zones, told otherwise"),
        pytest.param({ZONE: "a"}, {ZONE: "a", "x": "y"}, False, id="a volume with another label"),
        pytest.param({ZONE: "a__"}, {}, False, id="a list with an empty zone counts as none"),
    ],
)
def test_volumes_that_move(old: dict[str, str] | None, new: dict[str, str], helps: bool) -> None:
    before, after = (
        None if labels is None else PersistentVolume(metadata=named("v", labels=labels)) for labels in (old, new)
    )
    assert after is not None
    assert helps_with(VolumeZone, changes.PERSISTENT_VOLUME, POD, before, after) is helps


def make_csi_node(limits: Mapping[str, int | None], plugins: str = "") -> CSINode:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": plugins} if plugins else {}
    drivers = [CSINodeDriver(name=name, allocatable=VolumeNodeResources(count=n)) for name, n in limits.items()]
    return CSINode(metadata=named("n", annotations=annotations), spec=CSINodeSpec(drivers=tuple(drivers)))


def test_in_tree_volumes_that_other_drivers_serve() -> None:
    assert helps_with(VolumeBinding, changes.CSI_NODE, POD, None, make_csi_node({})) is True
    assert helps_with(VolumeBinding, changes.CSI_NODE, POD, make_csi_node({}, "a"), make_csi_node({}, "b")) is True
    assert (
        helps_with(VolumeBinding, changes.CSI_NODE, POD, make_csi_node({}, "a"), make_csi_node({"x": 1}, "a")) is False
    )


def test_an_empty_list_of_migrated_plugins_is_none() -> None:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ""}
    empty = CSINode(metadata=named("n", annotations=annotations))
    assert helps_with(VolumeBinding, changes.CSI_NODE, POD, make_csi_node({}), empty) is False
    assert helps_with(VolumeBinding, changes.CSI_NODE, POD, empty, make_csi_node({}, "a")) is True


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param({"a": 1}, {"a": 2}, True, id="a limit is raised"),
        pytest.param({"a": 2}, {"a": 1}, False, id="a limit is lowered"),
        pytest.param({}, {"a": 1}, True, id="a driver comes with a limit"),
        pytest.param({"a": 1}, {"a": None}, False, id="a limit is dropped, which upstream reads as 0"),
    ],
)
def test_limits_of_drivers(old: dict[str, int | None], new: dict[str, int | None], helps: bool) -> None:
    assert helps_with(NodeVolumeLimits, changes.CSI_NODE, POD, make_csi_node(old), make_csi_node(new)) is helps


@pytest.mark.parametrize(
    ("name", "before", "after", "helps"),
    [
        pytest.param("csi.example.com", True, False, True, id="its driver no longer has space checked"),
        pytest.param("csi.example.com", False, True, False, id="its driver now has space checked"),
        pytest.param("other.example.com", True, False, False, id="another driver"),
    ],
)
def test_drivers_that_have_free_space_checked(name: str, before: bool, after: bool, helps: bool) -> None:
    old, new = (
        CSIDriver(metadata=named(name), spec=CSIDriverSpec(storage_capacity=checked)) for checked in (before, after)
    )
    assert helps_with(VolumeBinding, changes.CSI_DRIVER, with_volumes(make_pod("p"), INLINE), old, new) is helps


def make_capacity(capacity: str | None = None, largest: str | None = None) -> CSIStorageCapacity:
    amounts = [None if text is None else Quantity.parse(text) for text in (capacity, largest)]
    return CSIStorageCapacity(capacity=amounts[0], maximum_volume_size=amounts[1])


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, make_capacity(), True, id="a new segment"),
        pytest.param(make_capacity("1Gi"), make_capacity("2Gi"), True, id="more space"),
        pytest.param(make_capacity("2Gi"), make_capacity("1Gi"), False, id="less space"),
        pytest.param(make_capacity(), make_capacity("1Gi"), True, id="space where none was told"),
        pytest.param(make_capacity("1Gi"), make_capacity(), False, id="no space told any more"),
        pytest.param(make_capacity("1Gi", "1Gi"), make_capacity("9Gi", "1Gi"), False, id="no larger volumes"),
    ],
)
def test_free_space(old: CSIStorageCapacity | None, new: CSIStorageCapacity, helps: bool) -> None:
    assert helps_with(VolumeBinding, changes.CSI_STORAGE_CAPACITY, POD, old, new) is helps


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        pytest.param(with_volumes(make_pod("x").on("n"), CLAIM), True, id="a placed pod with a claim"),
        pytest.param(with_volumes(make_pod("x").on("n"), EPHEMERAL), True, id="one with an ephemeral volume"),
        pytest.param(with_volumes(make_pod("x").on("n"), DISK), True, id="one with a disk that a driver now serves"),
        pytest.param(with_volumes(make_pod("x").on("n"), EMPTY), False, id="one with nothing attached"),
        pytest.param(make_pod("x").on("n").build(), False, id="one without volumes"),
        pytest.param(with_volumes(make_pod("x"), CLAIM), False, id="one without a node"),
    ],
)
def test_pods_that_free_attachments(gone: Pod, helps: bool) -> None:
    assert helps_with(NodeVolumeLimits, changes.ASSIGNED_POD, POD, gone, None) is helps


@pytest.mark.parametrize(
    ("volumes", "attacher", "helps"),
    [
        pytest.param((CLAIM,), "any", True, id="a pod with a claim may take its place"),
        pytest.param((DISK,), "pd.csi.storage.gke.io", True, id="one with a disk of that driver too"),
        pytest.param((DISK,), "ebs.csi.aws.com", False, id="one with a disk of another driver not"),
        pytest.param((EMPTY,), "any", False, id="one without such volumes not"),
    ],
)
def test_volumes_that_are_detached(volumes: tuple[Volume, ...], attacher: str, helps: bool) -> None:
    gone = VolumeAttachment(spec=VolumeAttachmentSpec(attacher=attacher))
    assert (
        helps_with(NodeVolumeLimits, changes.VOLUME_ATTACHMENT, with_volumes(make_pod("p"), *volumes), gone, None)
        is helps
    )
