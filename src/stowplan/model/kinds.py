"""Every kind of object that scheduling reads or writes, by the apiVersion and kind it is served under; and the small
ones of them: namespaces, bindings, events and leases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType

from stowplan.model import device_pool, dra, node, pod, pod_group, storage, workload
from stowplan.model.meta import ApiObject, Int32, MicroTime, Namespaced, ObjectReference, Part, always


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


def _kinds_in(*modules: ModuleType) -> Iterator[type[ApiObject]]:
    """Find the classes of objects that have a kind."""
    for module in modules:
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, ApiObject) and found().kind:
                yield found


_CLASSES = _kinds_in(device_pool, dra, node, pod, pod_group, storage, workload, sys.modules[__name__])

KINDS: Mapping[tuple[str, str], type[ApiObject]] = MappingProxyType(
    {(kind().api_version, kind().kind): kind for kind in sorted(_CLASSES, key=lambda kind: kind.__name__)}
)
