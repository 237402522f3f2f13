"""Checks jobs and cron jobs."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

from stowplan.embedded.admission.defaults.jobs import CONTROLLER_UID
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.admission.validation.workloads import check_template, selects
from stowplan.embedded.objects.cron_schedule import ScheduleError, parse
from stowplan.embedded.objects.resource import Object

_COUNTS: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MODES: Final = ("NonIndexed", "Indexed")
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")
_MISMATCH: Final = "`selector` does not match template `labels`"
#: Of a cron job: its jobs have eleven characters more.
_LONGEST_NAME: Final = 52


def check_job(problems: Problems, job: Object) -> None:
    """Check a job."""
    spec = job["spec"]
    _check_spec(problems, spec, "spec")
    selector, labels = spec.get("selector"), spec["template"]["metadata"].get("labels")
    if selector is None:
        problems.required("spec.selector")
    else:
        check_label_selector(problems, selector, "spec.selector")
        _check_own_selector(problems, job)
    if not selects(selector, labels or {}):
        problems.invalid("spec.template.metadata.labels", labels, _MISMATCH)


def check_cron_job(problems: Problems, cron_job: Object) -> None:
    """Check a cron job and what its jobs will be made from."""
    spec, name = cron_job["spec"], cron_job["metadata"].get("name", "")
    if len(name) > _LONGEST_NAME:
        problems.invalid("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters")
    schedule = spec.get("schedule", "")
    if not schedule:
        problems.required("spec.schedule")
    else:
        _check_schedule(problems, schedule)
    if "timeZone" in spec:
        _check_zone(problems, spec["timeZone"])
    problems.check_one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _CONCURRENCY)
    for field in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        problems.check_not_negative(f"spec.{field}", spec.get(field))
    _check_spec(problems, spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")


def _check_spec(problems: Problems, spec: Object, path: str) -> None:
    for field in _COUNTS:
        problems.check_not_negative(f"{path}.{field}", spec.get(field))
    problems.check_one_of(f"{path}.completionMode", spec.get("completionMode"), _MODES)
    if spec.get("completionMode") == "Indexed" and "completions" not in spec:
        problems.required(f"{path}.completions", "when completion mode is Indexed")
    check_template(problems, spec["template"], f"{path}.template")
    pod_path, policy = f"{path}.template.spec", spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        problems.required(f"{pod_path}.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        problems.unsupported(f"{pod_path}.restartPolicy", policy, ("OnFailure", "Never"))


def _check_own_selector(problems: Problems, job: Object) -> None:
    """A job that makes its own selector must have nothing else in it."""
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    if spec["selector"] != {"matchLabels": {CONTROLLER_UID: job["metadata"].get("uid")}}:
        problems.invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _check_schedule(problems: Problems, schedule: str) -> None:
    try:
        parse(schedule)
    except ScheduleError as wrong:
        problems.invalid("spec.schedule", schedule, str(wrong))


def _check_zone(problems: Problems, zone: str) -> None:
    path = "spec.timeZone"
    if not zone:
        problems.invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    if zone.lower() == "local":
        problems.invalid(
            path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        return
    try:
        ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        problems.invalid(path, zone, f"unknown time zone {zone}")
