"""The columns of the cluster itself: nodes, events, what rules or configures pods, who may do what, devices."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, NAME, Columns, TableColumn, column, flag, number, shown, value, wide
from stowplan.embedded.tables.wording import NONE, UNKNOWN, age_of, reference

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
    kind, name = reading.text(_about(event), "kind").lower(), reading.text(_about(event), "name")
    return f"{kind}/{name}" if name else kind


def _about(event: Object) -> Object:
    return reading.mapping(event, "involvedObject") or reading.mapping(event, "regarding")


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
    return "Gang" if isinstance(reading.mapping(group, "spec", "schedulingPolicy").get("gang"), dict) else "Basic"


def group_workload(group: Object) -> str:
    """Name the workload that a group is made from: 1.37 says so in another field than 1.36."""
    named = (("workloadRef",), ("podGroupTemplateRef", "workload"))
    return next((found for path in named if (found := reading.text(group, "spec", *path, "workloadName"))), NONE)


def group_status(group: Object) -> str:
    """Say how the attempts of a group went: the condition has one name in 1.36 and another one since."""
    evicted = reading.condition(group, "DisruptionTarget")
    if evicted is not None:
        return reading.text(evicted, "reason")
    tried = reading.condition(group, "PodGroupInitiallyScheduled") or reading.condition(group, "PodGroupScheduled")
    if tried is None:
        return "Pending"
    return "Scheduled" if tried.get("status") == "True" else "Unschedulable"


def _address(node: Object, kind: str) -> str:
    found = [each for each in reading.entries(node, "status", "addresses") if each.get("type") == kind]
    return reading.text(found[0], "address") if found else NONE


def _any_text(obj: Object, *names: str) -> str:
    return next((found for name in names if (found := reading.text(obj, name))), "")


def _data_count(obj: Object) -> int:
    return len(reading.mapping(obj, "data")) + len(reading.mapping(obj, "binaryData"))


def subjects(binding: Object, kind: str) -> str:
    found = [each for each in reading.entries(binding, "subjects") if each.get("kind") == kind]
    fields = ("namespace", "name") if kind == "ServiceAccount" else ("name",)
    return ", ".join(reference(each, *fields) for each in found)


def claim_state(claim: Object) -> str:
    states = ["deleted"] if reading.is_deleted(claim) else []
    if not reading.mapping(claim, "status", "allocation"):
        return ",".join(states or ["pending"])
    reserved = ["reserved"] if reading.entries(claim, "status", "reservedFor") else []
    return ",".join([*states, "allocated", *reserved])


_EVENT: Final = (
    TableColumn("Last Seen", last_seen),
    value("Type", "type"),
    value("Reason", "reason"),
    column("Object", event_object),
    wide("Subobject", lambda obj: reading.text(_about(obj), "fieldPath")),
    wide("Source", event_source),
    column("Message", lambda obj: _any_text(obj, "message", "note").strip()),
    TableColumn("First Seen", first_seen, priority=1),
    wide("Count", event_count),
    TableColumn("Name", NAME.read, format="name", priority=1),
)
_BINDING: Final = (
    column("Role", lambda obj: reference(reading.mapping(obj, "roleRef"), "kind", "name")),
    AGE,
    wide("Users", lambda obj: subjects(obj, "User")),
    wide("Groups", lambda obj: subjects(obj, "Group")),
    wide("ServiceAccounts", lambda obj: subjects(obj, "ServiceAccount")),
)

COLUMNS: Final[Columns] = {
    "nodes": (
        column("Status", node_status),
        column("Roles", node_roles),
        AGE,
        value("Version", "status.nodeInfo.kubeletVersion"),
        wide("Internal-IP", lambda obj: _address(obj, "InternalIP")),
        wide("External-IP", lambda obj: _address(obj, "ExternalIP")),
        value("OS-Image", "status.nodeInfo.osImage", UNKNOWN, priority=1),
        value("Kernel-Version", "status.nodeInfo.kernelVersion", UNKNOWN, priority=1),
        value("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", UNKNOWN, priority=1),
    ),
    "namespaces": (value("Status", "status.phase"), AGE),
    "events": _EVENT,
    "events.events.k8s.io": _EVENT,
    "configmaps": (column("Data", _data_count), AGE),
    "secrets": (value("Type", "type"), column("Data", _data_count), AGE),
    "serviceaccounts": (AGE,),
    "resourcequotas": (
        column("Request", lambda obj: quota_use(obj, is_of_limits=False)),
        column("Limit", lambda obj: quota_use(obj, is_of_limits=True)),
        AGE,
    ),
    "poddisruptionbudgets.policy": (
        shown("Min Available", "spec.minAvailable", "N/A"),
        shown("Max Unavailable", "spec.maxUnavailable", "N/A"),
        number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        number("Value", "value"),
        flag("Global-Default", "globalDefault"),
        AGE,
        value("PreemptionPolicy", "preemptionPolicy"),
    ),
    "podgroups.scheduling.k8s.io": (
        column("Policy", group_policy),
        column("Workload", group_workload),
        column("Status", group_status),
        AGE,
    ),
    "compositepodgroups.scheduling.k8s.io": (
        column("Policy", group_policy),
        column("Workload", group_workload),
        AGE,
    ),
    "workloads.scheduling.k8s.io": (AGE,),
    "leases.coordination.k8s.io": (value("Holder", "spec.holderIdentity"), AGE),
    "runtimeclasses.node.k8s.io": (value("Handler", "handler"), AGE),
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "deviceclasses.resource.k8s.io": (AGE,),
    "resourceclaims.resource.k8s.io": (column("State", claim_state), AGE),
    "resourceclaimtemplates.resource.k8s.io": (AGE,),
    "resourceslices.resource.k8s.io": (
        value("Node", "spec.nodeName"),
        value("Driver", "spec.driver"),
        value("Pool", "spec.pool.name"),
        AGE,
    ),
}
