"""NodeVolumeLimits: keep pods off nodes that cannot attach all their volumes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np

from stowplan.framework.contract import SKIP, Awaited, Filter, PreFilter, Reject, Requeue, Skip, reject
from stowplan.framework.handle import Handle
from stowplan.framework.verdict import WordedError
from stowplan.model.pod import Pod
from stowplan.plugins.nodevolumelimits.attach_ledger import Ledger
from stowplan.plugins.nodevolumelimits.attach_references import POD_VOLUMES
from stowplan.plugins.nodevolumelimits.attach_room import Room
from stowplan.plugins.nodevolumelimits.attach_wanted import Wanted, WantedBy, wanted_by
from stowplan.plugins.volumes import hints
from stowplan.table.columns import Mask
from stowplan.table.counts import Holding
from stowplan.table.nodes import Nodes

LIMIT_REASON: Final = "node(s) exceed max volume count"


class NodeVolumeLimits(PreFilter, Filter, Requeue):
    """A node can attach so many volumes of a driver: those of its pods, those still attached, and those of the pod.

    Rejects: nodes where more volumes of a driver would be attached than its CSINode allows. Each volume counts once,
        however many pods use it; one that a pod of the node uses already costs nothing. A claim without a volume counts
        as one of its class's provisioner. Every node, for good, if a claim is missing. With the gate
        VolumeLimitScaling, also nodes where a driver is not installed whose CSIDriver sets
        `preventPodSchedulingIfMissing`. Skipped for a pod without claims and without disks that CSI drivers serve.
    Requeued by: a CSINode added, or a limit raised; a pod deleted that had such volumes; a claim of the pod added; a
        volume detached.
    Upstream: pkg/scheduler/framework/plugins/nodevolumelimits, as of 1.36: in-tree disks count for their driver (not
        Azure files and vSphere volumes) on every node that has a CSINode, whatever its annotation says. A volume that
        is attached but used by no pod of the node counts once more when the pod wants it. An ephemeral volume whose
        claim belongs to somebody else is an error, be it the pod's or that of a pod on a node with limits; so is a
        malformed disk id.
    """

    lists = (
        "CSINode",
        "CSIDriver",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "VolumeAttachment",
    )

    def __init__(self, handle: Handle) -> None:
        self._listers = handle.listers
        self._wants_drivers = handle.feature_gates.enabled("VolumeLimitScaling")
        self._ledger: Ledger | None = None

    def sign(self, pod: Pod) -> Hashable:
        is_named = any(volume.ephemeral is not None for volume in pod.spec.volumes)
        return (pod.name, pod.uid) if is_named else None

    def pre_filter(self, pod: Pod, nodes: Nodes) -> WantedBy | Skip:
        if not any(map(hints.is_attached, pod.spec.volumes)):
            return SKIP
        return wanted_by(pod, self._listers)

    def filter(self, pod: Pod, nodes: Nodes, state: WantedBy | None) -> Iterator[Reject]:
        # It can be listed for Filter alone; then nothing is prepared.
        wanted = state if state is not None else self.pre_filter(pod, nodes)
        if not isinstance(wanted, Skip):
            yield from self._objections(nodes, wanted)

    def _objections(self, nodes: Nodes, state: WantedBy) -> Iterator[Reject]:
        room = Room(self._brought_up(nodes.holding(POD_VOLUMES)), nodes)
        if state.registered.is_clear and state.bare.is_clear and not self._wants_drivers:
            # Without a CSINode there are no limits.
            yield from _refuse_short(room, state.registered, nodes.asked)
            return
        asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked
        is_registered = room.is_registered()
        yield from self._refusals(room, state.registered, is_registered & asked)
        yield from self._refusals(room, state.bare, ~is_registered & asked)

    def events(self) -> tuple[Awaited, ...]:
        return hints.for_node_volume_limits()

    def _refusals(self, room: Room, wanted: Wanted, asked: Mask) -> Iterator[Reject]:
        """Refuse some of the rows asked about, each for one reason."""
        if not asked.any():
            return
        if wanted.missing:
            yield reject(asked, wanted.missing, unresolvable=True)
            return
        if wanted.fault:
            raise WordedError(wanted.fault)
        for driver in self._needed(wanted):
            lacks = asked & ~room.is_registered(driver)
            if lacks.any():
                yield reject(lacks, f"{driver} CSI driver is not installed on the node")
                asked = asked & ~lacks
        yield from _refuse_short(room, wanted, asked)

    def _needed(self, wanted: Wanted) -> list[str]:
        """Return the drivers that must be installed on a node for pods with their volumes to go there."""
        found = [self._listers.csi_driver(driver) for driver, _ in wanted.by_driver] if self._wants_drivers else []
        return [each.name for each in found if each is not None and each.spec.prevent_pod_scheduling_if_missing]

    def _brought_up(self, holding: Holding) -> Ledger:
        ledger = self._ledger
        if ledger is None or ledger.holding is not holding or not ledger.bring_up():
            ledger = self._ledger = Ledger(self._listers, holding)
        return ledger


def _refuse_short(room: Room, wanted: Wanted, asked: Mask | None) -> Iterator[Reject]:
    problem = room.problem(asked) if wanted.by_driver else ""
    if problem:
        raise WordedError(problem)
    is_short = room.is_short(wanted.by_driver)
    if asked is not None:
        is_short &= asked
    if is_short.any():
        yield reject(is_short, LIMIT_REASON)
