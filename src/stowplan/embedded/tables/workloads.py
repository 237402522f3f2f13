"""The columns of what makes pods: deployments, replica sets, stateful sets, daemon sets, jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, Columns, TableColumn, column, count, number, pairs, shown, value, wide
from stowplan.embedded.tables.wording import (
    NONE,
    UNKNOWN,
    UNSET,
    age_of,
    first_few,
    human,
    moment_of,
    reference,
    selector,
)


def job_status(job: Object) -> str:
    """Find the word that says most about a job."""
    for condition in ("Complete", "Failed"):
        if reading.has_condition(job, condition):
            return condition
    if reading.is_deleted(job):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget"):
        if reading.has_condition(job, condition):
            return condition
    return "Running"


def job_completions(job: Object) -> str:
    succeeded = reading.count(job, "status", "succeeded")
    if reading.at(job, "spec", "completions") is not None:
        return f"{succeeded}/{reading.count(job, 'spec', 'completions')}"
    parallelism = reading.count(job, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Object, now: datetime) -> str:
    started = moment_of(reading.text(job, "status", "startTime"))
    ended = moment_of(reading.text(job, "status", "completionTime"))
    return human((ended or now) - started) if started is not None else ""


def last_schedule(cron_job: Object, now: datetime) -> str:
    last = reading.text(cron_job, "status", "lastScheduleTime")
    return age_of(last, now) if last else NONE


def controller(revision: Object) -> str:
    """Name the owner of a revision, such as `statefulset.apps/db`."""
    for owner in reading.entries(revision, "metadata", "ownerReferences"):
        if owner.get("controller"):
            group = reading.text(owner, "apiVersion").rpartition("/")[0]
            kind = f"{reading.text(owner, 'kind')}.{group}" if group else reading.text(owner, "kind")
            return f"{kind.lower()}/{reading.text(owner, 'name')}"
    return NONE


def metrics(autoscaler: Object) -> str:
    """Say what an autoscaler aims at; nothing measures here, so what is now is unknown."""
    percent = reading.at(autoscaler, "spec", "targetCPUUtilizationPercentage")
    if isinstance(percent, int):
        return f"cpu: {UNKNOWN}/{percent}%"
    aims = [_aim(each) for each in reading.entries(autoscaler, "spec", "metrics")]
    return first_few(aims, 2, NONE, ", ")


def _aim(metric: Object) -> str:
    kind = reading.text(metric, "type")
    source = reading.mapping(metric, kind[:1].lower() + kind[1:])
    target = reading.mapping(source, "target")
    of_resource = f"{reading.text(source, 'name')}: " if kind in ("Resource", "ContainerResource") else ""
    if "averageUtilization" in target:
        return f"{of_resource}{UNKNOWN}/{target['averageUtilization']}%"
    suffix = " (avg)" if "averageValue" in target and kind in ("External", "Object") else ""
    return f"{of_resource}{UNKNOWN}/{target.get('averageValue', target.get('value', '<auto>'))}{suffix}"


def _ready_of_replicas(obj: Object) -> str:
    return f"{reading.count(obj, 'status', 'readyReplicas')}/{reading.count(obj, 'spec', 'replicas')}"


def _listed(obj: Object, path: str, field: str) -> str:
    """List one field of the containers of a template."""
    containers = reading.entries(obj, *path.split("."), "spec", "containers")
    return ",".join(reading.text(each, field) for each in containers)


def _containers(path: str = "spec.template") -> tuple[TableColumn, TableColumn]:
    names = wide("Containers", lambda obj: _listed(obj, path, "name"))
    return names, wide("Images", lambda obj: _listed(obj, path, "image"))


def _selector(path: str = "spec.selector", absent: str = NONE) -> TableColumn:
    return wide("Selector", lambda obj: selector(reading.at(obj, *path.split("."))) or absent)


_REPLICAS: Final = (
    number("Desired", "spec.replicas"),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    AGE,
    *_containers(),
)

COLUMNS: Final[Columns] = {
    "scales.autoscaling": (number("Desired", "spec.replicas"), number("Available", "status.replicas"), AGE),
    "replicationcontrollers": (
        *_REPLICAS,
        pairs("Selector", "spec.selector", priority=1),
    ),
    "replicasets.apps": (*_REPLICAS, _selector()),
    "deployments.apps": (
        column("Ready", _ready_of_replicas),
        number("Up-to-date", "status.updatedReplicas", "string"),
        number("Available", "status.availableReplicas", "string"),
        AGE,
        *_containers(),
        _selector(absent=""),
    ),
    "statefulsets.apps": (column("Ready", _ready_of_replicas), AGE, *_containers()),
    "daemonsets.apps": (
        number("Desired", "status.desiredNumberScheduled"),
        number("Current", "status.currentNumberScheduled"),
        number("Ready", "status.numberReady"),
        number("Up-to-date", "status.updatedNumberScheduled"),
        number("Available", "status.numberAvailable"),
        pairs("Node Selector", "spec.template.spec.nodeSelector"),
        AGE,
        *_containers(),
        _selector(),
    ),
    "controllerrevisions.apps": (column("Controller", controller), number("Revision", "revision", "string"), AGE),
    "podtemplates": (
        column("Containers", lambda obj: _listed(obj, "template", "name")),
        column("Images", lambda obj: _listed(obj, "template", "image")),
        pairs("Pod Labels", "template.metadata.labels"),
    ),
    "jobs.batch": (
        column("Status", job_status),
        column("Completions", job_completions),
        TableColumn("Duration", job_duration),
        AGE,
        *_containers(),
        _selector(),
    ),
    "cronjobs.batch": (
        value("Schedule", "spec.schedule"),
        value("Timezone", "spec.timeZone", NONE),
        shown("Suspend", "spec.suspend", UNSET, type_="boolean"),
        count("Active", "status.active"),
        TableColumn("Last Schedule", last_schedule),
        AGE,
        *_containers("spec.jobTemplate.spec.template"),
        _selector("spec.jobTemplate.spec.selector"),
    ),
    "horizontalpodautoscalers.autoscaling": (
        column("Reference", lambda obj: reference(reading.mapping(obj, "spec", "scaleTargetRef"), "kind", "name")),
        column("Targets", metrics),
        shown("MinPods", "spec.minReplicas", UNSET),
        number("MaxPods", "spec.maxReplicas", "string"),
        number("Replicas", "status.currentReplicas", "string"),
        AGE,
    ),
}
