"""NodeVolumeLimits: how many volumes a node can attach, and what counts as one."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config import feature_gates
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework.contract import SKIP
from stowplan.framework.verdict import WordedError
from stowplan.model.pod import Pod
from stowplan.plugins.nodevolumelimits.attached_volumes import FEW_ROWS
from stowplan.plugins.nodevolumelimits.plugin import NodeVolumeLimits
from stowplan.testing import LocalHandle, check_plugin
from tests.unit.plugins.small_cluster import Refusals, SmallCluster, make_node
from tests.unit.plugins.volumes.storage import (
    EBS,
    EPHEMERAL,
    PD,
    attachment,
    bound,
    claim,
    csi_driver,
    csi_node,
    pod,
    storage_class,
    volume,
)

FULL = ("node(s) exceed max volume count", "resolvable")
AWS_DISK = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
OTHER_DISK = {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-2"}}


def refusals(wanting: Pod, placed: tuple[Pod, ...], *objects: Any) -> Refusals:
    """Ask about a node with some pods, and an empty one that has no CSINode."""
    cluster = SmallCluster(make_node("node"), make_node("bare"))
    cluster.place("node", *placed)
    return cluster.refusals(NodeVolumeLimits(LocalHandle(*objects)), wanting)


@pytest.mark.parametrize(
    ("placed", "objects", "is_refused"),
    [
        pytest.param((), [csi_node("node", ebs=1)], False, id="room for one"),
        pytest.param((), [csi_node("node", ebs=0)], True, id="room for none"),
        pytest.param((), [csi_node("node", ebs=None)], False, id="a driver without a limit"),
        pytest.param((), [csi_node("node", pd=0)], False, id="the limit of another driver"),
        pytest.param((), [], False, id="no CSINode"),
        pytest.param((pod("a", "a"),), [csi_node("node", ebs=1)], True, id="taken by a pod"),
        pytest.param((pod("a", "a"),), [csi_node("node", ebs=2)], False, id="room beside a pod"),
        pytest.param((pod("a", "new"),), [csi_node("node", ebs=1)], False, id="a pod has the volume already"),
        pytest.param((pod("a", "new"), pod("b", "a")), [csi_node("node", ebs=1)], False, id="nothing new, though full"),
        pytest.param((pod("a", "a"), pod("b", "a")), [csi_node("node", ebs=2)], False, id="a claim shared by two pods"),
        pytest.param((pod("a", "a", "b"),), [csi_node("node", ebs=2)], True, id="two claims of a pod"),
        pytest.param((pod("a", "g"),), [csi_node("node", ebs=1, pd=1)], False, id="a volume of another driver"),
        pytest.param((pod("a", "gone"),), [csi_node("node", ebs=1)], False, id="a pod whose claim is gone"),
        pytest.param((pod("a"),), [csi_node("node", ebs=1)], False, id="a pod without volumes"),
    ],
)
def test_a_node_attaches_so_many_volumes_of_a_driver(
    placed: tuple[Pod, ...], objects: list[Any], is_refused: bool
) -> None:
    storage = bound("new", "a", "b") + bound("g", driver=PD)
    assert refusals(pod("pod", "new"), placed, *storage, *objects) == ({"node": FULL} if is_refused else {})


@pytest.mark.parametrize(
    ("attachments", "is_refused"),
    [
        pytest.param([attachment("node", "of-a")], False, id="that of a volume in use counts once"),
        pytest.param([attachment("node", "of-b")], True, id="that of another volume counts"),
        pytest.param([attachment("bare", "of-b")], False, id="that of another node does not"),
        pytest.param([attachment("node", "of-new")], True, id="that of the volume wanted counts beside it"),
        pytest.param([attachment("node", "gone")], False, id="that of a volume that is gone does not"),
        pytest.param([attachment("node", None)], False, id="that of a disk in a pod does not"),
        pytest.param([attachment("node", "in-tree")], False, id="that of an in-tree volume does not"),
        pytest.param([attachment("node", "of-b", PD)], False, id="that by another driver counts for that one"),
        pytest.param([attachment("node", "of-b", "")], False, id="that by nobody does not"),
    ],
)
def test_attachments_of_a_node_count(attachments: list[Any], is_refused: bool) -> None:
    in_tree = volume("in-tree", awsElasticBlockStore={"volumeID": "vol-9"})
    objects = [*bound("new", "a", "b"), in_tree, csi_node("node", ebs=2), *attachments]
    expected: Refusals = {"node": FULL} if is_refused else {}
    assert refusals(pod("pod", "new"), (pod("a", "a"),), *objects) == expected


@pytest.mark.parametrize(
    ("storage", "is_refused"),
    [
        pytest.param([claim("new", storage_class="ebs"), storage_class("ebs")], True, id="of its class's driver"),
        pytest.param([claim("new", storage_class="pd"), storage_class("pd", PD)], False, id="of another driver"),
        pytest.param([claim("new", storage_class="gone")], False, id="of a class that is gone"),
        pytest.param([claim("new")], False, id="of no class"),
        pytest.param(
            [claim("new", "gone", storage_class="ebs"), storage_class("ebs")], True, id="whose volume is not there"
        ),
        pytest.param(
            [claim("new", storage_class="old"), storage_class("old", "kubernetes.io/aws-ebs")],
            True,
            id="of a provisioner that was taken over",
        ),
        pytest.param(
            [claim("new", storage_class="old"), storage_class("old", "kubernetes.io/azure-file")],
            False,
            id="of a provisioner that does not count",
        ),
        pytest.param([claim("new", "v"), volume("v", hostPath={"path": "/"})], False, id="that is no disk"),
        pytest.param(
            [claim("new", "v"), volume("v", awsElasticBlockStore={"volumeID": "vol-1"})], True, id="an in-tree disk"
        ),
        pytest.param(
            [claim("new", "v"), volume("v", azureFile={"shareName": "s"})], False, id="an in-tree disk not counted"
        ),
    ],
)
def test_a_claim_counts_for_the_driver_that_serves_it(storage: list[Any], is_refused: bool) -> None:
    objects = [*storage, *bound("a"), csi_node("node", ebs=1)]
    expected: Refusals = {"node": FULL} if is_refused else {}
    assert refusals(pod("pod", "new"), (pod("a", "a"),), *objects) == expected


@pytest.mark.parametrize(
    ("placed", "wanted", "limit", "is_refused"),
    [
        pytest.param(pod("a", OTHER_DISK), AWS_DISK, 1, True, id="beside another disk"),
        pytest.param(pod("a", AWS_DISK), AWS_DISK, 1, False, id="that a pod has already"),
        pytest.param(pod("a", "old"), OTHER_DISK, 1, False, id="that a pod has through a claim"),
        pytest.param(pod("a", "new-style"), OTHER_DISK, 1, False, id="that a pod has by its driver"),
        pytest.param(pod("a", "a"), AWS_DISK, 1, True, id="beside a volume of its driver"),
        pytest.param(pod("a", "a"), {"vsphereVolume": {"volumePath": "p"}}, 0, False, id="that does not count"),
    ],
)
def test_disks_that_a_driver_has_taken_over_count(placed: Pod, wanted: Any, limit: int, is_refused: bool) -> None:
    old = [claim("old", "old"), volume("old", awsElasticBlockStore={"volumeID": "vol-2"})]
    new = [claim("new-style", "new-style"), volume("new-style", EBS, "vol-2")]
    objects = [*old, *new, *bound("a"), csi_node("node", ebs=limit)]
    expected: Refusals = {"node": FULL} if is_refused else {}
    assert refusals(pod("pod", wanted), (placed,), *objects) == expected


def test_what_a_node_says_of_migrated_plugins_changes_nothing() -> None:
    annotated = csi_node("node", {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}, ebs=0)
    assert refusals(pod("pod", AWS_DISK), (), annotated) == {"node": FULL}


def test_several_drivers_of_a_pod_are_one_refusal() -> None:
    objects = [*bound("e"), *bound("g", driver=PD), csi_node("node", ebs=0, pd=0)]
    assert refusals(pod("pod", "e", "g"), (), *objects) == {"node": FULL}


# Ephemeral volumes


def test_an_ephemeral_volume_counts_by_the_claim_made_for_it() -> None:
    made = claim("pod-v0", storage_class="ebs", owner="uid-pod")
    objects = [made, storage_class("ebs"), *bound("a"), csi_node("node", ebs=1)]
    assert refusals(pod("pod", EPHEMERAL), (pod("a", "a"),), *objects) == {"node": FULL}
    assert refusals(pod("pod", EPHEMERAL), (), *objects) == {}


def test_a_claim_that_is_missing_is_refused_on_every_node() -> None:
    words = 'looking up PVC default/pod-v0: persistentvolumeclaim "pod-v0" not found'
    refusal = (words, "unresolvable")
    assert refusals(pod("pod", EPHEMERAL), (), csi_node("node", ebs=9)) == {"node": refusal, "bare": refusal}


def test_a_claim_made_for_another_pod_is_an_error() -> None:
    taken = claim("pod-v0", storage_class="ebs", owner="uid-of-its-forerunner")
    with pytest.raises(
        WordedError, match=r"PVC default/pod-v0 was not created for pod default/pod \(pod is not owner\)"
    ):
        refusals(pod("pod", EPHEMERAL), (), taken, storage_class("ebs"))


def test_so_it_is_if_a_pod_of_a_node_with_limits_has_it() -> None:
    objects = [claim("a-v0", owner="uid-other"), *bound("new")]
    placed = (pod("a", EPHEMERAL),)
    assert refusals(pod("pod", "new"), placed, *objects, csi_node("node", ebs=None)) == {}
    with pytest.raises(WordedError, match=r"PVC default/a-v0 was not created for pod default/a \(pod is not owner\)"):
        refusals(pod("pod", "new"), placed, *objects, csi_node("node", ebs=9))


def test_pods_of_one_name_are_told_apart_by_the_owner_of_the_claim() -> None:
    objects = [claim("a-v0", owner="second", storage_class="ebs"), storage_class("ebs"), *bound("new")]
    cluster = SmallCluster(make_node("node"))
    first, second = pod("a", EPHEMERAL, uid="first"), pod("a", EPHEMERAL, uid="second")
    # The first is still remembered when the second takes its place.
    kept = cluster.table.shape_of(first)
    cluster.place("node", second)
    plugin = NodeVolumeLimits(LocalHandle(*objects, csi_node("node", ebs=1)))
    assert cluster.refusals(plugin, pod("pod", "new")) == {"node": FULL}
    assert kept.pod.uid == "first"


def test_a_disk_that_no_driver_could_know_is_an_error_where_there_is_a_csi_node() -> None:
    wrong = {"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}
    with pytest.raises(WordedError, match=r"converting volume\(v0\) from inline to csi: failed to translate"):
        refusals(pod("pod", wrong), (), csi_node("node", ebs=9))
    assert refusals(pod("pod", wrong), ()) == {}


# As it would be


@pytest.mark.parametrize(
    ("gone", "added", "is_refused"),
    [
        pytest.param((pod("a", "a"),), (), False, id="its pod goes"),
        pytest.param((), (), True, id="nobody goes"),
        pytest.param((pod("a", "a"),), (pod("c", "c"),), True, id="another comes in its place"),
        pytest.param((pod("a", "a"),), (pod("c", "new"),), False, id="another comes with the volume wanted"),
    ],
)
def test_room_is_made_by_pods_that_go(gone: tuple[Pod, ...], added: tuple[Pod, ...], is_refused: bool) -> None:
    cluster = SmallCluster(make_node("node"))
    cluster.place("node", pod("a", "a"))
    plugin = NodeVolumeLimits(LocalHandle(*bound("new", "a", "c"), csi_node("node", ebs=1)))
    supposed = cluster.suppose("node", added=added, gone=gone)
    expected: Refusals = {"node": FULL} if is_refused else {}
    assert cluster.refusals(plugin, pod("pod", "new"), supposed) == expected


def test_a_shared_volume_stays_until_the_last_of_its_pods_goes() -> None:
    cluster = SmallCluster(make_node("node"))
    cluster.place("node", pod("a", "a"), pod("b", "a"))
    plugin = NodeVolumeLimits(LocalHandle(*bound("new", "a"), csi_node("node", ebs=1)))
    one = cluster.suppose("node", gone=(pod("a", "a"),))
    both = cluster.suppose("node", gone=(pod("a", "a"), pod("b", "a")))
    assert cluster.refusals(plugin, pod("pod", "new"), one) == {"node": FULL}
    assert cluster.refusals(plugin, pod("pod", "new"), both) == {}


def test_a_volume_that_is_attached_stays_when_its_pod_goes() -> None:
    cluster = SmallCluster(make_node("node"))
    cluster.place("node", pod("a", "a"))
    plugin = NodeVolumeLimits(LocalHandle(*bound("new", "a"), csi_node("node", ebs=1), attachment("node", "of-a")))
    gone = cluster.suppose("node", gone=(pod("a", "a"),))
    assert cluster.refusals(plugin, pod("pod", "new"), gone) == {"node": FULL}


# The gate VolumeLimitScaling


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param([], {}, id="a driver that nobody describes"),
        pytest.param([csi_driver()], {}, id="one that may be missing"),
        pytest.param([csi_driver(must_be_there=True)], {"bare", "other"}, id="one that must be there"),
        pytest.param([csi_driver(PD, must_be_there=True)], {}, id="another that must be there"),
    ],
)
def test_with_the_gate_a_driver_must_be_installed_if_it_says_so(known: list[Any], expected: set[str]) -> None:
    cluster = SmallCluster(make_node("node"), make_node("bare"), make_node("other"))
    handle = LocalHandle(*bound("new"), csi_node("node", ebs=None), csi_node("other", pd=None), *known)
    handle.feature_gates = feature_gates.parse("VolumeLimitScaling=true")
    refusal = ("ebs.csi.aws.com CSI driver is not installed on the node", "resolvable")
    assert cluster.refusals(NodeVolumeLimits(handle), pod("pod", "new")) == dict.fromkeys(expected, refusal)


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param(feature_gates.parse("VolumeLimitScaling=false"), id="switched off"),
        pytest.param(feature_gates.default_gates("1.36"), id="before 1.37"),
    ],
)
def test_without_the_gate_no_driver_need_be_installed(gates: FeatureGates) -> None:
    cluster = SmallCluster(make_node("node"))
    handle = LocalHandle(*bound("new"), csi_driver(must_be_there=True))
    handle.feature_gates = gates
    assert cluster.refusals(NodeVolumeLimits(handle), pod("pod", "new")) == {}


def test_since_1_37_a_driver_may_have_to_be_installed() -> None:
    cluster = SmallCluster(make_node("node"))
    handle = LocalHandle(*bound("new"), csi_driver(must_be_there=True))
    refusal = ("ebs.csi.aws.com CSI driver is not installed on the node", "resolvable")
    assert cluster.refusals(NodeVolumeLimits(handle), pod("pod", "new")) == {"node": refusal}


def test_with_the_gate_disks_need_their_driver_only_where_there_is_a_csi_node() -> None:
    cluster = SmallCluster(make_node("node"), make_node("bare"))
    handle = LocalHandle(csi_node("node", pd=None), csi_driver(must_be_there=True))
    handle.feature_gates = feature_gates.parse("VolumeLimitScaling=true")
    refusal = ("ebs.csi.aws.com CSI driver is not installed on the node", "resolvable")
    assert cluster.refusals(NodeVolumeLimits(handle), pod("pod", AWS_DISK)) == {"node": refusal}


# Who is asked


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(pod("pod"), id="a pod without volumes"),
        pytest.param(pod("pod", {"emptyDir": {}}), id="an empty directory"),
        pytest.param(pod("pod", {"csi": {"driver": EBS}}), id="an inline volume of a driver"),
        pytest.param(pod("pod", {"iscsi": {"iqn": "i", "targetPortal": "t"}}), id="a disk that no driver took over"),
    ],
)
def test_nothing_to_say_about_pods_that_attach_nothing(asked: Pod) -> None:
    assert NodeVolumeLimits(LocalHandle()).pre_filter(asked, SmallCluster().nodes) is SKIP


def test_objects_that_change_are_followed() -> None:
    cluster = SmallCluster(make_node("node"))
    cluster.place("node", pod("a", "a"))
    handle = LocalHandle(
        *bound("new"), claim("a", storage_class="pd"), storage_class("pd", PD), csi_node("node", ebs=1)
    )
    plugin, wanting = NodeVolumeLimits(handle), pod("pod", "new")
    assert cluster.refusals(plugin, wanting) == {}
    handle.put(storage_class("pd", EBS))
    assert cluster.refusals(plugin, wanting) == {"node": FULL}
    handle.put(claim("a", "disk", storage_class="pd"), volume("disk", PD))
    assert cluster.refusals(plugin, wanting) == {}
    handle.put(volume("disk", EBS))
    assert cluster.refusals(plugin, wanting) == {"node": FULL}
    handle.put(csi_node("node", ebs=2))
    assert cluster.refusals(plugin, wanting) == {}
    handle.put(attachment("node", "extra"))
    assert cluster.refusals(plugin, wanting) == {}
    handle.put(volume("extra"))
    assert cluster.refusals(plugin, wanting) == {"node": FULL}
    handle.listers.remove("VolumeAttachment", "", "node-extra")
    assert cluster.refusals(plugin, wanting) == {}


def test_pods_differ_by_how_many_volumes_of_a_driver_they_want_and_by_which_only_where_that_may_matter() -> None:
    cluster = SmallCluster(make_node("full"), make_node("free"))
    cluster.place("full", pod("user", "tight"), pod("another", "tight-too"))
    cluster.place("free", pod("third", "loose"))
    claims = bound("one", "two", "tight", "tight-too", "loose")
    handle = LocalHandle(*claims, *bound("other", driver=PD), csi_node("full", ebs=2), csi_node("free", ebs=2))
    plugin = NodeVolumeLimits(handle)
    # Who uses what is known from the first look at the nodes.
    cluster.refusals(plugin, pod("first", "one"))
    signed = {name: plugin.sign(pod("pod", name)) for name in ("one", "two", "tight", "tight-too", "loose", "other")}
    assert signed["one"] == signed["two"] == signed["loose"]
    apart = [signed[name] for name in ("one", "tight", "tight-too", "other")]
    assert len({*apart, plugin.sign(pod("pod", "one", "two")), plugin.sign(pod("pod", "gone"))}) == 6
    # Two volumes more would be one too many.
    assert plugin.sign(pod("pod", "loose", "one")) != plugin.sign(pod("pod", "one", "two"))


def test_a_volume_that_is_used_on_many_nodes_is_known_by_name() -> None:
    names = [f"n{number}" for number in range(FEW_ROWS + 1)]
    cluster = SmallCluster(*map(make_node, names))
    plugin = NodeVolumeLimits(LocalHandle(*bound("everywhere", "own")))
    for number, name in enumerate(names):
        cluster.place(name, pod(f"user-{number}", "everywhere"))
    cluster.refusals(plugin, pod("first", "own"))
    assert plugin.sign(pod("pod", "everywhere")) != plugin.sign(pod("pod", "own"))


def test_a_volume_that_nobody_uses_may_be_one_that_a_pod_brings_that_is_supposed_to_come() -> None:
    cluster = SmallCluster(make_node("node"))
    plugin = NodeVolumeLimits(LocalHandle(*bound("shared", "own"), csi_node("node", ebs=1)))
    coming = cluster.suppose("node", added=(pod("coming", "shared"),))
    assert cluster.refusals(plugin, pod("pod", "shared"), coming) == {}
    assert cluster.refusals(plugin, pod("pod", "own"), coming) == {"node": FULL}


def test_it_keeps_the_contract() -> None:
    nodes = [csi_node(f"plain-{number}", ebs=number % 2) for number in range(1, 6)]
    made = claim("own-v0", storage_class="ebs", owner="uid-own")
    handle = LocalHandle(*bound("data", "more"), made, storage_class("ebs"), *nodes, csi_node("gpu", ebs=0))
    pods = [pod("one", "data"), pod("two", "data", "more"), pod("own", EPHEMERAL), pod("disk", AWS_DISK), pod("plain")]
    check_plugin(NodeVolumeLimits(handle), pods=pods)
