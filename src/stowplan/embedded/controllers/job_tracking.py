"""Counts the finished pods of a Job, each once, even if it is deleted or the server is killed in between.

A pod of a Job bears a finalizer until it is counted. First its uid is written into the status, then its finalizer goes,
and then the number takes the place of the uid.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import Any

from stowplan.embedded.controllers.pod_control import Naming, pod_from_template
from stowplan.embedded.controllers.workload import KnownOwner, PodOwner
from stowplan.embedded.informers import resources
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.informer import ObjectKey, SharedInformer
from stowplan.embedded.informers.pods import COMPLETION_INDEX, KnownPod
from stowplan.embedded.informers.workqueue import Worker, WorkQueue
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
    done = parse_indexes(status.get("completedIndexes", ""))
    found = {completion_index(pod) for pod in pods if pod.phase == "Succeeded"}
    done = merge_intervals([*done, *((index, index) for index in found if index is not None)])
    if done:
        status["completedIndexes"] = format_indexes(done)


def outcome(status: Object, kind: str) -> int:
    """How many pods succeeded, or failed, those noted included."""
    total: int = status.get(kind, 0) + len(_noted(status)[kind])
    return total


def _noted(status: Object) -> dict[str, list[str]]:
    noted = status.get(_UNCOUNTED) or {}
    return {kind: list(noted.get(kind) or []) for kind in ("succeeded", "failed")}


def _write(status: Object, noted: dict[str, list[str]]) -> None:
    status[_UNCOUNTED] = {kind: uids for kind, uids in noted.items() if uids}


#: From the first to the last index, both included.
Interval = tuple[int, int]

# No number of completions has more digits.
_INDEX = re.compile(r"[0-9]{1,10}")
_PART = re.compile(r"([0-9]{1,10})(?:-([0-9]{0,10}))?")


def completion_index(pod: KnownPod) -> int | None:
    """Read the completion index of a pod."""
    text = pod.annotations.get(COMPLETION_INDEX, "")
    return int(text) if _INDEX.fullmatch(text) else None


def parse_indexes(text: str) -> list[Interval]:
    """Read a set of indexes; parts that make no sense are left out."""
    parts = filter(None, map(_PART.fullmatch, text.split(",")))
    return merge_intervals((int(part[1]), int(part[2] or part[1])) for part in parts)


def merge_intervals(runs: Iterable[Interval]) -> list[Interval]:
    """Put runs in order, those that meet or overlap as one."""
    found: list[Interval] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        elif first <= last:
            found.append((first, last))
    return found


def free_indexes(taken: Iterable[Interval], completions: int) -> Iterator[int]:
    """Name the indexes below `completions` that are in none of the runs, lowest first."""
    begin = 0
    for first, last in taken:
        yield from range(begin, min(first, completions))
        begin = last + 1
    yield from range(begin, completions)


def format_indexes(runs: Iterable[Interval]) -> str:
    """Write a set of indexes, runs of them as ranges."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def make_pod(claimant: PodOwner, index: int | None) -> Object:
    """Make the next pod, of an index where the Job has indexes."""
    job = claimant.obj["metadata"]["name"]
    naming = Naming(labels=labels_of(claimant))
    if index is not None:
        naming.prefix = f"{job}-{index}"
        naming.annotations[COMPLETION_INDEX] = str(index)
        naming.labels[COMPLETION_INDEX] = str(index)
    pod = pod_from_template(claimant.obj["spec"]["template"], claimant, naming)
    pod["metadata"]["finalizers"].append(TRACKING)
    if index is not None:
        pod["spec"].setdefault("hostname", f"{job}-{index}")
        for kind in ("initContainers", "containers"):
            if kind in pod["spec"]:
                pod["spec"][kind] = [_told_index(container) for container in pod["spec"][kind]]
    return pod


def labels_of(claimant: PodOwner) -> dict[str, str]:
    """The labels by which the pods of a Job are found."""
    name = claimant.obj["metadata"]["name"]
    return {
        "batch.kubernetes.io/controller-uid": claimant.uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": claimant.uid,
        "job-name": name,
    }


def _told_index(container: Object) -> Object:
    """Give a container the variable that says which index it works on."""
    variables = container.get("env") or []
    if any(each["name"] == "JOB_COMPLETION_INDEX" for each in variables):
        return container
    path = f"metadata.labels['{COMPLETION_INDEX}']"
    index = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {**container, "env": [*variables, index]}


class OrphanPodController:
    """Works on pods that bear the finalizer of a Job."""

    def __init__(self, setting: ControllerContext, jobs: SharedInformer[KnownOwner]) -> None:
        self._setting = setting
        self._jobs = jobs
        self._queue = WorkQueue()
        self._failures = setting.failures("job-controller", resources.pods(setting.api))
        setting.pods.follower.tell(self._on_pod)
        jobs.tell(self._on_job)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [Worker(self._queue, self.reconcile, (self._jobs, self._setting.pods.follower), self._failures).run()]

    def reconcile(self, key: ObjectKey) -> float | None:
        """Take the finalizer off a pod whose Job is gone."""
        pod = self._setting.pods.get(key)
        if pod is None or TRACKING not in pod.finalizers or self._has_job(pod):
            return None
        api, resource = self._setting.api, resources.pods(self._setting.api)
        obj = api.get(resource, *key)
        obj["metadata"]["finalizers"] = [each for each in obj["metadata"]["finalizers"] if each != TRACKING]
        api.update(resource, *key, obj)
        return None

    def _has_job(self, pod: KnownPod) -> bool:
        if pod.owner is None:
            return False
        job = self._jobs.known.get((pod.namespace, pod.owner.name))
        return pod.owner.kind != "Job" or (job is not None and job.uid == pod.owner.uid)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        if after is not None and TRACKING in after.finalizers and (after.is_terminating or after.owner is None):
            self._queue.add(after.key)

    def _on_job(self, before: KnownOwner | None, after: KnownOwner | None) -> None:
        if before is not None and (after is None or after.uid != before.uid):
            for pod in self._setting.pods.owned_by(before.uid):
                self._queue.add(pod.key)
