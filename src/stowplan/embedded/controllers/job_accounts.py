"""Counts the finished pods of a Job, each once, even if it is deleted or the server is killed in between.

A pod of a Job bears a finalizer until it is counted. First its uid is written into the status, then its finalizer goes,
and then the number takes the place of the uid.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.embedded.controllers import job_indexes
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.objects.resource import Object

TRACKING = "batch.kubernetes.io/job-tracking"
_UNCOUNTED = "uncountedTerminatedPods"
#: Pods noted in one go: the status must not grow without limit.
_NOTED = 500


def has_failed(pod: KnownPod) -> bool:
    """Whether a pod ended without success, or was deleted before it could."""
    if pod.phase == "Failed":
        return True
    return pod.is_terminating and pod.phase != "Succeeded" and (not pod.node or pod.grace_seconds == 0)


def has_ended(pod: KnownPod) -> bool:
    return pod.phase == "Succeeded" or has_failed(pod)


def note_ended(status: Object, pods: Sequence[KnownPod]) -> None:
    """Write the uids of pods that ended and are not counted yet into the status."""
    noted = _noted(status)
    known = {uid for uids in noted.values() for uid in uids}
    for pod in pods:
        if len(known) >= _NOTED:
            break
        if TRACKING in pod.finalizers and pod.uid not in known and has_ended(pod):
            noted["failed" if has_failed(pod) else "succeeded"].append(pod.uid)
            known.add(pod.uid)
    _write(status, noted)


def count_noted(status: Object, pods: Sequence[KnownPod]) -> None:
    """Turn noted uids whose pods have lost their finalizer, or are gone, into numbers."""
    held = {pod.uid for pod in pods if TRACKING in pod.finalizers}
    noted = _noted(status)
    for outcome, uids in noted.items():
        done = [uid for uid in uids if uid not in held]
        if done:
            status[outcome] = status.get(outcome, 0) + len(done)
        noted[outcome] = [uid for uid in uids if uid in held]
    _write(status, noted)


def noted_of(status: Object, pods: Sequence[KnownPod]) -> list[KnownPod]:
    """List the pods that are in the books, so that their finalizers may go."""
    noted = {uid for uids in _noted(status).values() for uid in uids}
    return [pod for pod in pods if pod.uid in noted]


def note_indexes(status: Object, pods: Sequence[KnownPod]) -> None:
    """Add the indexes of pods that succeeded to those that are done."""
    done = job_indexes.parse(status.get("completedIndexes", ""))
    found = {job_indexes.index_of(pod) for pod in pods if pod.phase == "Succeeded"}
    done = job_indexes.joined([*done, *((index, index) for index in found if index is not None)])
    if done:
        status["completedIndexes"] = job_indexes.write(done)


def outcome(status: Object, kind: str) -> int:
    """How many pods succeeded, or failed, those noted included."""
    total: int = status.get(kind, 0) + len(_noted(status)[kind])
    return total


def _noted(status: Object) -> dict[str, list[str]]:
    noted = status.get(_UNCOUNTED) or {}
    return {kind: list(noted.get(kind) or []) for kind in ("succeeded", "failed")}


def _write(status: Object, noted: dict[str, list[str]]) -> None:
    status[_UNCOUNTED] = {kind: uids for kind, uids in noted.items() if uids}
