"""The operations of a workload, as `performance-config.yaml` writes them: one struct per opcode.

A field that no operation has is refused. What a workload may set stands beside the value it replaces: `countParam`
beside `count`. `resolved` puts the values of one workload in; `executor` does what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import msgspec

from stowplan.bench.parameters import Parameters, WorkloadError
from stowplan.model import duration as durations


class Operation(msgspec.Struct, tag_field="opcode", rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One step of a workload."""

    def resolved(self, given: Parameters) -> Self:
        """Return the step with the parameters of a workload in their places."""
        return self

    @property
    def collects_metrics(self) -> bool:
        """Whether something is measured when the step ends."""
        return False

    @property
    def opcode(self) -> str:
        return str(self.__struct_config__.tag)

    @property
    def template_files(self) -> list[str]:
        """The paths of the templates that it names."""
        fields = (name for name in self.__struct_fields__ if name.endswith(("template_path", "template_paths")))
        named = (getattr(self, name) for name in fields)
        return [path for one in named for path in ([one] if isinstance(one, str) else one or ()) if path]


class NodeAllocatableStrategy(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What nodes are said to have, and how many volumes of which driver they take."""

    node_allocatable: dict[str, str] = {}
    csi_node_allocatable: dict[str, dict[str, int]] = {}
    migrated_plugins: list[str] = []


class LabelNodePrepareStrategy(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A label whose values go round among the nodes."""

    label_key: str
    label_values: list[str]

    def __post_init__(self) -> None:
        if not self.label_values:
            raise ValueError("labelValues: name at least one")


class UniqueNodeLabelStrategy(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A label with another value on every node."""

    label_key: str


class CountedOperation(Operation, kw_only=True):
    """A step that is taken for a number of objects."""

    count: int | None = None
    count_param: str = ""

    def resolved(self, given: Parameters) -> Self:
        count = given.integer(self.count_param) if self.count_param else self.count
        _check_count(self.count_param or "count", count)
        return msgspec.structs.replace(self, count=count, count_param="")

    @property
    def number(self) -> int:
        return self.count or 0


def _check_count(name: str, count: int | None) -> None:
    if count is not None and count < 0:
        raise WorkloadError(f"{name}: {count} is less than none; write 0 or more")


class CreateNodes(CountedOperation, tag="createNodes", kw_only=True):
    node_template_path: str | None = None
    node_allocatable_strategy: NodeAllocatableStrategy | None = None
    label_node_prepare_strategy: LabelNodePrepareStrategy | None = None
    unique_node_label_strategy: UniqueNodeLabelStrategy | None = None
    template_params: dict[str, Any] = {}

    def resolved(self, given: Parameters) -> Self:
        found = super().resolved(given)
        return msgspec.structs.replace(found, template_params=given.fill(self.template_params))


class CreateNamespaces(CountedOperation, tag="createNamespaces", kw_only=True):
    prefix: str = ""
    namespace_template_path: str | None = None


class CreatePods(CountedOperation, tag="createPods", kw_only=True):
    """Create pods and wait until they are scheduled; or keep a number of them pending for a while (steady state)."""

    count_multiplier_param: str = ""
    steady_state: bool = False
    steady_state_param: str = ""
    duration: str = ""
    duration_param: str = ""
    collect_metrics: bool = False
    namespace: str | None = None
    pod_template_path: str | None = None
    skip_wait_to_completion: bool = False
    persistent_volume_template_path: str | None = None
    persistent_volume_claim_template_path: str | None = None
    template_params: dict[str, Any] = {}
    #: How many pods in a row have the same label `signature`; None for no such label.
    signature_batch_size: int | None = None
    signature_batch_size_param: str = ""

    def resolved(self, given: Parameters) -> Self:
        found = super().resolved(given)
        count, batch = found.number, self.signature_batch_size
        if self.count_multiplier_param:
            count *= given.integer(self.count_multiplier_param)
            _check_count(self.count_multiplier_param, count)
        if self.signature_batch_size_param:
            batch = given.integer(self.signature_batch_size_param)
        duration = given.text(self.duration_param) if self.duration_param else self.duration
        steady = given.truth(self.steady_state_param) if self.steady_state_param else self.steady_state
        if self.skip_wait_to_completion and (self.collect_metrics or steady):
            raise WorkloadError(
                "skipWaitToCompletion: with collectMetrics or steadyState there is something to wait for"
            )
        if steady and not duration:
            raise WorkloadError("steadyState: say for how long, in duration")
        _check_duration(self.duration_param, duration)
        return msgspec.structs.replace(
            found,
            count=count,
            count_multiplier_param="",
            signature_batch_size=batch,
            signature_batch_size_param="",
            duration=duration,
            duration_param="",
            steady_state=steady,
            steady_state_param="",
            template_params=given.fill(self.template_params),
        )

    @property
    def collects_metrics(self) -> bool:
        return self.collect_metrics


class CreatePodSets(CountedOperation, tag="createPodSets", kw_only=True):
    """The same pods in a number of namespaces."""

    namespace_prefix: str = ""
    create_pods_op: CreatePods

    @property
    def collects_metrics(self) -> bool:
        return self.create_pods_op.collects_metrics

    def unrolled(self) -> list[Operation]:
        """Return a step for each set."""
        return [
            msgspec.structs.replace(self.create_pods_op, namespace=f"{self.namespace_prefix}-{number}")
            for number in range(self.number)
        ]


class CreateAny(CountedOperation, tag="createAny", kw_only=True):
    namespace: str = ""
    template_path: str
    template_params: dict[str, Any] = {}

    def resolved(self, given: Parameters) -> Self:
        found = super().resolved(given)
        return msgspec.structs.replace(found, template_params=given.fill(self.template_params))

    @property
    def number(self) -> int:
        return 1 if self.count is None else self.count


class UpdateAny(CountedOperation, tag="updateAny", kw_only=True):
    namespace: str = ""
    template_path: str
    update_per_second: int = 0
    subresources: list[str] = []

    @property
    def number(self) -> int:
        return 1 if self.count is None else self.count


class CreatePodGroups(CountedOperation, tag="createPodGroups", kw_only=True):
    namespace: str
    template_path: str
    template_params: dict[str, Any] = {}

    def resolved(self, given: Parameters) -> Self:
        found = super().resolved(given)
        return msgspec.structs.replace(found, template_params=given.fill(self.template_params))


class DeletePods(Operation, tag="deletePods", kw_only=True):
    namespace: str
    label_selector: dict[str, str] = {}
    skip_wait_to_completion: bool = False
    delete_pods_per_second: int = 0


class Churn(Operation, tag="churn", kw_only=True):
    """Create objects at an interval from now on; in mode recreate, `number` of them and then delete these again."""

    mode: Literal["create", "recreate"]
    number: int = 0
    interval_milliseconds: int = 500
    namespace: str | None = None
    template_paths: list[str]

    def __post_init__(self) -> None:
        if self.mode == "recreate" and self.number < 1:
            raise ValueError("number cannot be 0 when mode is recreate")
        if not self.template_paths:
            raise ValueError("templatePaths: name at least one")


class Barrier(Operation, tag="barrier", kw_only=True):
    """Wait until the pods of earlier steps are scheduled, or at least were tried."""

    namespaces: list[str] = []
    label_selector: dict[str, str] = {}
    stage_requirement: Literal["", "Scheduled", "Attempted"] = ""


class Sleep(Operation, tag="sleep", kw_only=True):
    duration: str = ""
    duration_param: str = ""

    def resolved(self, given: Parameters) -> Self:
        duration = given.text(self.duration_param) if self.duration_param else self.duration
        _check_duration(self.duration_param, duration or "0")
        return msgspec.structs.replace(self, duration=duration or "0", duration_param="")


def _check_duration(name: str, text: str) -> None:
    try:
        if text and durations.parse(text).nanoseconds < 0:
            raise WorkloadError(f"{name or 'duration'}: {text} is less than none; write 0s or more")
    except ValueError as error:
        raise WorkloadError(f"{name or 'duration'}: {error}; write it as 500ms, 30s or 1m30s") from None


class StartCollectingMetrics(Operation, tag="startCollectingMetrics", kw_only=True):
    name: str = ""
    namespaces: list[str]
    label_selector: dict[str, str] = {}


class StopCollectingMetrics(Operation, tag="stopCollectingMetrics", kw_only=True):
    @property
    def collects_metrics(self) -> bool:
        return True


class CreateResourceDriver(Operation, tag="createResourceDriver", kw_only=True):
    """Publish devices of a driver on every node whose name matches a pattern."""

    driver_name: str
    nodes: str
    max_claims_per_node: int = 0
    max_claims_per_node_param: str = ""

    def resolved(self, given: Parameters) -> Self:
        most = self.max_claims_per_node
        if self.max_claims_per_node_param:
            most = given.integer(self.max_claims_per_node_param)
        return msgspec.structs.replace(self, max_claims_per_node=most, max_claims_per_node_param="")


class CreateResourceClaims(CountedOperation, tag="createResourceClaims", kw_only=True):
    namespace: str
    template_path: str


class AllocResourceClaims(Operation, tag="allocResourceClaims", kw_only=True):
    """Allocate the claims of a namespace, or of all, without a pod."""

    namespace: str = ""


AnyOperation = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreatePodSets
    | CreateAny
    | UpdateAny
    | CreatePodGroups
    | DeletePods
    | Churn
    | Barrier
    | Sleep
    | StartCollectingMetrics
    | StopCollectingMetrics
    | CreateResourceDriver
    | CreateResourceClaims
    | AllocResourceClaims
)

OPCODES: Mapping[str, type[Operation]] = {str(kind.__struct_config__.tag): kind for kind in AnyOperation.__args__}
