"""When a Job is over: it succeeded, failed too often, or ran too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from stowplan.embedded.controllers.job_accounts import outcome
from stowplan.embedded.following import conditions
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import parse_time


@dataclass(frozen=True, slots=True)
class Verdict:
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


_TOO_OFTEN = Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LONG = Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
_REACHED = Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")


def is_finished(job: Object) -> bool:
    status = job.get("status") or {}
    return conditions.is_true(status, "Complete") or conditions.is_true(status, "Failed")


def judge(job: Object, pods: Sequence[KnownPod], now: datetime) -> Verdict | None:
    """Decide whether a Job is over; what was announced before stands."""
    status = job["status"]
    for kind, is_success in (("FailureTarget", False), ("SuccessCriteriaMet", True)):
        announced = conditions.find(status, kind)
        if announced is not None and announced.get("status") == "True":
            return Verdict(is_success, announced["reason"], announced["message"])
    if outcome(status, "failed") > job["spec"].get("backoffLimit", 6) or _restarts_too_often(job, pods):
        return _TOO_OFTEN
    if _is_too_old(job, now):
        return _TOO_LONG
    return _REACHED if _has_enough(job, pods) else None


def put_condition(status: Object, what: tuple[str, str, str, str], moment: str) -> None:
    kind, value, reason, message = what
    condition = {
        "type": kind,
        "status": value,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
    conditions.put(status, condition)


def _restarts_too_often(job: Object, pods: Sequence[KnownPod]) -> bool:
    """With restarts in place it is those that count as failures."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    limit = job["spec"].get("backoffLimit", 6)
    restarts = sum(pod.restarts for pod in pods if pod.is_active)
    return restarts > 0 if limit == 0 else restarts >= limit


def _is_too_old(job: Object, now: datetime) -> bool:
    limit = job["spec"].get("activeDeadlineSeconds")
    began = job["status"].get("startTime")
    if limit is None or began is None or job["spec"].get("suspend"):
        return False
    return bool((now - parse_time(began)).total_seconds() >= limit)


def _has_enough(job: Object, pods: Sequence[KnownPod]) -> bool:
    succeeded = outcome(job["status"], "succeeded")
    completions = job["spec"].get("completions")
    if completions is None:
        return succeeded > 0 and not any(pod.is_active for pod in pods)
    return bool(succeeded >= completions)
