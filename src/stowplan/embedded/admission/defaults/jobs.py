"""Defaults of jobs and cron jobs. A job finds its pods by its own uid, unless it insists on a selector."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.defaults.pods import complete_template
from stowplan.embedded.admission.defaults.workloads import begin_status
from stowplan.embedded.objects.resource import Object

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
_OLD_CONTROLLER_UID: Final = "controller-uid"
_OLD_JOB_NAME: Final = "job-name"
_RETRIES: Final = 6
#: As good as no limit, where each index has one of its own.
_UNLIMITED: Final = 2**31 - 1


def complete_job(job: Object) -> None:
    """Fill in a job."""
    _complete_spec(job.setdefault("spec", {}))
    # Upstream gives a new job the labels of its template, before those that are made for it.
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)
    begin_status(job)


def select_own_pods(job: Object) -> None:
    """Give a new job the selector and labels that no other job has."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    spec["manualSelector"] = False
    own = {
        CONTROLLER_UID: metadata["uid"],
        JOB_NAME: metadata["name"],
        _OLD_CONTROLLER_UID: metadata["uid"],
        _OLD_JOB_NAME: metadata["name"],
    }
    spec["template"]["metadata"].setdefault("labels", {}).update(own)
    metadata["labels"] = {**(metadata.get("labels") or {}), **own}
    spec.setdefault("selector", {}).setdefault("matchLabels", {})[CONTROLLER_UID] = metadata["uid"]


def complete_cron_job(cron_job: Object) -> None:
    """Fill in a cron job; its jobs are filled in when they are made."""
    spec = cron_job.setdefault("spec", {})
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {})
    complete_template(template.setdefault("spec", {}).setdefault("template", {}))
    begin_status(cron_job)


def _complete_spec(spec: Object) -> None:
    if "parallelism" not in spec and "completions" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else _RETRIES)
    spec["completionMode"] = spec.get("completionMode") or "NonIndexed"
    spec.setdefault("suspend", False)
    policy = spec.get("podFailurePolicy")
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if policy is None else "Failed")
    for rule in (policy or {}).get("rules", ()):
        for condition in rule.get("onPodConditions", ()):
            condition["status"] = condition.get("status") or "True"
    complete_template(spec.setdefault("template", {}))
