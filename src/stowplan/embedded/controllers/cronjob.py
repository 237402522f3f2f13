"""CronJobs: a Job at each moment of a schedule, as many kept as wished for."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime, timedelta

from stowplan.embedded.controllers.job import is_finished
from stowplan.embedded.controllers.pod_control import WorkloadObject
from stowplan.embedded.controllers.workload import KnownWorkload, WorkloadController, WorkloadInformer
from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import find_resource, is_terminating, object_reference
from stowplan.embedded.objects.cron_schedule import Schedule, ScheduleError, parse
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time, parse_time

_SCHEDULED_FOR = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobController(WorkloadController):
    """The CronJob controller; `jobs` are the Jobs it shares with their controller."""

    def __init__(self, context: ControllerContext, jobs: WorkloadInformer) -> None:
        super().__init__(context, "cronjob-controller", find_resource(context.api, "batch/v1", "CronJob"))
        self._jobs, self._job = jobs, jobs.resource
        self._watch(jobs, self._on_job)

    def sync(self, workload: WorkloadObject) -> float | None:
        """Note which Jobs ended, tidy up, and start the Job that is due; return when the next one is."""
        if workload.is_terminating:
            return None
        workload.obj.setdefault("status", {})
        jobs = self._jobs.objects_owned_by(workload.uid)
        self._note_active(workload, jobs)
        self._tidy(workload, jobs)
        schedule = self._schedule(workload)
        if schedule is not None:
            self._start_due(workload, schedule, jobs)
        if not workload.obj["status"]["active"]:
            del workload.obj["status"]["active"]
        workload.save_status(self._api)
        if schedule is None:
            return None
        now = self._now()
        following = schedule.next_after(now)
        return None if following is None else max(0.0, (following - now).total_seconds())

    def _schedule(self, workload: WorkloadObject) -> Schedule | None:
        """Read when Jobs are due; None if never, as the schedule makes no sense or is suspended."""
        spec = workload.spec
        try:
            schedule = parse(spec["schedule"], spec.get("timeZone") or "")
        except ScheduleError as error:
            self._warning(workload.obj, "UnparseableSchedule", f"unparseable schedule: {spec['schedule']} : {error}")
            return None
        return None if spec.get("suspend") else schedule

    def _note_active(self, workload: WorkloadObject, jobs: Sequence[Object]) -> None:
        """Take Jobs that ended or are gone out of the active ones."""
        status = workload.obj["status"]
        running = {job["metadata"]["uid"] for job in jobs if not is_finished(job)}
        # Whoever wrote the status may have left that out.
        noted = {reference.get("uid") for reference in status.get("active") or []}
        for job in jobs:
            uid, name = job["metadata"]["uid"], job["metadata"]["name"]
            if uid in noted and uid not in running:
                ended: str = (job.get("status") or {}).get("completionTime") or ""
                if ended > status.get("lastSuccessfulTime", ""):
                    status["lastSuccessfulTime"] = ended
                kind = "Complete" if conditions.is_true(job["status"], "Complete") else "Failed"
                self._normal(workload.obj, "SawCompletedJob", f"Saw completed job: {name}, condition: {kind}")
        status["active"] = [self._reference(job) for job in jobs if job["metadata"]["uid"] in running]

    def _tidy(self, workload: WorkloadObject, jobs: Sequence[Object]) -> None:
        """Delete the oldest Jobs that ended, beyond what is to be kept of each outcome."""
        spec = workload.spec
        limits = {
            "Complete": spec.get("successfulJobsHistoryLimit", 3),
            "Failed": spec.get("failedJobsHistoryLimit", 1),
        }
        for kind, limit in limits.items():
            ended = [job for job in jobs if conditions.is_true(job.get("status") or {}, kind)]
            ended.sort(key=lambda job: (job["status"].get("startTime") or "", job["metadata"]["name"]))
            for job in ended[: max(0, len(ended) - limit)]:
                self._delete(workload, job)

    def _start_due(self, workload: WorkloadObject, schedule: Schedule, jobs: Sequence[Object]) -> None:
        """Start the Job of the latest moment that has passed, if the policy lets it."""
        now, deadline = self._now(), workload.spec.get("startingDeadlineSeconds")
        since = parse_time(workload.status.get("lastScheduleTime") or workload.obj["metadata"]["creationTimestamp"])
        # A deadline of millions of years is none, and no date.
        if deadline is not None and (now - since).total_seconds() > deadline:
            since = now - timedelta(seconds=deadline)
        due = latest_between(schedule, since, now)
        if due is None:
            return
        active, policy = workload.obj["status"]["active"], workload.spec.get("concurrencyPolicy", "Allow")
        if policy == "Forbid" and active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._normal(workload.obj, "JobAlreadyActive", message)
            return
        if policy == "Replace" and active:
            uids = {reference["uid"] for reference in active}
            for job in jobs:
                if job["metadata"]["uid"] in uids:
                    self._delete(workload, job)
            active.clear()
        self._create(workload, due)

    def _create(self, workload: WorkloadObject, due: datetime) -> None:
        try:
            created = self._api.create(self._job, workload.namespace, self._job_from(workload, due))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                self._warning(workload.obj, "FailedCreate", f"Error creating job: {error.message}")
                raise
        else:
            self._normal(workload.obj, "SuccessfulCreate", f"Created job {created['metadata']['name']}")
            workload.obj["status"]["active"].append(self._reference(created))
        workload.obj["status"]["lastScheduleTime"] = format_time(due)

    def _job_from(self, workload: WorkloadObject, due: datetime) -> Object:
        template = deepcopy(workload.spec["jobTemplate"])
        meta = template.get("metadata") or {}
        return {
            "metadata": {
                "name": f"{workload.name}-{int(due.timestamp()) // 60}",
                "namespace": workload.namespace,
                "labels": meta.get("labels") or {},
                "annotations": {**(meta.get("annotations") or {}), _SCHEDULED_FOR: format_time(due)},
                "ownerReferences": [workload.reference],
            },
            "spec": template.get("spec") or {},
        }

    def _delete(self, workload: WorkloadObject, job: Object) -> None:
        meta = job["metadata"]
        if is_terminating(job):
            return
        options = {"propagationPolicy": "Background", "preconditions": {"uid": meta["uid"]}}
        self._api.delete(self._job, meta["namespace"], meta["name"], options)
        self._normal(workload.obj, "SuccessfulDelete", f"Deleted job {meta['name']}")

    def _reference(self, job: Object) -> Object:
        return object_reference(self._job.api_version, self._job.kind, job)

    def _on_job(self, before: KnownWorkload | None, after: KnownWorkload | None) -> None:
        known = after or before
        if known is not None:
            self._enqueue_all(self.informer.by_uid.find(known.owner_uid))


def latest_between(schedule: Schedule, since: datetime, now: datetime) -> datetime | None:
    """Find the last moment of a schedule after `since` and not after `now`, however many there are."""
    due = schedule.next_after(since)
    if due is None or due > now:
        return None
    until = now
    while (following := schedule.next_after(due)) is not None and following <= now:
        middle = due + (until - due) / 2
        probe = schedule.next_after(middle)
        if probe is not None and probe <= now:
            due = max(probe, following)
        else:
            due, until = following, middle
    return due
