"""VolumeRestrictions: keep apart pods that cannot share a disk of a node, or a claim in the whole cluster."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Awaited, Filter, PreFilter, Reject, Requeue, Skip, refuse, reject
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import TellsVolumesApart
from stowplan.framework.verdict import Rejection, WordedError
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.model.volumes import AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd, Volume
from stowplan.plugins.volume_sources import claim_names, is_named_claim
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

DISK_REASON: Final = "node(s) had no available disk"
CLAIM_REASON: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"

ExclusiveDisk = GcePersistentDisk | AwsElasticBlockStore | Iscsi | Rbd


class VolumeRestrictions(TellsVolumesApart, PreFilter, Filter, Requeue):
    """Two pods cannot have the same disk of a node, nor one pod a claim that is meant for one pod and in use.

    Rejects: nodes where a pod has the same GCE disk, iSCSI target or RBD image, unless both mount it read-only, or the
        same AWS volume in whatever way. Every node, if a claim of the pod has access mode ReadWriteOncePod and a placed
        pod uses it. The pod as a whole, for good, if one of its claims does not exist. Skipped for a pod that has no
        such disks and no claim in use.
    Requeued by: a pod deleted that had one of the disks or claims; a node added; a claim added.
    Upstream: pkg/scheduler/framework/plugins/volumerestrictions. Who uses a claim is found by namespace and name, but
        pods that are supposed to come or go are told by the name of the claim alone.
    """

    judges_resizes = False
    lists = ("PersistentVolumeClaim",)

    def __init__(self, handle: Handle) -> None:
        self._listers = handle.listers

    def sign(self, pod: Pod) -> Hashable:
        """Pods differ by their claims that are meant for one pod, not by those that any number may use."""
        return self._exclusive_claims(pod) or None

    def pre_filter(self, pod: Pod, nodes: Nodes) -> _Restricted | Skip | Rejection:
        claims = self._exclusive_claims(pod)
        if isinstance(claims, Rejection):
            return claims
        disks = _disks(pod)
        in_use = sum(bool(nodes.count(_Users(pod.namespace, name)).any()) for name in sorted(claims))
        return _Restricted(_Sharers(disks), _Mentions(claims), in_use) if disks or in_use else SKIP

    def filter(self, pod: Pod, nodes: Nodes, state: _Restricted | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError('cannot read "PreFilterVolumeRestrictions" from cycleState')
        lacks_disk: Mask | None = None
        if state.disks.volumes:
            lacks_disk = nodes.count(state.disks) > 0
            if lacks_disk.any():
                yield reject(lacks_disk, DISK_REASON)
        is_in_use = self._in_use(nodes, state)
        if lacks_disk is not None:
            is_in_use &= ~lacks_disk
        if is_in_use.any():
            yield reject(is_in_use, CLAIM_REASON)

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.ASSIGNED_POD, Action.DELETE, _held_a_volume_of),
            Awaited(changes.NODE, Action.ADD),
            Awaited(changes.PERSISTENT_VOLUME_CLAIM, Action.ADD, is_named_claim),
        )

    def _exclusive_claims(self, pod: Pod) -> frozenset[str] | Rejection:
        """Return the claims of a pod that are meant for one pod only."""
        names: list[str] = []
        for name in claim_names(pod):
            claim = self._listers.get(PersistentVolumeClaim, pod.namespace, name)
            if claim is None:
                return refuse(f'persistentvolumeclaim "{name}" not found')
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                names.append(name)
        return frozenset(names)

    def _in_use(self, nodes: Nodes, state: _Restricted) -> Mask:
        change = nodes.change_of(state.claims)
        if change is None:
            return np.full(len(nodes), state.in_use > 0)
        in_use: Mask = state.in_use + change > 0
        return in_use


@dataclass(frozen=True, slots=True)
class _Sharers:
    """Counts pods that have one of some disks in a way that excludes others."""

    volumes: tuple[Volume, ...]

    def amount(self, pod: Pod) -> int:
        return int(any(_conflict(wanted, other) for other in _disks(pod) for wanted in self.volumes))


@dataclass(frozen=True, slots=True)
class _Users:
    """Counts pods that use a claim."""

    namespace: str
    claim: str

    def amount(self, pod: Pod) -> int:
        return int(pod.namespace == self.namespace and self.claim in claim_names(pod))


@dataclass(frozen=True, slots=True)
class _Mentions:
    """Counts how often a pod names one of some claims, whatever its namespace."""

    claims: frozenset[str]

    def amount(self, pod: Pod) -> int:
        return sum(name in self.claims for name in claim_names(pod))


@dataclass(frozen=True, slots=True)
class _Restricted:
    """What the filter needs: the pod's disks, its claims for one pod only, and how many of these are in use."""

    disks: _Sharers
    claims: _Mentions
    in_use: int


def _held_a_volume_of(pod: Pod, old: Pod, new: None) -> bool:
    """Say whether a pod that is gone had a disk or a claim that `pod` wants."""
    if pod.namespace != old.namespace:
        return False
    if _Sharers(_disks(pod)).amount(old):
        return True
    return not set(claim_names(pod)).isdisjoint(claim_names(old))


def _disks(pod: Pod) -> tuple[Volume, ...]:
    return tuple(_disk_alone(volume) for volume in pod.spec.volumes if any(_sources(volume)))


def _disk_alone(volume: Volume) -> Volume:
    """Return a volume without the template it may have besides: what is counted by has to be hashable."""
    if volume.ephemeral is None:
        return volume
    return msgspec.structs.replace(volume, ephemeral=None)


def _sources(volume: Volume) -> tuple[ExclusiveDisk | None, ...]:
    return volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.iscsi, volume.rbd


def _conflict(one: Volume, other: Volume) -> bool:
    """Say whether two volumes are the same disk and cannot both be mounted."""
    pairs = zip(_sources(one), _sources(other), strict=True)
    return any(_exclude(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None)


def _exclude(mine: ExclusiveDisk, theirs: ExclusiveDisk) -> bool:
    match mine, theirs:
        case AwsElasticBlockStore(), AwsElasticBlockStore():
            return mine.volume_id == theirs.volume_id
        case GcePersistentDisk(), GcePersistentDisk():
            is_same = mine.pd_name == theirs.pd_name
        case Iscsi(), Iscsi():
            is_same = mine.iqn == theirs.iqn
        case Rbd(), Rbd():
            shares_monitor = not set(mine.monitors).isdisjoint(theirs.monitors)
            is_same = shares_monitor and (mine.pool, mine.image) == (theirs.pool, theirs.image)
        case _:
            return False
    return is_same and not (mine.read_only and theirs.read_only)
