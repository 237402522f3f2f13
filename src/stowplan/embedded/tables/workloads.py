"""The columns of what makes pods: deployments, replica sets, stateful sets, daemon sets, jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables import wording
from stowplan.embedded.tables.age import age_of, human, moment_of
from stowplan.embedded.tables.column import AGE, NAME, Column, Sheet, column, number, value, wide
from stowplan.embedded.tables.wording import NONE, UNSET

_TEMPLATE: Final = ("spec", "template", "spec", "containers")
_JOB_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template", "spec", "containers")


def job_status(job: Object) -> str:
    """Find the word that says most about a job."""
    for condition, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if reading.has_condition(job, condition):
            return word
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
        return f"cpu: {wording.UNKNOWN}/{percent}%"
    aims = [_aim(each) for each in reading.entries(autoscaler, "spec", "metrics")]
    return wording.first_few(aims, 2, NONE, ", ")


def _aim(metric: Object) -> str:
    kind = reading.text(metric, "type")
    source = reading.mapping(metric, kind[:1].lower() + kind[1:])
    target = reading.mapping(source, "target")
    of_resource = f"{reading.text(source, 'name')}: " if kind in ("Resource", "ContainerResource") else ""
    if "averageUtilization" in target:
        return f"{of_resource}{wording.UNKNOWN}/{target['averageUtilization']}%"
    suffix = " (avg)" if "averageValue" in target and kind in ("External", "Object") else ""
    return f"{of_resource}{wording.UNKNOWN}/{target.get('averageValue', target.get('value', '<auto>'))}{suffix}"


def _ready_of_replicas(obj: Object) -> str:
    return f"{reading.count(obj, 'status', 'readyReplicas')}/{reading.count(obj, 'spec', 'replicas')}"


def _containers(*path: str) -> tuple[Column, Column]:
    def listed(obj: Object) -> list[Object]:
        return reading.entries(obj, *path)

    names = wide("Containers", lambda obj: wording.names(listed(obj)))
    return names, wide("Images", lambda obj: wording.images(listed(obj)))


def _selector(*path: str) -> Column:
    return wide("Selector", lambda obj: wording.selector(reading.at(obj, *path)))


def _is_suspended(cron_job: Object) -> str:
    suspend = reading.at(cron_job, "spec", "suspend")
    return UNSET if suspend is None else str(bool(suspend))


def _min_pods(autoscaler: Object) -> str:
    least = reading.at(autoscaler, "spec", "minReplicas")
    return str(least) if isinstance(least, int) else UNSET


def _reference(autoscaler: Object) -> str:
    target = reading.mapping(autoscaler, "spec", "scaleTargetRef")
    return f"{reading.text(target, 'kind')}/{reading.text(target, 'name')}"


def _replicas(selector: Column) -> Sheet:
    return Sheet(
        (
            NAME,
            number("Desired", "spec", "replicas"),
            number("Current", "status", "replicas"),
            number("Ready", "status", "readyReplicas"),
            AGE,
            *_containers(*_TEMPLATE),
            selector,
        )
    )


def _plain(name: str, *path: str) -> Column:
    """Make a column of a number that is declared as text, as upstream has it for some."""
    return column(name, lambda obj: reading.count(obj, *path))


def _template_labels(template: Object) -> Any:
    return wording.labels(reading.mapping(template, "template", "metadata", "labels"))


SHEETS: Final = {
    "scales.autoscaling": Sheet(
        (NAME, number("Desired", "spec", "replicas"), number("Available", "status", "replicas"), AGE)
    ),
    "replicationcontrollers": _replicas(
        wide("Selector", lambda obj: wording.labels(reading.mapping(obj, "spec", "selector")))
    ),
    "replicasets.apps": _replicas(_selector("spec", "selector")),
    "deployments.apps": Sheet(
        (
            NAME,
            column("Ready", _ready_of_replicas),
            _plain("Up-to-date", "status", "updatedReplicas"),
            _plain("Available", "status", "availableReplicas"),
            AGE,
            *_containers(*_TEMPLATE),
            wide("Selector", lambda obj: wording.selector_text(reading.at(obj, "spec", "selector"))),
        )
    ),
    "statefulsets.apps": Sheet((NAME, column("Ready", _ready_of_replicas), AGE, *_containers(*_TEMPLATE))),
    "daemonsets.apps": Sheet(
        (
            NAME,
            number("Desired", "status", "desiredNumberScheduled"),
            number("Current", "status", "currentNumberScheduled"),
            number("Ready", "status", "numberReady"),
            number("Up-to-date", "status", "updatedNumberScheduled"),
            number("Available", "status", "numberAvailable"),
            column(
                "Node Selector",
                lambda obj: wording.labels(reading.mapping(obj, "spec", "template", "spec", "nodeSelector")),
            ),
            AGE,
            *_containers(*_TEMPLATE),
            _selector("spec", "selector"),
        )
    ),
    "controllerrevisions.apps": Sheet((NAME, column("Controller", controller), _plain("Revision", "revision"), AGE)),
    "podtemplates": Sheet(
        (
            NAME,
            column("Containers", lambda obj: wording.names(reading.entries(obj, "template", "spec", "containers"))),
            column("Images", lambda obj: wording.images(reading.entries(obj, "template", "spec", "containers"))),
            column("Pod Labels", _template_labels),
        )
    ),
    "jobs.batch": Sheet(
        (
            NAME,
            column("Status", job_status),
            column("Completions", job_completions),
            Column("Duration", job_duration),
            AGE,
            *_containers(*_TEMPLATE),
            _selector("spec", "selector"),
        )
    ),
    "cronjobs.batch": Sheet(
        (
            NAME,
            value("Schedule", "spec", "schedule"),
            value("Timezone", "spec", "timeZone", absent=NONE),
            column("Suspend", _is_suspended, "boolean"),
            column("Active", lambda obj: len(reading.entries(obj, "status", "active")), "integer"),
            Column("Last Schedule", last_schedule),
            AGE,
            *_containers(*_JOB_TEMPLATE),
            _selector("spec", "jobTemplate", "spec", "selector"),
        )
    ),
    "horizontalpodautoscalers.autoscaling": Sheet(
        (
            NAME,
            column("Reference", _reference),
            column("Targets", metrics),
            column("MinPods", _min_pods),
            _plain("MaxPods", "spec", "maxReplicas"),
            _plain("Replicas", "status", "currentReplicas"),
            AGE,
        )
    ),
}
