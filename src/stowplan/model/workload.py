"""What stands behind pods: the owners whose selectors spread them by default, disruption budgets, priority classes."""

from __future__ import annotations

from stowplan.model.meta import ApiObject, Condition, Int32, Int64, LabelSelector, Namespaced, Part, Time, always


class ServiceSpec(Part, frozen=True, kw_only=True):
    selector: dict[str, str] = {}


class Service(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("Service")
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Part, frozen=True, kw_only=True):
    replicas: Int32 = 1
    selector: dict[str, str] = {}


class ReplicationController(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("v1")
    kind: str = always("ReplicationController")
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class SetSpec(Part, frozen=True, kw_only=True):
    """The part of ReplicaSet and StatefulSet that scheduling reads; `replicas` defaults to 1."""

    replicas: Int32 = 1
    selector: LabelSelector | None = None


class ReplicaSet(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("apps/v1")
    kind: str = always("ReplicaSet")
    spec: SetSpec = SetSpec()


class StatefulSet(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("apps/v1")
    kind: str = always("StatefulSet")
    spec: SetSpec = SetSpec()


class PodDisruptionBudgetSpec(Part, frozen=True, kw_only=True):
    """`min_available` and `max_unavailable` are counts or percentages."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Part, frozen=True, kw_only=True):
    """`disrupted_pods` names pods whose eviction is already counted, with the time it was."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Time] = {}
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("policy/v1")
    kind: str = always("PodDisruptionBudget")
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(ApiObject, frozen=True, kw_only=True):
    api_version: str = always("scheduling.k8s.io/v1")
    kind: str = always("PriorityClass")
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"
    description: str = ""
