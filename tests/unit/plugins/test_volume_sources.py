"""In-tree disks as the CSI drivers know them that have taken them over."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model import decode
from stowplan.model.storage import PersistentVolume
from stowplan.model.volumes import Volume
from stowplan.plugins.volume_sources import CSIVolume, in_pod, in_volume, serving_driver

BETA_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
GCE = {"gcePersistentDisk": {"pdName": "disk"}}
PD = "pd.csi.storage.gke.io"
EBS = "ebs.csi.aws.com"


def volume(source: dict[str, Any], **labels: str) -> PersistentVolume:
    return decode.convert(PersistentVolume, {"metadata": {"name": "volume", "labels": labels}, "spec": source})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            GCE, CSIVolume(PD, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"), id="a GCE disk, zone unknown"
        ),
        pytest.param({"awsElasticBlockStore": {"volumeID": "vol-1"}}, CSIVolume(EBS, "vol-1"), id="an AWS volume"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}}, CSIVolume(EBS, "vol-1"), id="as a URL"
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, CSIVolume(EBS, "vol-1"), id="a URL without a zone"
        ),
        pytest.param(
            {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/d"}},
            CSIVolume("disk.csi.azure.com", "/subscriptions/s/d"),
            id="an Azure disk",
        ),
        pytest.param({"cinder": {"volumeID": "c"}}, CSIVolume("cinder.csi.openstack.org", "c"), id="a Cinder volume"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, CSIVolume("pxd.portworx.com", "p"), id="a Portworx one"),
        pytest.param({"azureFile": {"shareName": "s", "secretName": "k"}}, None, id="an Azure file share, not counted"),
        pytest.param({"vsphereVolume": {"volumePath": "[ds] v"}}, None, id="a vSphere volume, not counted"),
        pytest.param({"iscsi": {"iqn": "i", "targetPortal": "t"}}, None, id="a disk that no driver took over"),
    ],
)
def test_a_disk_has_its_drivers_handle(source: dict[str, Any], expected: CSIVolume | None) -> None:
    assert in_pod(decode.convert(Volume, {"name": "v", **source})) == expected
    assert in_volume(volume(source)) == expected


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({ZONE: "us-east1-b"}, "projects/UNSPECIFIED/zones/us-east1-b/disks/disk", id="its zone"),
        pytest.param({BETA_ZONE: "us-east1-c"}, "projects/UNSPECIFIED/zones/us-east1-c/disks/disk", id="the old label"),
        pytest.param(
            {BETA_ZONE: "us-east1-c", ZONE: "us-east1-b"},
            "projects/UNSPECIFIED/zones/us-east1-c/disks/disk",
            id="the old label before the present one",
        ),
        pytest.param(
            {ZONE: "us-east1-b__us-east1-c"}, "projects/UNSPECIFIED/regions/us-east1/disks/disk", id="their region"
        ),
    ],
)
def test_a_gce_disk_is_known_by_where_it_is(labels: dict[str, str], handle: str) -> None:
    assert in_volume(volume(GCE, **labels)) == CSIVolume(PD, handle)


@pytest.mark.parametrize(
    "persistent_volume",
    [
        pytest.param(volume(GCE, **{ZONE: "us-east1-b__us-west1-b"}), id="a disk in zones of two regions"),
        pytest.param(volume(GCE, **{ZONE: "here__there"}), id="a disk in zones of no region"),
        pytest.param(volume({"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}), id="a malformed AWS id"),
        pytest.param(volume({"azureDisk": {"diskName": "d"}}), id="a disk without an id"),
        pytest.param(volume({"azureDisk": {"diskURI": "u", "kind": "Shared"}}), id="an Azure disk that is not managed"),
    ],
)
def test_a_volume_that_its_driver_would_not_know_does_not_count(persistent_volume: PersistentVolume) -> None:
    assert in_volume(persistent_volume) is None


def test_a_malformed_id_in_a_pod_is_a_fault() -> None:
    source = decode.convert(Volume, {"name": "v", "awsElasticBlockStore": {"volumeID": "aws://zone/disk"}})
    with pytest.raises(ValueError, match=r"Volume ID Invalid format for AWS volume \(aws://zone/disk\)"):
        in_pod(source)


@pytest.mark.parametrize(
    ("provisioner", "driver"),
    [
        pytest.param("ebs.csi.aws.com", "ebs.csi.aws.com", id="a driver serves itself"),
        pytest.param("kubernetes.io/no-provisioner", "kubernetes.io/no-provisioner", id="nobody is taken for a driver"),
        pytest.param("kubernetes.io/aws-ebs", "ebs.csi.aws.com", id="one that was taken over"),
        pytest.param("kubernetes.io/portworx-volume", "pxd.portworx.com", id="another that was"),
        pytest.param("kubernetes.io/azure-file", "", id="taken over, but not counted"),
        pytest.param("kubernetes.io/vsphere-volume", "", id="neither are these"),
    ],
)
def test_a_provisioner_is_served_by_a_driver(provisioner: str, driver: str) -> None:
    assert serving_driver(provisioner) == driver
