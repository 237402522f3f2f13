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
from stowplan.framework.contract import (
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
    refuse,
    reject,
)
from stowplan.framework.handle import PreparingHandle
from stowplan.framework.verdict import Code, Rejection, WordedError
from stowplan.model.pod import Pod, pod_id
from stowplan.plugins.shape_score import UtilizationShapePoint, curve_of, shape_faults
from stowplan.plugins.volumebinding import scoring
from stowplan.plugins.volumebinding.completion import Completion, CompletionError, key_of
from stowplan.plugins.volumebinding.plan import Plan
from stowplan.plugins.volumebinding.search import Outlook, Search, Wanted
from stowplan.plugins.volumes import claims, hints
from stowplan.plugins.volumes.claims import ClaimError
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


class VolumeBindingArgs(PluginArgs, frozen=True):
    """`shape` is None unless StorageCapacityScoring is on: the file may have none while it is off."""

    bind_timeout_seconds: int = 600
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


class VolumeBinding(PreFilter, Filter, PreScore, Score, Reserve, PreBind, Requeue):
    """A pod runs where all its claims have a volume within reach, or can get one.

    Rejects: nodes that a volume of a bound claim cannot be reached from; nodes where a claim that waits for its first
        consumer finds no free volume and where none can be made for it: no provisioner, a topology that its class does
        not allow, too little free space by the reports of its driver. The pod as a whole, for good, if a claim is
        missing, lost, being deleted or made for another pod, or is to be bound at once and is not yet. Skipped for a
        pod without claims.
    Scores: with the feature gate StorageCapacityScoring, how well a node's volumes or free space would be used.
    Reserves: the volumes for the claims, and the node where volumes are to be made; both are written before the pod is
        bound, which waits until all claims are bound.
    Arguments: `bindTimeoutSeconds`, how long that may take; `shape`, the curve of the scores.
    Requeued by: a claim of the pod, a volume, a class, a node, a CSINode, a CSIDriver or a report of free space that
        has come or changed so that it may help.
    Upstream: pkg/scheduler/framework/plugins/volumebinding. Of volumes, or reports of space, that serve equally well it
        takes any; here it is the first by name, or by age.
    """

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
        self._search = Search(handle.listers)
        self._timeout_seconds = args.bind_timeout_seconds
        is_scoring = handle.feature_gates.enabled("StorageCapacityScoring")
        self._curve = curve_of(args.shape or DEFAULT_SHAPE) if is_scoring else None
        # By pod, from Reserve until the claims are bound or the pod is given up.
        self._plans: dict[str, Plan] = {}

    def sign(self, pod: Pod) -> Hashable:
        return (pod.name, pod.uid) if claims.has_ephemeral(pod) else None

    def events(self) -> tuple[Awaited, ...]:
        return hints.for_volume_binding()

    # Which nodes

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Wanted | Skip | Rejection:
        return self._wanted(pod)

    def _wanted(self, pod: Pod) -> Wanted | Skip | Rejection:
        try:
            found = claims.find(pod, self._listers)
        except ClaimError as error:
            return refuse(str(error))
        if not found:
            return SKIP
        by_need = claims.sort_out(found, self._listers)
        return refuse(UNBOUND_REASON) if by_need.immediate else self._search.prepare(by_need)

    def filter(self, pod: Pod, nodes: Nodes, state: Wanted | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError("not found")
        with self._stage("predicate"):
            fault = self._search.fault(state, nodes)
            if fault:
                raise WordedError(fault)
            outlook = self._search.look(state, nodes)
        for mask, reason in _objections(outlook):
            if mask.any():
                yield reject(mask, reason, unresolvable=True)

    # Which of them

    def pre_score(self, pod: Pod, nodes: Nodes) -> Wanted | Skip:
        if self._curve is None:
            return SKIP
        wanted = self._wanted(pod)
        return wanted if isinstance(wanted, Wanted) else Wanted()

    def score(self, pod: Pod, nodes: Nodes, state: Wanted | None) -> Scores:
        # It can be listed for Score alone; then nothing is prepared.
        wanted = state if state is not None else self.pre_score(pod, nodes)
        if self._curve is None or isinstance(wanted, Skip):
            return np.zeros(len(nodes), dtype=np.int64)
        return scoring.scores(self._search.look(wanted, nodes), nodes, self._curve)

    # What is done about it

    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        if not pod.spec.volumes:
            return None
        wanted = self._wanted(pod)
        if isinstance(wanted, Rejection):
            return wanted
        if isinstance(wanted, Skip) or not wanted.delayed:
            return None
        with self._stage("assume"):
            return self._assume(pod, node_name, wanted)

    def _assume(self, pod: Pod, node_name: str, wanted: Wanted) -> Rejection | None:
        node = self._handle.row_of(node_name)
        outlook = self._search.look(wanted, node)
        reasons = [reason for mask, reason in _objections(outlook) if mask.any()]
        if reasons or not len(node):
            self._fail("assume")
            return refuse(*reasons or (f'node "{node_name}" not found',))
        plan = self._plans[pod_id(pod)] = outlook.plan(0, node_name)
        for change in plan.changes():
            self._handle.assumptions.assume(change.wanted)
        return None

    def unreserve(self, pod: Pod, node_name: str) -> None:
        plan = self._plans.pop(pod_id(pod), None)
        for change in plan.changes() if plan is not None else ():
            self._handle.assumptions.restore(*key_of(change.found))

    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Skip | None:
        return None if pod_id(pod) in self._plans else SKIP

    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        with self._stage("bind"):
            rejection = await self._bind(pod)
        if rejection is not None:
            self._fail("bind")
        return rejection

    async def _bind(self, pod: Pod) -> Rejection | None:
        plan = self._plans.get(pod_id(pod))
        if plan is None:
            return None
        completion = Completion(self._handle, self._search.migrations, pod, plan)
        for change in plan.changes():
            completion.note_written(await self._handle.writes.patch(change.found, change.patch))
        try:
            is_in_time = await self._handle.news.until(completion.is_reached, self._timeout_seconds)
        except CompletionError as error:
            return Rejection((f"binding volumes: {error}",), Code.ERROR)
        if not is_in_time:
            return Rejection((f"binding volumes: {TOO_LATE}",), Code.ERROR)
        self._plans.pop(pod_id(pod), None)
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


def _objections(outlook: Outlook) -> Iterator[tuple[Mask, str]]:
    yield outlook.is_out_of_reach, OUT_OF_REACH_REASON
    yield outlook.lacks_volume, NO_VOLUME_REASON
    yield outlook.lacks_space, NO_SPACE_REASON
    yield outlook.lacks_bound, MISSING_REASON
