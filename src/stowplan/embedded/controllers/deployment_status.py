"""The status of a Deployment: counts, and the conditions that `kubectl rollout status` waits for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stowplan.embedded.controllers import rollouts
from stowplan.embedded.following import conditions
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time, parse_time

AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
NEW_AVAILABLE, TIMED_OUT, PAUSED, RESUMED = (
    "NewReplicaSetAvailable",
    "ProgressDeadlineExceeded",
    "DeploymentPaused",
    "DeploymentResumed",
)
#: A deadline as large as this means that there is none.
_NO_DEADLINE = 2**31 - 1


def counted(deployment: Object, new: Object | None, everyone: Sequence[Object], now: datetime) -> Object:
    """Count the pods of all ReplicaSets, and say whether enough of them are available."""
    ready = sum(_count(each, "readyReplicas") for each in everyone)
    available = sum(map(rollouts.available, everyone))
    # The number of pods asked for counts here, not of those that are there.
    unavailable = max(0, rollouts.total(everyone) - available)
    counts = {
        "replicas": sum(_count(each, "replicas") for each in everyone),
        "updatedReplicas": _count(new, "replicas") if new else 0,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": unavailable,
    }
    before = deployment.get("status") or {}
    status: Object = {"observedGeneration": deployment["metadata"].get("generation", 1)}
    status |= {name: count for name, count in counts.items() if count}
    status |= {name: before[name] for name in ("conditions", "collisionCount") if name in before}
    _set_available(deployment, status, available, now)
    return status


def set_progress(deployment: Object, status: Object, new: Object | None, now: datetime) -> None:
    """Say how the rollout gets on: it is complete, it moves, or it has not moved for too long."""
    if not has_deadline(deployment):
        conditions.drop(status, PROGRESSING)
        return
    current = conditions.find(deployment.get("status") or {}, PROGRESSING)
    is_over = current is not None and current.get("reason") == NEW_AVAILABLE
    if is_over and status.get("replicas", 0) == status.get("updatedReplicas", 0):
        return
    subject = _subject(deployment, new)
    if is_complete(deployment, status):
        put(status, (PROGRESSING, "True", NEW_AVAILABLE, f"{subject} has successfully progressed."), now)
    elif _has_moved(deployment, status):
        conditions.drop(status, PROGRESSING)
        moved = condition((PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing."), now)
        if current is not None and current.get("status") == "True":
            moved["lastTransitionTime"] = current.get("lastTransitionTime")
        status.setdefault("conditions", []).append(moved)
    elif _seconds_left(deployment, now) <= 0:
        put(status, (PROGRESSING, "False", TIMED_OUT, f"{subject} has timed out progressing."), now)


def set_failure(status: Object, new: Object | None, everyone: Sequence[Object]) -> None:
    """Pass on why a ReplicaSet cannot make its pods, the new one's reason before those of the others."""
    for each in [new, *everyone] if new else everyone:
        failure = conditions.find(each.get("status") or {}, REPLICA_FAILURE)
        if failure is not None:
            conditions.put(status, {**failure, "lastUpdateTime": failure.get("lastTransitionTime")})
            return
    conditions.drop(status, REPLICA_FAILURE)


def seconds_to_deadline(deployment: Object, status: Object, now: datetime) -> float | None:
    """When to look again whether the rollout got stuck; None if it cannot."""
    current = conditions.find(status, PROGRESSING)
    if current is None or not has_deadline(deployment) or current.get("reason") == TIMED_OUT:
        return None
    if is_complete(deployment, status) or deployment["spec"].get("paused"):
        return None
    # A second more: times are written in whole seconds.
    return max(1.0, _seconds_left({**deployment, "status": status}, now) + 1)


def set_pause(deployment: Object, status: Object, now: datetime) -> None:
    """Note that a Deployment was paused or resumed, so that the time in between does not count against it."""
    current = conditions.find(status, PROGRESSING)
    reason = current.get("reason") if current else None
    if not has_deadline(deployment) or reason == TIMED_OUT:
        return
    if deployment["spec"].get("paused") and reason != PAUSED:
        put(status, (PROGRESSING, "Unknown", PAUSED, "Deployment is paused"), now)
    elif not deployment["spec"].get("paused") and reason == PAUSED:
        put(status, (PROGRESSING, "Unknown", RESUMED, "Deployment is resumed"), now)


def is_complete(deployment: Object, status: Object) -> bool:
    wanted = rollouts.replicas(deployment)
    names = ("updatedReplicas", "replicas", "availableReplicas")
    is_observed: bool = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 1)
    return all(status.get(name, 0) == wanted for name in names) and is_observed


def put(status: Object, what: tuple[str, str, str, str], now: datetime) -> None:
    """Set a condition unless it is there with the same status and reason."""
    kind, value, reason, _ = what
    current = conditions.find(status, kind)
    if current is not None and (current.get("status"), current.get("reason")) == (value, reason):
        return
    fresh = condition(what, now)
    if current is not None and current.get("status") == value:
        fresh["lastTransitionTime"] = current.get("lastTransitionTime")
    conditions.drop(status, kind)
    status["conditions"] = [*(status.get("conditions") or []), fresh]


def condition(what: tuple[str, str, str, str], now: datetime) -> Object:
    kind, value, reason, message = what
    moment = format_time(now)
    return {
        "type": kind,
        "status": value,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def has_deadline(deployment: Object) -> bool:
    return _deadline(deployment) != _NO_DEADLINE


def _deadline(deployment: Object) -> int:
    seconds: int = deployment["spec"].get("progressDeadlineSeconds", 600)
    return seconds


def _set_available(deployment: Object, status: Object, available: int, now: datetime) -> None:
    if available >= rollouts.replicas(deployment) - rollouts.limits(deployment)[1]:
        what = (AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        what = (AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    put(status, what, now)


def _has_moved(deployment: Object, status: Object) -> bool:
    """Whether more new pods, fewer old ones, or more that are ready or available are there than before."""
    before = deployment.get("status") or {}

    def old(counts: Object) -> int:
        count: int = counts.get("replicas", 0) - counts.get("updatedReplicas", 0)
        return count

    gains = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(status) < old(before) or any(status.get(name, 0) > before.get(name, 0) for name in gains)


def _seconds_left(deployment: Object, now: datetime) -> float:
    """How long a rollout may still stand still; a lot where nothing is known of its progress."""
    current = conditions.find(deployment.get("status") or {}, PROGRESSING)
    if current is None or current.get("reason") in (NEW_AVAILABLE, PAUSED):
        return float(_NO_DEADLINE)
    if current.get("reason") == TIMED_OUT:
        return 0.0
    since = parse_time(current.get("lastUpdateTime") or format_time(now))
    return _deadline(deployment) - (now - since).total_seconds()


def _subject(deployment: Object, new: Object | None) -> str:
    if new is not None:
        return f'ReplicaSet "{new["metadata"]["name"]}"'
    return f'Deployment "{deployment["metadata"]["name"]}"'


def _count(obj: Any, name: str) -> int:
    count: int = (obj.get("status") or {}).get(name, 0)
    return count
