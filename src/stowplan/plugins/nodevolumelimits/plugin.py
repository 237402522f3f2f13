"""NodeVolumeLimits: keep pods off nodes that cannot attach all their volumes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Set
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Awaited, Filter, PreFilter, Reject, Requeue, Skip, reject
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import TellsVolumesApart
from stowplan.framework.verdict import WordedError
from stowplan.model.pod import Pod
from stowplan.model.storage import CSIDriver, CSINode, VolumeAttachment
from stowplan.model.volumes import Volume
from stowplan.plugins.nodevolumelimits.attached_volumes import (
    ANY_DRIVER,
    AttachedVolumes,
    DriverColumns,
    VolumesOnNode,
    limits_of,
)
from stowplan.plugins.nodevolumelimits.csi_volumes import (
    POD_VOLUMES,
    DriverVolumes,
    PodCSIVolumes,
    WantedVolumes,
    wanted_by,
)
from stowplan.plugins.volume_sources import CSIVolume, is_own_claim, plugin_of
from stowplan.table.columns import Mask, Rows
from stowplan.table.counts import Holding
from stowplan.table.nodes import Nodes

#: So many different states are kept; there are as many as pods want different volumes.
MOST_STATES: Final = 1 << 10
LIMIT_REASON: Final = "node(s) exceed max volume count"


class NodeVolumeLimits(TellsVolumesApart, PreFilter, Filter, Requeue):
    """A node can attach so many volumes of a driver: those of its pods, those still attached, and those of the pod.

    Rejects: nodes where more volumes of a driver would be attached than its CSINode allows. Each volume counts once,
        however many pods use it; one that a pod of the node uses already costs nothing. A claim without a volume counts
        as one of its class's provisioner. Every node, for good, if a claim is missing. With the gate
        VolumeLimitScaling, which is on since 1.37, also nodes where a driver is not installed whose CSIDriver sets
        `preventPodSchedulingIfMissing`. Skipped for a pod without claims and without disks that CSI drivers serve.
    Requeued by: a CSINode added, or a limit raised; a pod deleted that had such volumes; a claim of the pod added; a
        volume detached.
    Upstream: pkg/scheduler/framework/plugins/nodevolumelimits, since 1.36: in-tree disks count for their driver (not
        Azure files and vSphere volumes) on every node that has a CSINode, whatever its annotation says. A volume that
        is attached but used by no pod of the node counts once more when the pod wants it. An ephemeral volume whose
        claim belongs to somebody else is an error, be it the pod's or that of a pod on a node with limits; so is a
        malformed disk id.
    """

    judges_resizes = False
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
        self._attached: AttachedVolumes | None = None
        self._states: dict[PodCSIVolumes, PodCSIVolumes] = {}

    def sign(self, pod: Pod) -> Hashable:
        """Pods differ by how many volumes of which driver they want; by which, only where that matters."""
        if not any(map(_is_attached, pod.spec.volumes)):
            return None
        # Before the first look at the nodes nobody knows who uses what.
        attached = self._attached
        is_known = attached is not None and attached.refresh()
        return wanted_by(pod, self._listers, attached.decides if attached is not None and is_known else _always)

    def tells_names_apart(self, pod: Pod) -> bool:
        """Of the pods that are supposed to come, some may use the same volumes."""
        attached = self._attached
        return attached is None or not attached.refresh() or attached.limits.has_any

    def pre_filter(self, pod: Pod, nodes: Nodes) -> PodCSIVolumes | Skip:
        if not any(map(_is_attached, pod.spec.volumes)):
            return SKIP
        state = wanted_by(pod, self._listers, self._up_to_date(nodes.holding(POD_VOLUMES)).decides)
        # One object for all that are equal: what follows from it need not be found out again.
        if len(self._states) >= MOST_STATES:
            self._states.clear()
        return self._states.setdefault(state, state)

    def filter(self, pod: Pod, nodes: Nodes, state: PodCSIVolumes | None) -> Iterator[Reject]:
        # It can be listed for Filter alone; then nothing is prepared.
        wanted = state if state is not None else self.pre_filter(pod, nodes)
        if not isinstance(wanted, Skip):
            attached = self._up_to_date(nodes.holding(POD_VOLUMES))
            is_by_name = nodes.is_hypothetical and attached.limits.has_any
            named = wanted_by(pod, self._listers, _always) if is_by_name else wanted
            yield from self._rejections(nodes, NodeLimits(attached, nodes), named)

    def _rejections(self, nodes: Nodes, limits: NodeLimits, state: PodCSIVolumes) -> Iterator[Reject]:
        is_clear = state.registered.is_clear and state.bare.is_clear
        # Where there is a CSINode, no fewer drivers are served than where there is none.
        if is_clear and not self._needed(state.registered):
            # Without a CSINode there are no limits.
            yield from _reject_over_limit(limits, state.registered, nodes.asked)
            return
        asked = np.ones(len(nodes), dtype=bool) if nodes.asked is None else nodes.asked
        is_registered = limits.is_registered()
        yield from self._rejections_of(limits, state.registered, is_registered & asked)
        yield from self._rejections_of(limits, state.bare, ~is_registered & asked)

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.CSI_NODE, Action.ADD),
            Awaited(changes.CSI_NODE, Action.UPDATE, _attaches_more),
            Awaited(changes.ASSIGNED_POD, Action.DELETE, _had_attached_volumes),
            Awaited(changes.PERSISTENT_VOLUME_CLAIM, Action.ADD, is_own_claim),
            Awaited(changes.VOLUME_ATTACHMENT, Action.DELETE, _may_attach_instead),
        )

    def _rejections_of(self, limits: NodeLimits, wanted: DriverVolumes, asked: Mask) -> Iterator[Reject]:
        """Reject some of the rows asked about, each for one reason."""
        if not asked.any():
            return
        if wanted.missing:
            yield reject(asked, wanted.missing, unresolvable=True)
            return
        if wanted.error:
            raise WordedError(wanted.error)
        for driver in self._needed(wanted):
            lacks = asked & ~limits.is_registered(driver)
            if lacks.any():
                yield reject(lacks, f"{driver} CSI driver is not installed on the node")
                asked = asked & ~lacks
        yield from _reject_over_limit(limits, wanted, asked)

    def _needed(self, wanted: DriverVolumes) -> list[str]:
        """Return the drivers that must be installed on a node for pods with their volumes to go there."""
        drivers = wanted.by_driver if self._wants_drivers else ()
        found = [self._listers.get(CSIDriver, "", each.driver) for each in drivers]
        return [each.name for each in found if each is not None and each.spec.prevent_pod_scheduling_if_missing]

    def _up_to_date(self, holding: Holding) -> AttachedVolumes:
        attached = self._attached
        if attached is None or attached.holding is not holding or not attached.refresh():
            attached = self._attached = AttachedVolumes(self._listers, holding)
        return attached


def _reject_over_limit(limits: NodeLimits, wanted: DriverVolumes, asked: Mask | None) -> Iterator[Reject]:
    problem = limits.problem(asked) if wanted.by_driver else ""
    if problem:
        raise WordedError(problem)
    is_short = limits.is_short(wanted.by_driver)
    if asked is not None:
        is_short &= asked
    if is_short.any():
        yield reject(is_short, LIMIT_REASON)


class NodeLimits:
    """What can still be attached to the nodes that a filter is asked about."""

    def __init__(self, attached: AttachedVolumes, nodes: Nodes) -> None:
        self._attached = attached
        self._size = len(attached.holding.row_of)
        # None stands for all.
        self._rows: Rows | None = nodes.rows
        self._count = len(nodes)
        self._supposed: dict[int, VolumesOnNode] = {}
        # Where nothing is limited, nobody asks what would be there.
        changes = nodes.change_of_holding(POD_VOLUMES) if attached.limits.has_any else {}
        for position, change in changes.items():
            if nodes.asked is None or nodes.asked[position]:
                self._supposed[position] = attached.supposed(self._row(position), change)

    def is_registered(self, driver: str = ANY_DRIVER) -> Mask:
        """Say on which rows a driver is registered; or where any could be, there being a CSINode."""
        found: Mask = self._of(self._attached.registered, driver) > 0
        return found

    def is_short(self, wanted: Iterable[WantedVolumes]) -> Mask:
        """Say on which rows the volumes, given by driver, cannot all be attached.

        Those that pods there use already cost nothing; those that are attached without a pod do, as upstream has it.
        """
        is_short = np.zeros(self._count, dtype=bool)
        for volumes in wanted:
            if self._attached.limits.has(volumes.driver):
                is_short |= self._exceeds(volumes)
        return is_short

    def _exceeds(self, wanted: WantedVolumes) -> Mask:
        driver, amount = wanted.driver, wanted.nameless + len(wanted.named)
        counts, limits = self._of(self._attached.counts, driver), self._of(self._attached.limits, driver)
        used = self._count_used(wanted.named)
        if used is None and not self._supposed:
            is_over: Mask = counts + amount > limits
            return is_over
        new = np.full(len(counts), amount) if used is None else amount - used
        total = counts + new
        for position, contents in self._supposed.items():
            new[position] = amount - len(wanted.named & contents.used)
            total[position] = contents.counts()[driver] + new[position]
        exceeds: Mask = (new > 0) & (total > limits)
        return exceeds

    def problem(self, asked: Mask | None) -> str:
        """Return upstream's error in counting the volumes of rows, or of all; empty if there is none."""
        problems = {position: contents.problem for position, contents in self._supposed.items()}
        if self._attached.problems:
            rows = range(self._count) if self._rows is None else self._rows.tolist()
            problems = {position: self._attached.problems.get(row, "") for position, row in enumerate(rows)} | problems
        for position, problem in problems.items():
            is_asked = asked is None or asked[position]
            if problem and is_asked and self._attached.limits.on(self._row(position)):
                return problem
        return ""

    def _row(self, position: int) -> int:
        return position if self._rows is None else int(self._rows[position])

    def _of(self, columns: DriverColumns, driver: str) -> NDArray[np.int64]:
        column = columns.of(driver, self._size)
        return column if self._rows is None else column[self._rows]

    def _count_used(self, wanted: Set[CSIVolume]) -> NDArray[np.int64] | None:
        """Count the volumes that pods of the rows use already; None if there are none anywhere."""
        users = [rows for rows in map(self._attached.rows_with, wanted) if rows]
        if not users:
            return None
        used = np.zeros(self._size, dtype=np.int64)
        for rows in users:
            used[list(rows)] += 1
        return used if self._rows is None else used[self._rows]


def _always(volume: CSIVolume, wanted: int) -> bool:
    return True


def _attaches_more(pod: Pod, old: CSINode, new: CSINode) -> bool:
    """A node helps if the limit of one of its drivers was raised; no limit reads as 0."""
    before, after = limits_of(old), limits_of(new)
    return any(limit > before.get(driver, 0) for driver, limit in after.items())


def _had_attached_volumes(pod: Pod, old: Pod, new: None) -> bool:
    """A pod that goes helps if it was on a node and had anything attached there."""
    return changes.counts_on_a_node(old) and any(map(_is_attached, old.spec.volumes))


def _may_attach_instead(pod: Pod, old: VolumeAttachment, new: None) -> bool:
    """A volume that is detached helps a pod with a claim, or with a volume of the same driver."""
    has_claim = any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes)
    plugins = [plugin for plugin in map(plugin_of, pod.spec.volumes) if plugin is not None]
    return has_claim or any(plugin.driver == old.spec.attacher for plugin in plugins)


def _is_attached(volume: Volume) -> bool:
    """Say whether a volume of a pod is one that may have to be attached to its node."""
    has_claim = volume.persistent_volume_claim is not None or volume.ephemeral is not None
    return has_claim or plugin_of(volume) is not None
