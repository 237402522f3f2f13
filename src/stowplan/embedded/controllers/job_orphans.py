"""Lets go of the pods of Jobs that are gone: nobody counts them any more, so nothing may hold them back."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.controllers.job_accounts import TRACKING
from stowplan.embedded.controllers.sets import KnownSet
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue


class JobOrphans:
    """Works on pods that bear the finalizer of a Job."""

    def __init__(self, setting: Setting, jobs: Follower[KnownSet]) -> None:
        self._setting = setting
        self._jobs = jobs
        self._queue = WorkQueue()
        self._failures = setting.failures("job-controller", resources.pods(setting.api))
        setting.pods.follower.tell(self._on_pod)
        jobs.tell(self._on_job)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [Worker(self._queue, self.reconcile, (self._jobs, self._setting.pods.follower), self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
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

    def _on_job(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None and (after is None or after.uid != before.uid):
            for pod in self._setting.pods.owned_by(before.uid):
                self._queue.add(pod.key)
