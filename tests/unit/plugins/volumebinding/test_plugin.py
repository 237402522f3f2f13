"""VolumeBinding: the pods that it refuses as a whole, and the nodes from which a bound volume is out of reach."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.config import feature_gates
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, refuse
from stowplan.framework.verdict import WordedError
from stowplan.model.pod import Pod
from stowplan.plugins.volumebinding.binder import VolumeNeeds
from stowplan.plugins.volumebinding.plugin import VolumeBinding
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle, check_plugin
from tests.unit.plugins.small_cluster import make_node, make_pod
from tests.unit.plugins.volumes.asking import MISSING, NODES, OUT_OF_REACH, everywhere, refusals
from tests.unit.plugins.volumes.stored import (
    DRIVER,
    FAST,
    HOSTNAME,
    ZONE,
    affinity,
    bound,
    capacity,
    claim,
    csi_node,
    driver,
    ephemeral_user,
    on,
    storage_class,
    user_of,
    volume,
    where,
)

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


# Whole pods


def test_a_pod_without_claims_is_skipped() -> None:
    pod = make_pod(volumes=[{"name": "v", "emptyDir": {}}])
    assert VolumeBinding(LocalHandle()).pre_filter(pod, Nodes(LocalHandle(*NODES).table)) is SKIP


def owned(uid: str, *, controller: bool = True) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": uid, "controller": controller}
    return {"ownerReferences": [owner]}


@pytest.mark.parametrize(
    ("pod", "objects", "reason"),
    [
        pytest.param(user_of("data"), [], 'persistentvolumeclaim "data" not found', id="a claim that is not there"),
        pytest.param(
            ephemeral_user(),
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"',
            id="a claim that somebody is about to make",
        ),
        pytest.param(
            ephemeral_user(),
            [claim("pod-scratch", metadata=owned("uid-of-another"))],
            "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)",
            id="a claim made for a pod of the same name",
        ),
        pytest.param(
            ephemeral_user(),
            [claim("pod-scratch", metadata=owned("uid-of-pod", controller=False))],
            "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)",
            id="a claim that the pod owns but does not control",
        ),
        pytest.param(
            user_of("data"),
            [claim(status={"phase": "Lost"}, volumeName="disk")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "disk"',
            id="a claim that has lost its volume",
        ),
        pytest.param(
            user_of("data"),
            [claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "data" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(user_of("data"), [claim()], UNBOUND, id="a claim of a class that is not there"),
        pytest.param(user_of("data"), [claim(storageClassName="")], UNBOUND, id="a claim of no class"),
        pytest.param(
            user_of("data"),
            [claim(), storage_class(volumeBindingMode="Immediate")],
            UNBOUND,
            id="a claim of a class that binds at once",
        ),
        pytest.param(
            user_of("data"),
            [claim(volumeName="disk"), storage_class(), volume("disk")],
            UNBOUND,
            id="a claim that names its volume but is not bound yet, though its class waits",
        ),
        pytest.param(
            user_of("ready", "data"),
            [bound("ready"), volume("disk"), claim(storageClassName="")],
            UNBOUND,
            id="one of two claims",
        ),
        pytest.param(
            user_of("data", "gone"),
            [claim(storageClassName="")],
            'persistentvolumeclaim "gone" not found',
            id="what is wrong with a claim comes before what it waits for",
        ),
    ],
)
def test_a_pod_is_refused_for_a_claim_that_will_not_do(pod: Pod, objects: list[Any], reason: str) -> None:
    handle = LocalHandle(*NODES, *objects)
    assert VolumeBinding(handle).pre_filter(pod, Nodes(handle.table)) == refuse(reason)


# Bound claims


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        pytest.param({}, [], id="no affinity"),
        pytest.param({"nodeAffinity": {}}, [], id="an affinity that asks for nothing"),
        pytest.param({"nodeAffinity": on("a")}, ["b", "c"], id="one node"),
        pytest.param({"nodeAffinity": on("a", "c")}, ["b"], id="two nodes"),
        pytest.param({"nodeAffinity": affinity([where(ZONE, "east")])}, ["c"], id="a zone"),
        pytest.param({"nodeAffinity": affinity([where(ZONE, "east"), where(HOSTNAME, "b")])}, ["a", "c"], id="both"),
        pytest.param({"nodeAffinity": affinity([where(ZONE, "west")], [where(HOSTNAME, "b")])}, ["a"], id="either"),
        pytest.param({"nodeAffinity": affinity([where(ZONE, "west", operator="NotIn")])}, ["c"], id="not a zone"),
        pytest.param(
            {"nodeAffinity": affinity([where("disk", operator="Exists")])}, ["a", "b", "c"], id="no such label"
        ),
        pytest.param(
            {"nodeAffinity": affinity([where(ZONE, "x", operator="Is")])}, ["a", "b", "c"], id="no such operator"
        ),
        pytest.param(
            {
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchFields": [where("metadata.name", "a")]}]},
                },
            },
            [],
            id="a volume does not see the fields of a node",
        ),
        pytest.param({"nodeAffinity": on("a"), "status": {"phase": "Released"}}, ["b", "c"], id="whatever its phase"),
    ],
)
def test_a_pod_goes_where_its_volume_can_be_reached(fields: dict[str, Any], refused: list[str]) -> None:
    told = refusals(user_of("data"), bound(), volume("disk", **fields))
    assert told == {name: [OUT_OF_REACH] for name in refused}


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(["lost"], everywhere(MISSING), id="no node will do"),
        pytest.param(
            ["data", "lost"],
            {"a": [MISSING], "b": [OUT_OF_REACH], "c": [OUT_OF_REACH]},
            id="a volume before it decides",
        ),
        pytest.param(["lost", "data"], everywhere(MISSING), id="a volume after it is not looked at"),
    ],
)
def test_a_bound_volume_that_is_not_there(claims: list[str], expected: dict[str, list[str]]) -> None:
    there = [bound("data", "disk"), bound("lost", "gone"), volume("disk", nodeAffinity=on("a"))]
    assert refusals(user_of(*claims), *there) == expected


EBS, EBS_ZONE = "kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        pytest.param({"nodeAffinity": affinity([where(ZONE, "east")])}, ["old-west", "new-west"], id="its zone"),
        pytest.param(
            {"nodeAffinity": affinity([where(BETA_ZONE, "east")])},
            ["old-east", "old-west", "new-west"],
            id="its zone by the label of old",
        ),
        pytest.param(
            {"metadata": {"labels": {ZONE: "east"}}}, ["new-west"], id="its zone as its own label, where it counts"
        ),
        pytest.param({"metadata": {"labels": {ZONE: "east__west"}}}, [], id="two zones as its own label"),
        pytest.param({"metadata": {"labels": {ZONE: "east"}}, "nodeAffinity": {}}, ["new-west"], id="no affinity"),
        pytest.param(
            {"nodeAffinity": affinity([where(BETA_ZONE, "east"), where(BETA_REGION, "r1")])},
            ["old-east", "old-west", "new-west"],
            id="its zone and region by the labels of old",
        ),
        pytest.param({}, [], id="no zone at all"),
    ],
)
def test_a_disk_that_a_driver_has_taken_over_is_found_by_its_labels(fields: dict[str, Any], refused: list[str]) -> None:
    nodes = [
        make_node("old-east", labels={ZONE: "east"}),
        make_node("old-west", labels={ZONE: "west"}),
        make_node("new-east", labels={EBS_ZONE: "east", REGION: "r1"}),
        make_node("new-west", labels={EBS_ZONE: "west"}),
    ]
    migrated = [csi_node("new-east", EBS, "kubernetes.io/cinder"), csi_node("new-west", EBS), csi_node("old-east")]
    disk = volume("disk", awsElasticBlockStore={"volumeID": "vol-1"}, **fields)
    handle = LocalHandle(*nodes, *migrated, bound(), disk)
    plugin = VolumeBinding(handle)
    state = plugin.pre_filter(user_of("data"), Nodes(handle.table))
    assert isinstance(state, VolumeNeeds)
    told = [reject.mask for reject in plugin.filter(user_of("data"), Nodes(handle.table), state)]
    assert [node.name for row, node in enumerate(nodes) if any(mask[row] for mask in told)] == refused


@pytest.mark.parametrize(
    ("plugin", "source", "labels", "problem"),
    [
        pytest.param(
            EBS,
            {"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}},
            {},
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk)",
            id="a malformed id",
        ),
        pytest.param(
            "kubernetes.io/gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "here__there"},
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: here",
            id="zones of no region",
        ),
        pytest.param(
            "kubernetes.io/gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "us-east1-b__us-west1-b"},
            "failed to get region from zones: multiple or no regions gotten from zones, "
            "got: map[us-east1:{} us-west1:{}]",
            id="zones of two regions",
        ),
        pytest.param(
            "kubernetes.io/azure-disk",
            {"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "Shared"}},
            {},
            "kind(Shared) is not supported in csi migration",
            id="a disk that is not managed",
        ),
    ],
)
def test_a_disk_that_cannot_be_taken_over_is_an_error_where_it_should_be(
    plugin: str, source: dict[str, Any], labels: dict[str, str], problem: str
) -> None:
    disk = volume("disk", **source)
    disk = replace(disk, metadata=replace(disk.metadata, labels=labels))
    pod = user_of("data")
    for has_migrated in (True, False):
        node = make_node("one", labels={ZONE: "here__there"})
        handle = LocalHandle(node, csi_node("one", *((plugin,) if has_migrated else ())), bound(), disk)
        binding = VolumeBinding(handle)
        state = binding.pre_filter(pod, Nodes(handle.table))
        assert isinstance(state, VolumeNeeds)
        if has_migrated:
            with pytest.raises(WordedError, match=re.escape(f"could not translate pv: {problem}")):
                list(binding.filter(pod, Nodes(handle.table), state))
        else:
            assert not list(binding.filter(pod, Nodes(handle.table), state))


def test_the_zones_of_an_azure_disk_are_not_told_in_the_labels_of_its_driver() -> None:
    nodes = [make_node("here", labels={ZONE: "east"}), make_node("there", labels={ZONE: "west"})]
    source = {"diskName": "d", "diskURI": "u", "kind": "Managed"}
    disk = volume("disk", azureDisk=source, nodeAffinity=affinity([where(ZONE, "east")]))
    migrated = [csi_node(node.name, "kubernetes.io/azure-disk") for node in nodes]
    handle = LocalHandle(*nodes, *migrated, bound(), disk)
    plugin = VolumeBinding(handle)
    state = plugin.pre_filter(user_of("data"), Nodes(handle.table))
    assert isinstance(state, VolumeNeeds)
    (told,) = plugin.filter(user_of("data"), Nodes(handle.table), state)
    assert told.mask.tolist() == [False, True]


def test_it_keeps_the_contract() -> None:
    east = affinity([where(ZONE, "zone-0")])
    objects: list[Any] = [
        storage_class(),
        storage_class(FAST, DRIVER),
        driver(),
        capacity("r", "10Gi", {"matchLabels": {ZONE: "zone-1"}}),
        bound("ready"),
        volume("disk", nodeAffinity=east),
        volume("free", nodeAffinity=on("plain-1")),
        claim(),
        claim("made", storageClassName=FAST),
    ]
    pods = [user_of("ready", name="x"), user_of("data", name="y"), user_of("made", "ready", name="z"), ephemeral_user()]
    check_plugin(VolumeBinding(LocalHandle(*objects)), pods=pods)
    scoring = LocalHandle(*objects)
    scoring.feature_gates = feature_gates.parse("StorageCapacityScoring=true")
    check_plugin(VolumeBinding(scoring), pods=pods)


def test_pods_differ_by_where_their_volumes_can_be_reached_not_by_what_they_are_called() -> None:
    east = affinity([where(ZONE, "zone-0")])
    free = [bound("one", "free-1"), volume("free-1"), bound("two", "free-2"), volume("free-2")]
    tied = [bound(name, f"of-{name}") for name in ("three", "four")]
    disks = [volume(f"of-{name}", nodeAffinity=east) for name in ("three", "four")]
    plugin = VolumeBinding(LocalHandle(*free, *tied, *disks))
    one, two, three, four = (plugin.sign(user_of(name, name=name)) for name in ("one", "two", "three", "four"))
    assert one == two
    assert three == four
    assert one != three


@pytest.mark.parametrize(
    ("objects", "pods"),
    [
        pytest.param([], [user_of("one"), user_of("two")], id="claims that are missing are told by name"),
        pytest.param(
            [claim("one"), claim("two"), storage_class()], [user_of("one"), user_of("two")], id="claims that wait"
        ),
        pytest.param([], [ephemeral_user("one"), ephemeral_user("two")], id="claims that are about to be made"),
        pytest.param(
            [bound("one", "here"), volume("here"), bound("two", "gone")],
            [user_of("one"), user_of("two")],
            id="a volume that is missing is not one that can be reached from everywhere",
        ),
    ],
)
def test_pods_differ_by_claims_that_are_not_bound(objects: list[Any], pods: list[Pod]) -> None:
    plugin = VolumeBinding(LocalHandle(*objects))
    assert plugin.sign(pods[0]) != plugin.sign(pods[1])


def test_it_awaits_what_may_help_a_claim() -> None:
    add_or_update = Action.ADD | Action.UPDATE
    assert [(one.resource, one.actions) for one in VolumeBinding(LocalHandle()).events()] == [
        (changes.STORAGE_CLASS, add_or_update),
        (changes.PERSISTENT_VOLUME_CLAIM, add_or_update),
        (changes.PERSISTENT_VOLUME, add_or_update),
        (changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        (changes.CSI_NODE, add_or_update),
        (changes.CSI_DRIVER, Action.UPDATE),
        (changes.CSI_STORAGE_CAPACITY, add_or_update),
    ]
