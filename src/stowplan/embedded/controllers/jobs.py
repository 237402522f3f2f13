"""Jobs: pods until enough of them succeeded, or too many failed, or it took too long.

Not built: pod failure and success policies, and back-off limits per index. A Job that asks for them runs as if it did
not. Jobs that another controller manages (`managedBy`) are left alone.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from stowplan.embedded.controllers import job_accounts, job_indexes, job_pods, victims
from stowplan.embedded.controllers.claims import Claimant, claim, save
from stowplan.embedded.controllers.job_verdicts import Verdict, is_finished, judge, put_condition
from stowplan.embedded.controllers.pod_making import PodMaker
from stowplan.embedded.controllers.sets import KnownSet, Sets
from stowplan.embedded.following import conditions, resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time, parse_time

_BURST = 50
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


class Jobs:
    """The Job controller."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._sets = Sets(setting, resources.batch(setting.api, "Job"))
        self._recorder = setting.recorder("job-controller")
        self._maker = PodMaker(setting.api, self._recorder)
        self._backoffs: dict[str, _Backoff] = {}

    @property
    def follower(self) -> Follower[KnownSet]:
        return self._sets.follower

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile)

    def reconcile(self, key: Key) -> float | None:
        """Count what ended, decide whether the Job is over, and make or delete pods if it is not."""
        claimant = self._sets.claimant(key)
        if claimant is None or claimant.obj["spec"].get("managedBy", _OWN_NAME) != _OWN_NAME:
            return None
        if is_finished(claimant.obj) or "deletionTimestamp" in claimant.obj["metadata"]:
            return self._after_end(claimant)
        pods = self._count(claimant, self._pods(claimant))
        verdict = judge(claimant.obj, pods, self._setting.now())
        if verdict is not None:
            return self._end(claimant, pods, verdict)
        if claimant.obj["spec"].get("suspend"):
            self._suspend(claimant, pods)
            return None
        self._begin(claimant)
        try:
            again_seconds = self._match(claimant, pods)
        finally:
            self._report(claimant, self._pods(claimant))
        return _sooner(again_seconds, self._seconds_to_deadline(claimant.obj))

    def _pods(self, claimant: Claimant) -> list[KnownPod]:
        self._setting.pods.follower.catch_up()
        return claim(self._setting, claimant)

    def _count(self, claimant: Claimant, pods: Sequence[KnownPod]) -> Sequence[KnownPod]:
        """Take the pods that ended into the books, then let them go."""
        status = claimant.obj.setdefault("status", {})
        job_accounts.count_noted(status, pods)
        job_accounts.note_ended(status, pods)
        noted = job_accounts.noted_of(status, pods)
        if not noted:
            return pods
        if job_pods.is_indexed(claimant.obj):
            job_accounts.note_indexes(status, noted)
        self._report(claimant, pods)
        for pod in noted:
            self._let_go(pod)
        pods = self._pods(claimant)
        job_accounts.count_noted(claimant.obj["status"], pods)
        return pods

    def _let_go(self, pod: KnownPod) -> None:
        """Take the finalizer off a pod."""
        if job_accounts.TRACKING not in pod.finalizers:
            return
        resource = resources.pods(self._setting.api)
        stored = self._setting.api.store.get(resource, *pod.key)
        if stored is None or stored.uid != pod.uid:
            return
        obj = stored.object
        finalizers = obj["metadata"].get("finalizers") or []
        obj["metadata"]["finalizers"] = [each for each in finalizers if each != job_accounts.TRACKING]
        self._setting.api.update(resource, *pod.key, obj)

    def _drop(self, claimant: Claimant, pods: Sequence[KnownPod]) -> None:
        """Delete pods without counting them as failed."""
        for pod in pods:
            self._let_go(pod)
            self._maker.delete(claimant, pod)

    def _begin(self, claimant: Claimant) -> None:
        """Start the clock of a Job that is new, or that was suspended."""
        status = claimant.obj["status"]
        moment = format_time(self._setting.now())
        if conditions.is_true(status, "Suspended"):
            put_condition(status, ("Suspended", "False", "JobResumed", "Job resumed"), moment)
            self._recorder.normal(claimant.resource, claimant.obj, "Resumed", "Job resumed")
            status["startTime"] = moment
        status.setdefault("startTime", moment)

    def _suspend(self, claimant: Claimant, pods: Sequence[KnownPod]) -> None:
        """End what runs; the clock stands still."""
        self._drop(claimant, [pod for pod in pods if pod.is_active])
        status = claimant.obj["status"]
        if not conditions.is_true(status, "Suspended"):
            moment = format_time(self._setting.now())
            put_condition(status, ("Suspended", "True", "JobSuspended", "Job suspended"), moment)
            self._recorder.normal(claimant.resource, claimant.obj, "Suspended", "Job suspended")
        status.pop("startTime", None)
        self._report(claimant, self._pods(claimant))

    def _match(self, claimant: Claimant, pods: Sequence[KnownPod]) -> float | None:
        """Make or delete pods; return after how many seconds there may be more to do."""
        active = [pod for pod in pods if pod.is_active and not job_accounts.has_ended(pod)]
        missing = self._wanted(claimant.obj, len(active)) - len(active)
        if missing < 0:
            self._drop(claimant, victims.choose(active, -missing, active))
            return None
        wait = self._backoff_seconds(claimant)
        if missing == 0 or wait:
            return wait if missing else None
        # One more than are made now tells whether others remain; a Job may want more than memory holds.
        indexes = self._free_indexes(claimant.obj, active, min(missing, _BURST + 1))
        for index in indexes[:_BURST]:
            self._maker.create(claimant, job_pods.make(claimant, index))
        return 0.0 if len(indexes) > _BURST else None

    def _wanted(self, job: Object, active: int) -> int:
        """How many pods should run now."""
        parallelism: int = job["spec"].get("parallelism", 1)
        succeeded = job_accounts.outcome(job["status"], "succeeded")
        completions: int | None = job["spec"].get("completions")
        if completions is None:
            # Without a number, one success means that the work is done: nobody is added, all may end.
            return min(active, parallelism) if succeeded else parallelism
        return max(0, min(parallelism, completions - succeeded))

    def _free_indexes(self, job: Object, active: Sequence[KnownPod], count: int) -> Sequence[int | None]:
        """Which indexes to start next, lowest first; without indexes just as many Nones."""
        if not job_pods.is_indexed(job):
            return [None] * count
        taken = job_indexes.parse(job["status"].get("completedIndexes", ""))
        found = {job_indexes.index_of(pod) for pod in active}
        taken = job_indexes.joined([*taken, *((index, index) for index in found if index is not None)])
        return list(islice(job_indexes.free(taken, job["spec"].get("completions") or 0), count))

    def _backoff_seconds(self, claimant: Claimant) -> float:
        """How long to wait before the next pod: longer with each failure in a row."""
        status, now = claimant.obj["status"], self._setting.now().timestamp()
        failed, succeeded = (job_accounts.outcome(status, kind) for kind in ("failed", "succeeded"))
        noted = self._backoffs.setdefault(claimant.uid, _Backoff(failed, succeeded))
        if succeeded > noted.succeeded:
            noted.in_a_row = 0
        if failed > noted.failed:
            noted.in_a_row += failed - noted.failed
            longest = min(_FIRST_BACKOFF_SECONDS * 2 ** (min(noted.in_a_row, 20) - 1), _LAST_BACKOFF_SECONDS)
            noted.until = now + longest
        noted.failed, noted.succeeded = failed, succeeded
        return max(0.0, noted.until - now)

    def _end(self, claimant: Claimant, pods: Sequence[KnownPod], verdict: Verdict) -> float | None:
        """Say how the Job ends, end what still runs, and when all is quiet say that it has ended."""
        status, moment = claimant.obj["status"], format_time(self._setting.now())
        put_condition(status, (verdict.target, "True", verdict.reason, verdict.message), moment)
        self._report(claimant, pods)
        self._drop(claimant, [pod for pod in pods if pod.is_active])
        pods = self._pods(claimant)
        if any(pod.is_terminating and not job_accounts.has_ended(pod) for pod in pods):
            return None
        status = claimant.obj["status"]
        put_condition(status, (verdict.kind, "True", verdict.reason, verdict.message), moment)
        if verdict.is_success:
            status["completionTime"] = moment
            self._recorder.normal(claimant.resource, claimant.obj, "Completed", "Job completed")
        else:
            self._recorder.warning(claimant.resource, claimant.obj, verdict.reason, verdict.message)
        self._report(claimant, pods)
        self._backoffs.pop(claimant.uid, None)
        return 0.0

    def _after_end(self, claimant: Claimant) -> float | None:
        """Let go of the pods of a Job that is over, and delete it when its time to live has passed."""
        for pod in self._setting.pods.owned_by(claimant.uid):
            self._let_go(pod)
        self._backoffs.pop(claimant.uid, None)
        keep_seconds = claimant.obj["spec"].get("ttlSecondsAfterFinished")
        if keep_seconds is None or "deletionTimestamp" in claimant.obj["metadata"]:
            return None
        ended = next(c for c in claimant.obj["status"]["conditions"] if c.get("type") in ("Complete", "Failed"))
        age = (self._setting.now() - parse_time(ended["lastTransitionTime"])).total_seconds()
        if age < keep_seconds:
            return float(keep_seconds - age)
        options = {"propagationPolicy": "Foreground", "preconditions": {"uid": claimant.uid}}
        try:
            name = claimant.obj["metadata"]["name"]
            self._setting.api.delete(claimant.resource, claimant.namespace, name, options)
        except StatusError as error:
            if error.code != 404:
                raise
        return None

    def _seconds_to_deadline(self, job: Object) -> float | None:
        limit = job["spec"].get("activeDeadlineSeconds")
        if limit is None or "startTime" not in job["status"]:
            return None
        age = (self._setting.now() - parse_time(job["status"]["startTime"])).total_seconds()
        return max(0.0, float(limit - age))

    def _report(self, claimant: Claimant, pods: Sequence[KnownPod]) -> None:
        """Write the status with the counts of the pods that are there."""
        active = [pod for pod in pods if pod.is_active]
        counts = {
            "active": len(active),
            "ready": sum(pod.is_ready for pod in active),
            "terminating": sum(pod.is_terminating and not pod.is_finished for pod in pods),
        }
        status = {key: value for key, value in claimant.obj["status"].items() if key not in counts}
        status |= {key: value for key, value in counts.items() if value or key != "active"}
        claimant.obj["status"] = status
        save(self._setting.api, claimant, "status")


def _sooner(first: float | None, second: float | None) -> float | None:
    waits = [seconds for seconds in (first, second) if seconds is not None]
    return min(waits, default=None)
