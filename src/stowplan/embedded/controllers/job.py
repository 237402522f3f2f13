"""Jobs: pods until enough of them succeeded, or too many failed, or it took too long.

Not built: pod failure and success policies, and back-off limits per index. A Job that asks for them runs as if it did
not. Jobs that another controller manages (`managedBy`) are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from stowplan.embedded.controllers import job_tracking
from stowplan.embedded.controllers.job_tracking import outcome
from stowplan.embedded.controllers.pod_control import WorkloadObject, pods_to_delete
from stowplan.embedded.controllers.workload import BURST, WorkloadController
from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import parse_time

_OWN_NAME = "kubernetes.io/job-controller"
_FIRST_BACKOFF_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 600.0


@dataclass(slots=True)
class _Backoff:
    """How a Job's pods have failed lately: how many in a row, and when the next may be made."""

    failed: int = 0
    succeeded: int = 0
    in_a_row: int = 0
    until: float = 0.0


class JobController(WorkloadController):
    """The Job controller."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "job-controller", find_resource(context.api, "batch/v1", "Job"))
        self._backoffs: dict[str, _Backoff] = {}

    def sync(self, workload: WorkloadObject) -> float | None:
        """Count what ended, decide whether the Job is over, and make or delete pods if it is not."""
        if workload.spec.get("managedBy", _OWN_NAME) != _OWN_NAME:
            return None
        if is_finished(workload.obj) or workload.is_terminating:
            return self._after_end(workload)
        pods = self._count(workload, self._claimed(workload))
        end = find_end(workload.obj, pods, self._now())
        if end is not None:
            return self._end(workload, pods, end)
        if workload.spec.get("suspend"):
            self._suspend(workload, pods)
            return None
        # Start the clock of a Job that is new, or that was suspended.
        status, moment = workload.obj["status"], self._moment()
        if conditions.is_true(status, "Suspended"):
            _put(status, ("Suspended", "False", "JobResumed", "Job resumed"), moment)
            self._normal(workload.obj, "Resumed", "Job resumed")
            status["startTime"] = moment
        status.setdefault("startTime", moment)
        try:
            again_seconds = self._match(workload, pods)
        finally:
            self._report(workload, self._claimed(workload))
        waits = (again_seconds, _seconds_to_deadline(workload.obj, self._now()))
        return min((max(0.0, seconds) for seconds in waits if seconds is not None), default=None)

    def _claimed(self, workload: WorkloadObject) -> list[KnownPod]:
        self._context.pods.catch_up()
        return self._claim(workload)

    def _count(self, workload: WorkloadObject, pods: Sequence[KnownPod]) -> Sequence[KnownPod]:
        """Take the pods that ended into the books, then let them go."""
        status = workload.obj.setdefault("status", {})
        job_tracking.count_noted(status, pods)
        job_tracking.note_ended(status, pods)
        noted = job_tracking.noted_of(status, pods)
        if not noted:
            return pods
        if job_tracking.is_indexed(workload.obj):
            job_tracking.note_indexes(status, noted)
        self._report(workload, pods)
        for pod in noted:
            self._let_go(pod)
        pods = self._claimed(workload)
        job_tracking.count_noted(workload.obj["status"], pods)
        return pods

    def _let_go(self, pod: KnownPod) -> None:
        job_tracking.remove_tracking(self._api, self._context.pods.resource, pod)

    def _drop(self, workload: WorkloadObject, pods: Sequence[KnownPod]) -> None:
        """Delete pods without counting them as failed."""
        for pod in pods:
            self._let_go(pod)
            self._delete_pod(workload, pod)

    def _suspend(self, workload: WorkloadObject, pods: Sequence[KnownPod]) -> None:
        """End what runs; the clock stands still."""
        self._drop(workload, [pod for pod in pods if pod.is_active])
        status = workload.obj["status"]
        if not conditions.is_true(status, "Suspended"):
            _put(status, ("Suspended", "True", "JobSuspended", "Job suspended"), self._moment())
            self._normal(workload.obj, "Suspended", "Job suspended")
        status.pop("startTime", None)
        self._report(workload, self._claimed(workload))

    def _match(self, workload: WorkloadObject, pods: Sequence[KnownPod]) -> float | None:
        """Make or delete pods; return after how many seconds there may be more to do."""
        active = [pod for pod in pods if pod.is_active and not job_tracking.has_ended(pod)]
        missing = self._wanted(workload.obj, len(active)) - len(active)
        if missing < 0:
            self._drop(workload, pods_to_delete(active, -missing, active))
            return None
        wait = self._backoff_seconds(workload)
        if missing == 0 or wait:
            return wait if missing else None
        # One more than are made now tells whether others remain; a Job may want more than memory holds.
        indexes = self._free_indexes(workload.obj, active, min(missing, BURST + 1))
        for index in indexes[:BURST]:
            self._create_pod(workload, job_tracking.make_pod(workload, index))
        return 0.0 if len(indexes) > BURST else None

    def _wanted(self, job: Object, active: int) -> int:
        """How many pods should run now."""
        parallelism: int = job["spec"].get("parallelism", 1)
        succeeded = job_tracking.outcome(job["status"], "succeeded")
        completions: int | None = job["spec"].get("completions")
        if completions is None:
            # Without a number, one success means that the work is done: nobody is added, all may end.
            return min(active, parallelism) if succeeded else parallelism
        return max(0, min(parallelism, completions - succeeded))

    def _free_indexes(self, job: Object, active: Sequence[KnownPod], count: int) -> Sequence[int | None]:
        """Which indexes to start next, lowest first; without indexes just as many Nones."""
        if not job_tracking.is_indexed(job):
            return [None] * count
        taken = job_tracking.with_indexes_of(job["status"].get("completedIndexes", ""), active)
        return list(islice(job_tracking.free_indexes(taken, job["spec"].get("completions") or 0), count))

    def _backoff_seconds(self, workload: WorkloadObject) -> float:
        """How long to wait before the next pod: longer with each failure in a row."""
        status, now = workload.obj["status"], self._now().timestamp()
        failed, succeeded = (job_tracking.outcome(status, kind) for kind in ("failed", "succeeded"))
        noted = self._backoffs.setdefault(workload.uid, _Backoff(failed, succeeded))
        if succeeded > noted.succeeded:
            noted.in_a_row = 0
        if failed > noted.failed:
            noted.in_a_row += failed - noted.failed
            longest = min(_FIRST_BACKOFF_SECONDS * 2 ** (min(noted.in_a_row, 20) - 1), _LAST_BACKOFF_SECONDS)
            noted.until = now + longest
        noted.failed, noted.succeeded = failed, succeeded
        return max(0.0, noted.until - now)

    def _end(self, workload: WorkloadObject, pods: Sequence[KnownPod], end: JobEnd) -> float | None:
        """Say how the Job ends, end what still runs, and when all is quiet say that it has ended."""
        status, moment = workload.obj["status"], self._moment()
        _put(status, (end.target, "True", end.reason, end.message), moment)
        self._report(workload, pods)
        self._drop(workload, [pod for pod in pods if pod.is_active])
        pods = self._claimed(workload)
        if any(pod.is_terminating and not job_tracking.has_ended(pod) for pod in pods):
            return None
        status = workload.obj["status"]
        _put(status, (end.kind, "True", end.reason, end.message), moment)
        if end.is_success:
            status["completionTime"] = moment
            self._normal(workload.obj, "Completed", "Job completed")
        else:
            self._warning(workload.obj, end.reason, end.message)
        self._report(workload, pods)
        self._backoffs.pop(workload.uid, None)
        return 0.0

    def _after_end(self, workload: WorkloadObject) -> float | None:
        """Let go of the pods of a Job that is over, and delete it when its time to live has passed."""
        for pod in self._context.pods.by_owner.find(workload.uid):
            self._let_go(pod)
        self._backoffs.pop(workload.uid, None)
        keep_seconds = workload.spec.get("ttlSecondsAfterFinished")
        if keep_seconds is None or workload.is_terminating:
            return None
        ended = next(c for c in workload.obj["status"]["conditions"] if c.get("type") in ("Complete", "Failed"))
        age = (self._now() - parse_time(ended["lastTransitionTime"])).total_seconds()
        if age < keep_seconds:
            return float(keep_seconds - age)
        options = {"propagationPolicy": "Foreground", "preconditions": {"uid": workload.uid}}
        self._api.delete(workload.resource, workload.namespace, workload.name, options)
        return None

    def _report(self, workload: WorkloadObject, pods: Sequence[KnownPod]) -> None:
        """Write the status with the counts of the pods that are there."""
        active = [pod for pod in pods if pod.is_active]
        counts = {
            "active": len(active),
            "ready": sum(pod.is_ready for pod in active),
            "terminating": sum(pod.is_terminating and not pod.is_finished for pod in pods),
        }
        status = {key: value for key, value in workload.obj["status"].items() if key not in counts}
        status |= {key: value for key, value in counts.items() if value or key != "active"}
        workload.obj["status"] = status
        workload.save_status(self._api)


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a Job ends, and why."""

    is_success: bool
    reason: str
    message: str

    @property
    def kind(self) -> str:
        return "Complete" if self.is_success else "Failed"

    @property
    def target(self) -> str:
        """The condition that announces the end while pods are still to be ended."""
        return "SuccessCriteriaMet" if self.is_success else "FailureTarget"


_TOO_OFTEN = JobEnd(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LONG = JobEnd(False, "DeadlineExceeded", "Job was active longer than specified deadline")
_REACHED = JobEnd(True, "CompletionsReached", "Reached expected number of succeeded pods")


def is_finished(job: Object) -> bool:
    status = job.get("status") or {}
    return conditions.is_true(status, "Complete") or conditions.is_true(status, "Failed")


def find_end(job: Object, pods: Sequence[KnownPod], now: datetime) -> JobEnd | None:
    """Decide whether a Job is over; what was announced before stands."""
    status = job["status"]
    for kind, is_success in (("FailureTarget", False), ("SuccessCriteriaMet", True)):
        announced = conditions.find(status, kind)
        if announced is not None and announced.get("status") == "True":
            return JobEnd(is_success, announced["reason"], announced["message"])
    if outcome(status, "failed") > job["spec"].get("backoffLimit", 6) or _restarts_too_often(job, pods):
        return _TOO_OFTEN
    seconds_left = _seconds_to_deadline(job, now)
    if seconds_left is not None and seconds_left <= 0:
        return _TOO_LONG
    return _REACHED if _has_enough(job, pods) else None


def _put(status: Object, what: tuple[str, str, str, str], moment: str) -> None:
    conditions.put(status, conditions.make(what, moment, lastProbeTime=moment))


def _restarts_too_often(job: Object, pods: Sequence[KnownPod]) -> bool:
    """With restarts in place it is those that count as failures."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    limit = job["spec"].get("backoffLimit", 6)
    restarts = sum(pod.restarts for pod in pods if pod.is_active)
    return restarts > 0 if limit == 0 else restarts >= limit


def _seconds_to_deadline(job: Object, now: datetime) -> float | None:
    """How long a Job may still take; None where there is no limit, and while it is suspended."""
    limit, began = job["spec"].get("activeDeadlineSeconds"), job["status"].get("startTime")
    if limit is None or began is None or job["spec"].get("suspend"):
        return None
    return float(limit - (now - parse_time(began)).total_seconds())


def _has_enough(job: Object, pods: Sequence[KnownPod]) -> bool:
    succeeded = outcome(job["status"], "succeeded")
    completions = job["spec"].get("completions")
    if completions is None:
        return succeeded > 0 and not any(pod.is_active for pod in pods)
    return bool(succeeded >= completions)
