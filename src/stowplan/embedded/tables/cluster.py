"""The columns of the cluster itself: nodes, namespaces, events, and what rules or configures pods."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.age import UNKNOWN, age_of
from stowplan.embedded.tables.column import AGE, NAME, Column, Sheet, column, number, value, wide
from stowplan.embedded.tables.wording import NONE

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"


def node_status(node: Object) -> str:
    ready = reading.condition(node, "Ready")
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if reading.is_true(node, "spec", "unschedulable") else word


def node_roles(node: Object) -> str:
    labels = reading.mapping(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(reading.text(labels, "kubernetes.io/role"))
    return ",".join(sorted(roles - {""})) or NONE


def first_seen(event: Object, now: datetime) -> str:
    return age_of(_any_text(event, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)


def last_seen(event: Object, now: datetime) -> str:
    if reading.mapping(event, "series"):
        return age_of(reading.text(event, "series", "lastObservedTime"), now)
    last = _any_text(event, "lastTimestamp", "deprecatedLastTimestamp")
    return age_of(last, now) if last else first_seen(event, now)


def event_object(event: Object) -> str:
    about = reading.mapping(event, "involvedObject") or reading.mapping(event, "regarding")
    kind, name = reading.text(about, "kind").lower(), reading.text(about, "name")
    return f"{kind}/{name}" if name else kind


def event_source(event: Object) -> str:
    source = reading.mapping(event, "source") or reading.mapping(event, "deprecatedSource")
    component = reading.text(source, "component") or _any_text(event, "reportingComponent", "reportingController")
    instance = reading.text(source, "host") or reading.text(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def event_count(event: Object) -> int:
    if reading.mapping(event, "series"):
        return reading.count(event, "series", "count")
    return reading.count(event, "count") or reading.count(event, "deprecatedCount") or 1


def quota_use(quota: Object, *, is_of_limits: bool) -> str:
    """Say how much of a quota is used: what counts limits apart from everything else."""
    hard = reading.mapping(quota, "status", "hard")
    used = reading.mapping(quota, "status", "used")
    names = [name for name in sorted(hard) if name.startswith("limits.") == is_of_limits]
    return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)


def group_policy(group: Object) -> str:
    policy = reading.mapping(group, "spec", "schedulingPolicy")
    if reading.mapping(policy, "gang"):
        return "Gang"
    return "Basic" if "basic" in policy else NONE


def group_workload(group: Object) -> str:
    return reading.text(group, "spec", "podGroupTemplateRef", "workload", "workloadName") or NONE


def group_status(group: Object) -> str:
    scheduled = reading.condition(group, "PodGroupScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else reading.text(scheduled, "reason") or "Unscheduled"


def _amount(budget: Object, name: str) -> str:
    amount = reading.at(budget, "spec", name)
    return "N/A" if amount is None else str(amount)


def _address(node: Object, kind: str) -> str:
    found = [each for each in reading.entries(node, "status", "addresses") if each.get("type") == kind]
    return reading.text(found[0], "address") if found else NONE


def _any_text(obj: Object, *names: str) -> str:
    return next((found for name in names if (found := reading.text(obj, name))), "")


def _event_columns() -> tuple[Column, ...]:
    return (
        Column("Last Seen", last_seen),
        value("Type", "type"),
        value("Reason", "reason"),
        column("Object", event_object),
        wide(
            "Subobject",
            lambda obj: reading.text(obj, "involvedObject", "fieldPath") or reading.text(obj, "regarding", "fieldPath"),
        ),
        wide("Source", event_source),
        column("Message", lambda obj: _any_text(obj, "message", "note").strip()),
        Column("First Seen", first_seen, priority=1),
        wide("Count", event_count),
        Column("Name", NAME.read, format="name", priority=1),
    )


def _data_count(obj: Object) -> int:
    return len(reading.mapping(obj, "data")) + len(reading.mapping(obj, "binaryData"))


_NODE: Final = Sheet(
    (
        NAME,
        column("Status", node_status),
        column("Roles", node_roles),
        AGE,
        value("Version", "status", "nodeInfo", "kubeletVersion"),
        wide("Internal-IP", lambda obj: _address(obj, "InternalIP")),
        wide("External-IP", lambda obj: _address(obj, "ExternalIP")),
        value("OS-Image", "status", "nodeInfo", "osImage", absent=UNKNOWN, priority=1),
        value("Kernel-Version", "status", "nodeInfo", "kernelVersion", absent=UNKNOWN, priority=1),
        value("Container-Runtime", "status", "nodeInfo", "containerRuntimeVersion", absent=UNKNOWN, priority=1),
    )
)

SHEETS: Final = {
    "nodes": _NODE,
    "namespaces": Sheet((NAME, value("Status", "status", "phase"), AGE)),
    "events": Sheet(_event_columns()),
    "events.events.k8s.io": Sheet(_event_columns()),
    "configmaps": Sheet((NAME, column("Data", _data_count), AGE)),
    "secrets": Sheet((NAME, value("Type", "type"), column("Data", _data_count), AGE)),
    "serviceaccounts": Sheet((NAME, AGE)),
    "resourcequotas": Sheet(
        (
            NAME,
            column("Request", lambda obj: quota_use(obj, is_of_limits=False)),
            column("Limit", lambda obj: quota_use(obj, is_of_limits=True)),
            AGE,
        )
    ),
    "poddisruptionbudgets.policy": Sheet(
        (
            NAME,
            column("Min Available", lambda obj: _amount(obj, "minAvailable")),
            column("Max Unavailable", lambda obj: _amount(obj, "maxUnavailable")),
            number("Allowed Disruptions", "status", "disruptionsAllowed"),
            AGE,
        )
    ),
    "priorityclasses.scheduling.k8s.io": Sheet(
        (
            NAME,
            number("Value", "value"),
            column("Global-Default", lambda obj: reading.is_true(obj, "globalDefault"), "boolean"),
            AGE,
            value("PreemptionPolicy", "preemptionPolicy"),
        )
    ),
    "podgroups.scheduling.k8s.io": Sheet(
        (
            NAME,
            column("Policy", group_policy),
            column("Workload", group_workload),
            column("Status", group_status),
            AGE,
        )
    ),
    "workloads.scheduling.k8s.io": Sheet((NAME, AGE)),
    "leases.coordination.k8s.io": Sheet((NAME, value("Holder", "spec", "holderIdentity"), AGE)),
    "runtimeclasses.node.k8s.io": Sheet((NAME, value("Handler", "handler"), AGE)),
}
