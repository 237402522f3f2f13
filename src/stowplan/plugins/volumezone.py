"""VolumeZone: keep pods where their volumes are, by the zone and region that the volumes are labelled with."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Awaited, Filter, PreFilter, Reject, Requeue, Skip, refuse, reject
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import Incremental, TellsVolumesApart
from stowplan.framework.verdict import Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.plugins.volume_sources import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    WAIT_FOR_FIRST_CONSUMER,
    ZONE,
    ZONE_SEPARATOR,
    class_of_claim,
    is_named_claim,
)
from stowplan.table.columns import NO_ROWS, Mask, Rows
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) had no available volume zone"
ZONE_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
#: The labels that came after the beta ones.
SUCCESSORS: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}

# A label, and the values of it that will do.
Zones = tuple[tuple[str, frozenset[str]], ...]


class VolumeZone(TellsVolumesApart, PreFilter, Filter, Requeue):
    """A volume can be had in its zone and region only.

    Rejects: nodes whose label for zone or region is not among those that the labels of the pod's volumes list
        (separated by `__`); a volume with the labels of long ago is compared with the present ones of a node that has
        not got the old. Nodes without any such label pass. The pod as a whole, for good, if a claim, its volume or its
        class is missing, or if a claim that does not wait for a pod has no volume. Skipped for a pod none of whose
        volumes says where it is.
    Requeued by: a claim of the pod added or changed; a volume added, or moved to other zones; a node added or labelled;
        a class added that waits for the first pod.
    Upstream: pkg/scheduler/framework/plugins/volumezone; ephemeral volumes are not looked at.
    """

    judges_resizes = False
    lists = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")

    def __init__(self, handle: Handle) -> None:
        self._listers = handle.listers

    def sign(self, pod: Pod) -> Hashable:
        """Pods differ by where their volumes are, not by which they are."""
        found = self._zones_of(pod)
        return None if isinstance(found, Skip) else found

    def pre_filter(self, pod: Pod, nodes: Nodes) -> VolumeZones | Skip | Rejection:
        return self._zones_of(pod)

    def _zones_of(self, pod: Pod) -> VolumeZones | Skip | Rejection:
        # In their order, each once.
        zones: dict[tuple[str, frozenset[str]], None] = {}
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            found = self._zones_of_claim(pod.namespace, volume.persistent_volume_claim.claim_name)
            if isinstance(found, Rejection):
                return found
            zones.update(dict.fromkeys(found))
        return VolumeZones(tuple(zones)) if zones else SKIP

    def filter(self, pod: Pod, nodes: Nodes, state: VolumeZones | None) -> Iterator[Reject]:
        # It can be listed for Filter alone; then nothing is prepared.
        zones = state if state is not None else self.pre_filter(pod, nodes)
        if isinstance(zones, Skip):
            return
        if isinstance(zones, Rejection):
            yield reject(np.ones(len(nodes), dtype=bool), zones.reasons[0], unresolvable=True)
            return
        is_elsewhere = ~_is_in(nodes, zones.required) & nodes.fact("has a zone or region", _has_place, np.bool_)
        if is_elsewhere.any():
            yield reject(is_elsewhere, REASON, unresolvable=True)

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.STORAGE_CLASS, Action.ADD, _waits_for_first_consumer),
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            Awaited(changes.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, is_named_claim),
            Awaited(changes.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, _is_zone_new),
        )

    def _zones_of_claim(self, namespace: str, name: str) -> Zones | Rejection:
        """Return where the volume of a claim is; nowhere in particular if it has none yet."""
        if not name:
            return refuse("PersistentVolumeClaim had no name")
        claim = self._listers.get(PersistentVolumeClaim, namespace, name)
        if claim is None:
            return refuse(f'persistentvolumeclaim "{name}" not found')
        if not claim.spec.volume_name:
            return self._of_unbound(claim)
        volume = self._listers.get(PersistentVolume, "", claim.spec.volume_name)
        if volume is None:
            return refuse(f'persistentvolume "{claim.spec.volume_name}" not found')
        return tuple(_zones(volume).items())

    def _of_unbound(self, claim: PersistentVolumeClaim) -> Zones | Rejection:
        class_name = class_of_claim(claim)
        if not class_name:
            return refuse("PersistentVolumeClaim had no pv name and storageClass name")
        found = self._listers.get(StorageClass, "", class_name)
        if found is None:
            return refuse(f'storageclass.storage.k8s.io "{class_name}" not found')
        return () if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else refuse("PersistentVolume had no name")


@dataclass(frozen=True, slots=True)
class VolumeZones(Incremental):
    """What the labels of a pod's volumes ask of nodes."""

    required: Zones

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        return NO_ROWS if self == before else None


def _is_in(nodes: Nodes, zones: Zones) -> Mask:
    """Say which rows are where all volumes are."""
    first, *others = (_is_labelled(nodes, key, values) for key, values in zones)
    for other in others:
        first &= other
    return first


def _is_labelled(nodes: Nodes, key: str, values: frozenset[str]) -> Mask:
    labels = nodes.label(key)
    is_labelled = labels.is_one_of(values)
    if key in SUCCESSORS:
        is_labelled |= (labels.codes < 0) & nodes.label(SUCCESSORS[key]).is_one_of(values)
    return is_labelled


def _has_place(node: Node) -> bool:
    """Say whether a node has a label for zone or region at all."""
    return any(key in node.metadata.labels for key in ZONE_LABELS)


def _zones(volume: PersistentVolume) -> dict[str, frozenset[str]]:
    """Read the zones and regions of a volume; a list with an empty name in it counts as none."""
    labels = volume.metadata.labels
    listed = {key: [zone.strip() for zone in labels[key].split(ZONE_SEPARATOR)] for key in ZONE_LABELS if key in labels}
    return {key: frozenset(zones) for key, zones in listed.items() if all(zones)}


def _waits_for_first_consumer(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def _is_zone_new(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    """A new volume may help, and so may one that was moved to other zones."""
    return old is None or _zones(old) != _zones(new)
