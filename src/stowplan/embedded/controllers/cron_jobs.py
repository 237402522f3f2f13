"""CronJobs: a Job at each moment of a schedule, as many kept as wished for."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

from stowplan.embedded.controllers.claims import Claimant, save
from stowplan.embedded.controllers.job_verdicts import is_finished
from stowplan.embedded.controllers.sets import KnownSet, Sets
from stowplan.embedded.following import conditions, resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.cron_schedule import Schedule, ScheduleError, parse
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time, parse_time

_SCHEDULED_FOR = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobs:
    """The CronJob controller; `jobs` are the Jobs it shares with their controller."""

    def __init__(self, setting: Setting, jobs: Follower[KnownSet]) -> None:
        self._setting = setting
        self._sets = Sets(setting, resources.batch(setting.api, "CronJob"))
        self._job = resources.batch(setting.api, "Job")
        self._recorder = setting.recorder("cronjob-controller")
        self._jobs = jobs
        self._by_owner: dict[str, set[Key]] = {}
        self._keys: dict[str, Key] = {}
        self._sets.follower.tell(self._on_cron_job)
        jobs.tell(self._on_job)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile, self._jobs)

    def reconcile(self, key: Key) -> float | None:
        """Note which Jobs ended, tidy up, and start the Job that is due; return when the next one is."""
        claimant = self._sets.claimant(key)
        if claimant is None or "deletionTimestamp" in claimant.obj["metadata"]:
            return None
        claimant.obj.setdefault("status", {})
        jobs = self._own_jobs(claimant)
        self._note_active(claimant, jobs)
        self._tidy(claimant, jobs)
        spec = claimant.obj["spec"]
        try:
            schedule = parse(spec["schedule"], spec.get("timeZone") or "")
        except ScheduleError as error:
            self._tell(claimant, "UnparseableSchedule", f"unparseable schedule: {spec['schedule']} : {error}")
            self._save(claimant)
            return None
        if spec.get("suspend"):
            self._save(claimant)
            return None
        self._start_due(claimant, schedule, jobs)
        self._save(claimant)
        now = self._setting.now()
        following = schedule.next_after(now)
        return None if following is None else max(0.0, (following - now).total_seconds())

    def _own_jobs(self, claimant: Claimant) -> list[Object]:
        keys = sorted(self._by_owner.get(claimant.uid, ()))
        found = [self._setting.api.store.get(self._job, *key) for key in keys]
        return [stored.object for stored in found if stored is not None]

    def _note_active(self, claimant: Claimant, jobs: Sequence[Object]) -> None:
        """Take Jobs that ended or are gone out of the active ones."""
        status = claimant.obj["status"]
        running = {job["metadata"]["uid"] for job in jobs if not is_finished(job)}
        # Whoever wrote the status may have left that out.
        noted = {reference.get("uid") for reference in status.get("active") or []}
        for job in jobs:
            uid, name = job["metadata"]["uid"], job["metadata"]["name"]
            if uid in noted and uid not in running:
                self._note_success(status, job)
                kind = "Complete" if conditions.is_true(job["status"], "Complete") else "Failed"
                message = f"Saw completed job: {name}, condition: {kind}"
                self._recorder.normal(claimant.resource, claimant.obj, "SawCompletedJob", message)
        status["active"] = [self._reference(job) for job in jobs if job["metadata"]["uid"] in running]

    def _note_success(self, status: Object, job: Object) -> None:
        ended: str = (job.get("status") or {}).get("completionTime") or ""
        if ended > status.get("lastSuccessfulTime", ""):
            status["lastSuccessfulTime"] = ended

    def _tidy(self, claimant: Claimant, jobs: Sequence[Object]) -> None:
        """Delete the oldest Jobs that ended, beyond what is to be kept of each outcome."""
        spec = claimant.obj["spec"]
        limits = {
            "Complete": spec.get("successfulJobsHistoryLimit", 3),
            "Failed": spec.get("failedJobsHistoryLimit", 1),
        }
        for kind, limit in limits.items():
            ended = [job for job in jobs if conditions.is_true(job.get("status") or {}, kind)]
            ended.sort(key=lambda job: (job["status"].get("startTime") or "", job["metadata"]["name"]))
            for job in ended[: max(0, len(ended) - limit)]:
                self._delete(claimant, job)

    def _start_due(self, claimant: Claimant, schedule: Schedule, jobs: Sequence[Object]) -> None:
        """Start the Job of the latest moment that has passed, if the policy lets it."""
        due = self._latest_due(claimant, schedule)
        if due is None:
            return
        active = claimant.obj["status"]["active"]
        policy = claimant.obj["spec"].get("concurrencyPolicy", "Allow")
        if policy == "Forbid" and active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._recorder.normal(claimant.resource, claimant.obj, "JobAlreadyActive", message)
            return
        if policy == "Replace" and active:
            uids = {reference["uid"] for reference in active}
            for job in jobs:
                if job["metadata"]["uid"] in uids:
                    self._delete(claimant, job)
            active.clear()
        self._create(claimant, due)

    def _latest_due(self, claimant: Claimant, schedule: Schedule) -> datetime | None:
        """Find the latest moment of the schedule since the last Job that is not too long ago."""
        now, spec = self._setting.now(), claimant.obj["spec"]
        since = parse_time(
            claimant.obj["status"].get("lastScheduleTime") or claimant.obj["metadata"]["creationTimestamp"]
        )
        deadline = spec.get("startingDeadlineSeconds")
        # A deadline of millions of years is none, and no date.
        if deadline is not None and (now - since).total_seconds() > deadline:
            since = now - timedelta(seconds=deadline)
        return latest_between(schedule, since, now)

    def _create(self, claimant: Claimant, due: datetime) -> None:
        job = self._job_from(claimant, due)
        try:
            created = self._setting.api.create(self._job, claimant.namespace, job)
        except StatusError as error:
            if error.reason == "AlreadyExists":
                claimant.obj["status"]["lastScheduleTime"] = format_time(due)
                return
            self._tell(claimant, "FailedCreate", f"Error creating job: {error.message}")
            raise
        message = f"Created job {created['metadata']['name']}"
        self._recorder.normal(claimant.resource, claimant.obj, "SuccessfulCreate", message)
        claimant.obj["status"]["active"].append(self._reference(created))
        claimant.obj["status"]["lastScheduleTime"] = format_time(due)

    def _job_from(self, claimant: Claimant, due: datetime) -> Object:
        template = deepcopy(claimant.obj["spec"]["jobTemplate"])
        meta = template.get("metadata") or {}
        return {
            "apiVersion": self._job.api_version,
            "kind": self._job.kind,
            "metadata": {
                "name": f"{claimant.obj['metadata']['name']}-{int(due.timestamp()) // 60}",
                "namespace": claimant.namespace,
                "labels": meta.get("labels") or {},
                "annotations": {**(meta.get("annotations") or {}), _SCHEDULED_FOR: format_time(due)},
                "ownerReferences": [claimant.reference],
            },
            "spec": template.get("spec") or {},
        }

    def _delete(self, claimant: Claimant, job: Object) -> None:
        meta = job["metadata"]
        if "deletionTimestamp" in meta:
            return
        options = {"propagationPolicy": "Background", "preconditions": {"uid": meta["uid"]}}
        self._setting.api.delete(self._job, meta["namespace"], meta["name"], options)
        self._recorder.normal(claimant.resource, claimant.obj, "SuccessfulDelete", f"Deleted job {meta['name']}")

    def _reference(self, job: Object) -> Object:
        meta = job["metadata"]
        return {
            "apiVersion": self._job.api_version,
            "kind": self._job.kind,
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
        }

    def _tell(self, claimant: Claimant, reason: str, message: str) -> None:
        self._recorder.warning(claimant.resource, claimant.obj, reason, message)

    def _save(self, claimant: Claimant) -> None:
        if not claimant.obj["status"].get("active"):
            claimant.obj["status"].pop("active", None)
        save(self._setting.api, claimant, "status")

    def _on_cron_job(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None:
            self._keys.pop(before.uid, None)
        if after is not None:
            self._keys[after.uid] = after.key

    def _on_job(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None:
            self._by_owner.get(before.owner_uid, set()).discard(before.key)
        if after is not None and after.owner_uid:
            self._by_owner.setdefault(after.owner_uid, set()).add(after.key)
        known = after or before
        if known is not None and known.owner_uid in self._keys:
            self._sets.queue.add(self._keys[known.owner_uid])


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
