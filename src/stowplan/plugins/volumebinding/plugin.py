"""VolumeBinding: keep pods to nodes where their volumes are, could be found, or could be made; then see to that."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final, Self

import numpy as np
from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import invalid
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    INDIFFERENT,
    SKIP,
    Awaited,
    Filter,
    PreBind,
    PreFilter,
    PreScore,
    Reject,
    Requeue,
    Reserve,
    Score,
    Skip,
    Undoable,
    refuse,
    reject,
)
from stowplan.framework.handle import PreparingHandle
from stowplan.framework.kept.incremental import TellsVolumesApart
from stowplan.framework.verdict import Code, Rejection, WordedError
from stowplan.model.pod import Pod, pod_id
from stowplan.model.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from stowplan.plugins.shape_score import UtilizationShapePoint, curve_of, shape_faults
from stowplan.plugins.volume_sources import is_own_claim
from stowplan.plugins.volumebinding import capacity_scores
from stowplan.plugins.volumebinding.binder import FoundVolumes, VolumeBinder, VolumeNeeds
from stowplan.plugins.volumebinding.node_affinity import MIGRATED_PLUGINS
from stowplan.plugins.volumebinding.pod_volumes import (
    BindingCheck,
    PodVolumes,
    UnusableClaimError,
    VolumeBindingError,
    find_claims,
    key_of,
)
from stowplan.plugins.volumebinding.provisioning import largest_volume
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

UNBOUND_REASON: Final = "pod has unbound immediate PersistentVolumeClaims"
OUT_OF_REACH_REASON: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME_REASON: Final = "node(s) didn't find available persistent volumes to bind"
NO_SPACE_REASON: Final = "node(s) did not have enough free storage"
MISSING_REASON: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
STAGE_ERRORS: Final = "scheduler_volume_scheduling_stage_error_total"
TOO_LATE: Final = "context deadline exceeded"
# The emptier the storage, the better.
DEFAULT_SHAPE: Final = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))

_ADD_OR_UPDATE: Final = Action.ADD | Action.UPDATE


class VolumeBindingArgs(PluginArgs, frozen=True):
    """`shape` is None unless StorageCapacityScoring is on: the file may have none while it is off."""

    #: How long the volumes of a pod may take to be bound; 0 or more.
    bind_timeout_seconds: int = 600
    #: Score by how full storage would be; allowed with the gate StorageCapacityScoring only.
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def defaulted(self, gates: FeatureGates) -> Self:
        is_scoring = gates.enabled("StorageCapacityScoring")
        return replace(self, shape=self.shape or DEFAULT_SHAPE) if is_scoring else self

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        faults: list[str] = []
        if self.bind_timeout_seconds < 0:
            why = "invalid BindTimeoutSeconds, should not be a negative value"
            faults.append(invalid(f"{path}.bindTimeoutSeconds", self.bind_timeout_seconds, why))
        if gates.enabled("StorageCapacityScoring"):
            faults += shape_faults(f"{path}.shape", self.shape or ())
        elif self.shape is not None:
            why = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            faults.append(invalid(f"{path}.shape", self.shape, why))
        return faults


DEFAULT_ARGS: Final = VolumeBindingArgs()


class VolumeBinding(TellsVolumesApart, PreFilter, Filter, PreScore, Score, Reserve, PreBind, Requeue, Undoable):
    """A pod runs where all its claims have a volume within reach, or can get one.

    Rejects: nodes that a volume of a bound claim cannot be reached from; nodes where a claim that waits for its first
        consumer finds no free volume and where none can be made for it: no provisioner, a topology that its class does
        not allow, too little free space by the reports of its driver. The pod as a whole, for good, if a claim is
        missing, lost, being deleted or made for another pod, or is to be bound at once and is not yet. Skipped for a
        pod without claims.
    Scores: with the feature gate StorageCapacityScoring, which is on since 1.37, how well a node's volumes or free
        space would be used: per class, the part that the pod's unbound claims take of the volumes they would get, or,
        if they get none, of the free space reported for the class, looked up in `shape`, averaged over classes. By
        default, the more is left the better. 0 everywhere for a pod without unbound claims. A volume that would be made
        where the report tells of no `capacity`, or for a claim whose class only an annotation names, is left out, and
        the log says so once; kube-scheduler 1.37.1 fails there.
    Reserves: the volumes for the claims, and the node where volumes are to be made; both are written before the pod is
        bound, which waits until all claims are bound.
    Arguments: `bindTimeoutSeconds`, how long that may take; `shape`, the curve of the scores.
    Requeued by: a claim of the pod, a volume, a class, a node, a CSINode, a CSIDriver or a report of free space that
        has come or changed so that it may help.
    Upstream: pkg/scheduler/framework/plugins/volumebinding. Of volumes, or reports of space, that serve equally well it
        takes any; here it is the first by name, or by age.
    """

    judges_resizes = False
    args_type = VolumeBindingArgs
    lists = (
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
    )

    def __init__(self, handle: PreparingHandle, args: VolumeBindingArgs = DEFAULT_ARGS) -> None:
        self._handle = handle
        self._listers = handle.listers
        self._binder = VolumeBinder(handle.listers)
        self._timeout_seconds = args.bind_timeout_seconds
        is_scoring = handle.feature_gates.enabled("StorageCapacityScoring")
        self._curve = curve_of(args.shape or DEFAULT_SHAPE) if is_scoring else None
        # By pod, from Reserve until the claims are bound or the pod is given up.
        self._pod_volumes: dict[str, PodVolumes] = {}

    def sign(self, pod: Pod) -> Hashable:
        """Pods differ by where the volumes of their claims can be reached; by which claims, if some have none yet."""
        try:
            claims = find_claims(pod, self._listers)
        except UnusableClaimError as error:
            return str(error)
        if claims.immediate:
            return UNBOUND_REASON
        if claims.delayed:
            return tuple([(claim.namespace, claim.name) for claim in (*claims.bound, *claims.delayed)])
        return self._binder.needs_of(claims).reaches if claims.bound else None

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.STORAGE_CLASS, _ADD_OR_UPDATE, _has_new_topologies),
            Awaited(changes.PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, is_own_claim),
            Awaited(changes.PERSISTENT_VOLUME, _ADD_OR_UPDATE),
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            Awaited(changes.CSI_NODE, _ADD_OR_UPDATE, _migrates_other_plugins),
            Awaited(changes.CSI_DRIVER, Action.UPDATE, _asks_capacity_no_more),
            Awaited(changes.CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE, _holds_larger_volumes),
        )

    # Which nodes

    def pre_filter(self, pod: Pod, nodes: Nodes) -> VolumeNeeds | Skip | Rejection:
        try:
            claims = find_claims(pod, self._listers)
        except UnusableClaimError as error:
            return refuse(str(error))
        if not any(claims):
            return SKIP
        return refuse(UNBOUND_REASON) if claims.immediate else self._binder.needs_of(claims)

    def filter(self, pod: Pod, nodes: Nodes, state: VolumeNeeds | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError("not found")
        with self._stage("predicate"):
            found = self._binder.find_pod_volumes(state, nodes)
            if found.error:
                raise WordedError(found.error)
        for mask, reason in _conflicts(found):
            if np.count_nonzero(mask):
                yield reject(mask, reason, unresolvable=True)

    # Which of them

    def pre_score(self, pod: Pod, nodes: Nodes) -> VolumeNeeds | Skip:
        if self._curve is None:
            return SKIP
        try:
            claims = find_claims(pod, self._listers)
        except UnusableClaimError:
            return INDIFFERENT
        # Volumes that are bound say nothing about what is left.
        return self._binder.needs_of(claims) if claims.delayed and not claims.immediate else INDIFFERENT

    def score(self, pod: Pod, nodes: Nodes, state: VolumeNeeds | None) -> Scores:
        # It can be listed for Score alone; then nothing is prepared.
        wanted = state if state is not None else self.pre_score(pod, nodes)
        if self._curve is None or isinstance(wanted, Skip):
            return np.zeros(len(nodes), dtype=np.int64)
        found = self._binder.find_pod_volumes(wanted, nodes)
        return capacity_scores.scores(found, nodes, self._curve, self._handle.report_once)

    # What is done about it

    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        if not pod.spec.volumes:
            return None
        try:
            claims = find_claims(pod, self._listers)
        except UnusableClaimError as error:
            return refuse(str(error))
        if claims.immediate:
            return refuse(UNBOUND_REASON)
        if not claims.delayed:
            return None
        with self._stage("assume"):
            return self._assume(pod, node_name, self._binder.needs_of(claims))

    def _assume(self, pod: Pod, node_name: str, wanted: VolumeNeeds) -> Rejection | None:
        node = self._handle.row_of(node_name)
        found = self._binder.find_pod_volumes(wanted, node)
        reasons = [reason for mask, reason in _conflicts(found) if mask.any()]
        if reasons or not len(node):
            self._fail("assume")
            return refuse(*reasons or (f'node "{node_name}" not found',))
        volumes = self._pod_volumes[pod_id(pod)] = found.pod_volumes(0, node_name)
        for change in volumes.changes():
            self._handle.assumptions.assume(change.wanted)
        return None

    def unreserve(self, pod: Pod, node_name: str) -> None:
        volumes = self._pod_volumes.pop(pod_id(pod), None)
        for change in volumes.changes() if volumes is not None else ():
            self._handle.assumptions.restore(*key_of(change.found))

    def save_state(self) -> dict[str, PodVolumes]:
        return dict(self._pod_volumes)

    def restore_state(self, saved: dict[str, PodVolumes]) -> None:
        self._pod_volumes = saved

    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Skip | None:
        return None if pod_id(pod) in self._pod_volumes else SKIP

    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        with self._stage("bind"):
            rejection = await self._bind(pod)
        if rejection is not None:
            self._fail("bind")
        return rejection

    async def _bind(self, pod: Pod) -> Rejection | None:
        volumes = self._pod_volumes.get(pod_id(pod))
        if volumes is None:
            return None
        check = BindingCheck(self._handle, self._binder.migrations, pod, volumes)
        for change in volumes.changes():
            check.note_written(await self._handle.writes.patch(change.found, change.patch))
        try:
            is_in_time = await self._handle.cluster_changes.until(check.are_all_bound, self._timeout_seconds)
        except VolumeBindingError as error:
            return Rejection((f"binding volumes: {error}",), Code.ERROR)
        if not is_in_time:
            return Rejection((f"binding volumes: {TOO_LATE}",), Code.ERROR)
        self._pod_volumes.pop(pod_id(pod), None)
        return None

    # What goes wrong is counted by stage

    @contextmanager
    def _stage(self, stage: str) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._fail(stage)
            raise

    def _fail(self, stage: str) -> None:
        self._handle.measures.count(STAGE_ERRORS, stage)


def _conflicts(found: FoundVolumes) -> Iterator[tuple[Mask, str]]:
    yield found.is_out_of_reach, OUT_OF_REACH_REASON
    if found.lacks_volume is not None and found.lacks_space is not None:
        yield found.lacks_volume, NO_VOLUME_REASON
        yield found.lacks_space, NO_SPACE_REASON
    yield found.lacks_bound, MISSING_REASON


def _has_new_topologies(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:
    """A new class may help, and so may one that allows other topologies; its binding mode cannot change."""
    return old is None or old.allowed_topologies != new.allowed_topologies


def _migrates_other_plugins(pod: Pod, old: CSINode | None, new: CSINode) -> bool:
    """A new driver list may help, and so may one by which other in-tree volumes are served."""
    if old is None:
        return True
    # An empty annotation says no more than none.
    return old.metadata.annotations.get(MIGRATED_PLUGINS, "") != new.metadata.annotations.get(MIGRATED_PLUGINS, "")


def _asks_capacity_no_more(pod: Pod, old: CSIDriver, new: CSIDriver) -> bool:
    """A driver of the pod's inline volumes helps once it no longer has its free space checked."""
    is_used = any(volume.csi is not None and volume.csi.driver == new.name for volume in pod.spec.volumes)
    return is_used and old.spec.storage_capacity and not new.spec.storage_capacity


def _holds_larger_volumes(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
    """New space helps, and so does space for larger volumes than before."""
    return old is None or largest_volume(new) > largest_volume(old)
