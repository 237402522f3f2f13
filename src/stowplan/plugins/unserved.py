"""Stand-ins for plugins that are not built yet: a clear no to every pod that needs one of them.

Without them such a pod would be placed as if it had no volumes and no claims. To all other pods they are what the
plugins they stand for would be, down to the words. `docs/decisions/0004` has the reasons.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from stowplan.framework.contract import (
    SKIP,
    Attempt,
    Awaited,
    Plugin,
    PostFilter,
    PreFilter,
    Requeue,
    Skip,
    refuse,
)
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.model.volumes import Volume
from stowplan.table.nodes import Nodes

NO_CLAIMS: Final = "no new claims to deallocate"
NOT_PREPARED: Final = "not found"

# Those that come before DynamicResources in PreFilter; a contradiction between several has no name.
_BEFORE_CLAIMS: Final = frozenset(
    ("", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity")
)


class _Unserved(PreFilter, Requeue):
    """Refuses every pod that needs the plugin of this name, before any node is looked at."""

    remedy: ClassVar[str] = (
        "disable NodeVolumeLimits, VolumeBinding and VolumeZone in the profile to place it whatever its volumes"
    )

    @abstractmethod
    def needs(self, pod: Pod) -> Iterator[str]:
        """Yield what of the pod needs this plugin, as the pod's owner knows it."""

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Skip | Rejection:
        need = next(self.needs(pod), None)
        if need is None:
            return SKIP
        return refuse(
            f"{need} needs {self.name}, which this scheduler has not got: have another scheduler place the pod "
            f"(schedulerName), or {self.remedy}"
        )

    def events(self) -> tuple[Awaited, ...]:
        # Nothing that happens in the cluster helps.
        return ()


class NodeVolumeLimits(_Unserved):
    """Nobody counts how many volumes a node can attach.

    Rejects: the pod as a whole, for good, if it has a volume that is counted: a claim, an ephemeral volume, or a disk
        that a CSI driver has taken over.
    Requeued by: nothing; after another configuration it is tried with the pods that have waited long.
    Upstream: pkg/scheduler/framework/plugins/nodevolumelimits, of which only the question whether it is needed.
    """

    def needs(self, pod: Pod) -> Iterator[str]:
        return (_named(pod, volume) for volume in pod.spec.volumes if _has_claim(volume) or _is_migrated(volume))


class VolumeBinding(_Unserved):
    """Nobody finds volumes for claims.

    Rejects: the pod as a whole, for good, if it has a claim or an ephemeral volume.
    Arguments: those of upstream, which change nothing.
    Requeued by: nothing, as above.
    Upstream: pkg/scheduler/framework/plugins/volumebinding, of which only the question whether it is needed.
    """

    def __init__(self, *, bind_timeout_seconds: int = 600, shape: Any = None) -> None:
        pass

    def needs(self, pod: Pod) -> Iterator[str]:
        return (_named(pod, volume) for volume in pod.spec.volumes if _has_claim(volume))


class VolumeZone(_Unserved):
    """Nobody compares the zone of a volume with that of a node.

    Rejects: the pod as a whole, for good, if it has a claim.
    Requeued by: nothing, as above.
    Upstream: pkg/scheduler/framework/plugins/volumezone, of which only the question whether it is needed.
    """

    def needs(self, pod: Pod) -> Iterator[str]:
        volumes = pod.spec.volumes
        return (_named(pod, volume) for volume in volumes if volume.persistent_volume_claim is not None)


class DynamicResources(_Unserved, PostFilter):
    """Nobody allocates devices.

    Rejects: the pod as a whole, for good, if it has resource claims.
    Preempts: nothing: a pod without claims has none to give up, which is said with upstream's words.
    Arguments: those of upstream, which change nothing.
    Requeued by: nothing, as above.
    Upstream: pkg/scheduler/framework/plugins/dynamicresources, of which only what it says of pods without claims. If
        the attempt ended before it was prepared, upstream fails with "not found", and so do we.
    """

    remedy = "disable DynamicResources in the profile to place it without its devices"

    def __init__(self, *, filter_timeout: Any = None, binding_timeout: Any = None) -> None:
        pass

    def needs(self, pod: Pod) -> Iterator[str]:
        return (f'resource claim "{claim.name}"' for claim in pod.spec.resource_claims)

    def post_filter(self, pod: Pod, attempt: Attempt) -> Rejection:
        refused = attempt.verdict.pre_filter
        if refused is None:
            return Rejection((NO_CLAIMS,))
        if refused.plugin in {cls.name for cls in STAND_INS}:
            # Our own refusal says what helps; making room does not.
            return Rejection((), Code.UNRESOLVABLE)
        return Rejection((NOT_PREPARED,), Code.ERROR) if refused.plugin in _BEFORE_CLAIMS else Rejection((NO_CLAIMS,))


STAND_INS: Final[tuple[type[Plugin], ...]] = (NodeVolumeLimits, VolumeBinding, VolumeZone, DynamicResources)


def _named(pod: Pod, volume: Volume) -> str:
    if volume.persistent_volume_claim is not None:
        return f'persistentvolumeclaim "{volume.persistent_volume_claim.claim_name}" (volume "{volume.name}")'
    if volume.ephemeral is not None:
        return f'persistentvolumeclaim "{pod.name}-{volume.name}" (ephemeral volume "{volume.name}")'
    return f'volume "{volume.name}"'


def _has_claim(volume: Volume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None


def _is_migrated(volume: Volume) -> bool:
    """Say whether a CSI driver has taken over a disk that is written into the pod."""
    disks = (
        volume.gce_persistent_disk,
        volume.aws_elastic_block_store,
        volume.azure_disk,
        volume.azure_file,
        volume.cinder,
        volume.vsphere_volume,
        volume.portworx_volume,
    )
    return any(disk is not None for disk in disks)
