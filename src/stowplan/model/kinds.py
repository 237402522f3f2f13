"""Every kind of object that scheduling reads or writes, by the apiVersion and kind it is served under (`KINDS`).

The small ones are defined here: namespaces, bindings, events and leases; and what stands behind pods: the owners whose
selectors spread them by default, disruption budgets, priority classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType

from stowplan.model import device_pool, dra, node, pod, pod_group, storage
from stowplan.model.meta import (
    ApiObject,
    Condition,
    Int32,
    Int64,
    LabelSelector,
    MicroTime,
    Namespaced,
    ObjectReference,
    Part,
    Time,
    always,
)


class NamespaceStatus(Part, frozen=True, kw_only=True):
    phase: str = "Active"


class Namespace(ApiObject, frozen=True, kw_only=True):
    """Scheduling reads its labels, for the namespace selectors of pod affinity."""

    api_version: str = always("v1")
    kind: str = always("Namespace")
    status: NamespaceStatus = NamespaceStatus()


class Binding(Namespaced, frozen=True, kw_only=True):
    """Puts a pod on a node: `metadata` names the pod (with its uid), `target` the node."""

    api_version: str = always("v1")
    kind: str = always("Binding")
    target: ObjectReference = ObjectReference()


class LeaseSpec(Part, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: Int32 | None = None


class Lease(Namespaced, frozen=True, kw_only=True):
    """What leader election holds. Its times are MicroTimes: write them with `timestamps.format_micro_time`."""

    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("Lease")
    spec: LeaseSpec = LeaseSpec()


class EventSeries(Part, frozen=True, kw_only=True):
    count: Int32 = 0
    last_observed_time: MicroTime | None = None


class Event(Namespaced, frozen=True, kw_only=True):
    """What users are told: `type` is Normal or Warning, `note` the text, `regarding` the object it is about."""

    api_version: str = always("events.k8s.io/v1")
    kind: str = always("Event")
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    type: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None


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


def _kinds_in(*modules: ModuleType) -> Iterator[type[ApiObject]]:
    """Find the classes of objects that have a kind."""
    for module in modules:
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, ApiObject) and found().kind:
                yield found


_CLASSES = _kinds_in(device_pool, dra, node, pod, pod_group, storage, sys.modules[__name__])

KINDS: Mapping[tuple[str, str], type[ApiObject]] = MappingProxyType(
    {(kind().api_version, kind().kind): kind for kind in sorted(_CLASSES, key=lambda kind: kind.__name__)}
    | {("scheduling.k8s.io/v1alpha2", "PodGroup"): pod_group.PodGroup}
)
