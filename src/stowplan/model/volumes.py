"""Where the volumes of pods and persistent volumes come from: the sources whose identity or driver scheduling reads.

A source that is not declared here (config maps, secrets, host paths ...) never matters to placement.
"""

from __future__ import annotations

import msgspec

from stowplan.model.meta import Int32, LabelSelector, ObjectMeta, Part, ResourceList


class ResourceRequirements(Part, frozen=True, kw_only=True):
    """Requests and limits of a container, a pod or a volume claim; `claims` names entries of `spec.resourceClaims`."""

    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ContainerResourceClaim, ...] = ()


class ContainerResourceClaim(Part, frozen=True, kw_only=True):
    name: str = ""
    request: str = ""


class TypedReference(Part, frozen=True, kw_only=True):
    """The data source of a claim."""

    api_group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class PersistentVolumeClaimSpec(Part, frozen=True, kw_only=True):
    """`storage_class_name` None asks for the default class, "" for none at all."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    data_source: TypedReference | None = None
    data_source_ref: TypedReference | None = None
    volume_attributes_class_name: str | None = None


class ClaimTemplate(Part, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralSource(Part, frozen=True, kw_only=True):
    volume_claim_template: ClaimTemplate | None = None


class ClaimSource(Part, frozen=True, kw_only=True):
    claim_name: str = ""
    read_only: bool = False


class GcePersistentDisk(Part, frozen=True, kw_only=True):
    pd_name: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AwsElasticBlockStore(Part, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(name="volumeID", default="")
    partition: Int32 = 0
    read_only: bool = False


class AzureDisk(Part, frozen=True, kw_only=True):
    disk_name: str = ""
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str = ""
    read_only: bool = False


class AzureFile(Part, frozen=True, kw_only=True):
    share_name: str = ""
    secret_name: str = ""
    read_only: bool = False


class Cinder(Part, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(name="volumeID", default="")
    read_only: bool = False


class Iscsi(Part, frozen=True, kw_only=True):
    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class Rbd(Part, frozen=True, kw_only=True):
    """`pool` defaults to "rbd", as the API server fills it in."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class VsphereVolume(Part, frozen=True, kw_only=True):
    volume_path: str = ""


class PortworxVolume(Part, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(name="volumeID", default="")
    read_only: bool = False


class CsiInline(Part, frozen=True, kw_only=True):
    driver: str = ""
    read_only: bool = False


class CsiVolume(Part, frozen=True, kw_only=True):
    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = {}


class NodePath(Part, frozen=True, kw_only=True):
    path: str = ""


class ImageSource(Part, frozen=True, kw_only=True):
    reference: str = ""


class EmptyDir(Part, frozen=True, kw_only=True):
    medium: str = ""


class InTreeSources(Part, frozen=True, kw_only=True):
    """The sources that volumes of pods and persistent volumes have in common: what was in Kubernetes before CSI."""

    gce_persistent_disk: GcePersistentDisk | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    rbd: Rbd | None = None
    iscsi: Iscsi | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None


class Volume(InTreeSources, frozen=True, kw_only=True):
    """One entry of `spec.volumes`; at most one source is set."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None
    csi: CsiInline | None = None
    image: ImageSource | None = None
    empty_dir: EmptyDir | None = None
