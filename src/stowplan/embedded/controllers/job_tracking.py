"""The pods of a Job: made with a finalizer, and counted once each, even if one is deleted or the server is killed.

A pod bears the finalizer until it is counted. First its uid is written into the status, then its finalizer goes, and
then the number takes the place of the uid.

A Job may have two thousand million completions and a status that says all of them are done, so a set of completion
indexes is kept as the intervals it consists of and never written out one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from stowplan.embedded.controllers.pod_control import WorkloadObject, name_prefix, pod_from_template
from stowplan.embedded.controllers.workload import KnownWorkload, WorkloadInformer
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, remove_finalizer
from stowplan.embedded.informers.pods import COMPLETION_INDEX, KnownPod
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api

TRACKING = "batch.kubernetes.io/job-tracking"
_UNCOUNTED = "uncountedTerminatedPods"
#: Pods noted in one go: the status must not grow without limit.
_NOTED = 500
# No number of completions has more digits.
_INDEX = re.compile(r"[0-9]{1,10}")
_INDEXES = re.compile(r"([0-9]{1,10})(?:-([0-9]{0,10}))?")

#: From the first to the last completion index, both included.
Interval = tuple[int, int]


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
    done = with_indexes_of(status.get("completedIndexes", ""), [pod for pod in pods if pod.phase == "Succeeded"])
    if done:
        status["completedIndexes"] = format_indexes(done)


def outcome(status: Object, kind: str) -> int:
    """How many pods succeeded, or failed, those noted included."""
    return reading.count(status, kind) + len(_noted(status)[kind])


def _noted(status: Object) -> dict[str, list[str]]:
    noted = status.get(_UNCOUNTED) or {}
    return {kind: list(noted.get(kind) or []) for kind in ("succeeded", "failed")}


def _write(status: Object, noted: dict[str, list[str]]) -> None:
    status[_UNCOUNTED] = {kind: uids for kind, uids in noted.items() if uids}


def parse_indexes(text: str) -> list[Interval]:
    """Read a set of indexes; parts that make no sense are left out."""
    parts = filter(None, map(_INDEXES.fullmatch, text.split(",")))
    return merge_intervals((int(part[1]), int(part[2] or part[1])) for part in parts)


def with_indexes_of(text: str, pods: Iterable[KnownPod]) -> list[Interval]:
    """Read a set of indexes, and add those of some pods."""
    written = {pod.annotations.get(COMPLETION_INDEX, "") for pod in pods}
    indexes = [int(each) for each in written if _INDEX.fullmatch(each)]
    return merge_intervals([*parse_indexes(text), *((index, index) for index in indexes)])


def merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """Put intervals in order, those that meet or overlap as one."""
    found: list[Interval] = []
    for first, last in sorted(intervals):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        elif first <= last:
            found.append((first, last))
    return found


def free_indexes(taken: Iterable[Interval], completions: int) -> Iterator[int]:
    """Name the indexes below `completions` that are in none of the intervals, lowest first."""
    begin = 0
    for first, last in taken:
        yield from range(begin, min(first, completions))
        begin = last + 1
    yield from range(begin, completions)


def format_indexes(intervals: Iterable[Interval]) -> str:
    """Write a set of indexes, intervals of them as ranges."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in intervals)


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def make_pod(workload: WorkloadObject, index: int | None) -> Object:
    """Make the next pod, of an index where the Job has indexes."""
    job, uid = workload.name, workload.uid
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": job}
    labels |= {"controller-uid": uid, "job-name": job}
    pod = pod_from_template(workload.spec["template"], workload, labels)
    meta = pod["metadata"]
    meta["finalizers"].append(TRACKING)
    if index is not None:
        meta["generateName"] = name_prefix(f"{job}-{index}")
        meta["annotations"][COMPLETION_INDEX] = meta["labels"][COMPLETION_INDEX] = str(index)
        pod["spec"].setdefault("hostname", f"{job}-{index}")
        for kind in ("initContainers", "containers"):
            if kind in pod["spec"]:
                pod["spec"][kind] = [_told_index(container) for container in pod["spec"][kind]]
    return pod


def _told_index(container: Object) -> Object:
    """Give a container the variable that says which index it works on."""
    variables = container.get("env") or []
    if any(each["name"] == "JOB_COMPLETION_INDEX" for each in variables):
        return container
    path = f"metadata.labels['{COMPLETION_INDEX}']"
    index = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {**container, "env": [*variables, index]}


def remove_tracking(api: Api, resource: Resource, pod: KnownPod) -> None:
    """Let go of a pod by taking the finalizer off it."""
    if TRACKING not in pod.finalizers:
        return
    stored = api.store.get(resource, *pod.key)
    if stored is not None and stored.uid == pod.uid:
        obj = stored.object
        remove_finalizer(obj, TRACKING)
        api.update(resource, *pod.key, obj)


class OrphanPodController(Controller):
    """Lets go of the pods of Jobs that are gone: nobody counts them any more, so nothing may hold them back."""

    def __init__(self, context: ControllerContext, jobs: WorkloadInformer) -> None:
        super().__init__(context, "job-controller", context.pods.resource)
        self._jobs = jobs
        self._watch(jobs, self._on_job)
        self._watch(context.pods, self._on_pod)

    def reconcile(self, key: ObjectKey) -> None:
        """Take the finalizer off a pod whose Job is gone."""
        pod = self._context.pods.get(key)
        if pod is not None and not self._has_job(pod):
            remove_tracking(self._api, self._resource, pod)

    def _has_job(self, pod: KnownPod) -> bool:
        if pod.owner is None:
            return False
        job = self._jobs.get((pod.namespace, pod.owner.name))
        return pod.owner.kind != "Job" or (job is not None and job.uid == pod.owner.uid)

    def _on_pod(self, _: KnownPod | None, after: KnownPod | None) -> None:
        if after is not None and TRACKING in after.finalizers and (after.is_terminating or after.owner is None):
            self._queue.add(after.key)

    def _on_job(self, before: KnownWorkload | None, after: KnownWorkload | None) -> None:
        if before is not None and (after is None or after.uid != before.uid):
            self._enqueue_all(self._context.pods.by_owner.find(before.uid))
