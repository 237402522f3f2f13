"""Deployments: the rollout from old ReplicaSets to that of the current pod template, and the status that tells of it.

`deployment_replicasets` finds, makes and sizes the ReplicaSets.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stowplan.embedded.controllers.deployment_replicasets import (
    DESIRED,
    DeploymentReplicaSets,
    available,
    creation,
    is_rolling,
    limits,
    proportional,
    replicas,
    size_of_new,
    sizes_of_old,
    split,
    total,
)
from stowplan.embedded.controllers.pod_control import WorkloadObject
from stowplan.embedded.controllers.workload import KnownWorkload, WorkloadController, WorkloadInformer
from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time, parse_time

#: Types of conditions, and reasons of Progressing, by which `kubectl rollout status` goes.
AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
NEW_AVAILABLE, TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
#: A deadline as large as this means that there is none.
_NO_DEADLINE = 2**31 - 1


class DeploymentController(WorkloadController):
    """The Deployment controller; `replica_sets` are those it shares with their controller."""

    def __init__(self, context: ControllerContext, replica_sets: WorkloadInformer) -> None:
        super().__init__(context, "deployment-controller", find_resource(context.api, "apps/v1", "Deployment"))
        self._revisions = DeploymentReplicaSets(context.api, replica_sets)
        self._replica_sets = replica_sets
        self._watch(replica_sets, self._on_replica_set)
        context.pods.add_event_handler(self._on_replica_set_pod)

    def sync(self, workload: WorkloadObject) -> float | None:
        """Take one step of the rollout, or follow a change of scale, then write the status."""
        everyone = self._revisions.of(workload)
        if workload.is_terminating:
            return self._report(workload, everyone)
        self._note_pause(workload)
        if workload.spec.get("paused") or self._was_scaled(workload.obj, everyone):
            self._follow_scale(workload, everyone)
        elif is_rolling(workload.obj):
            self._roll(workload, everyone)
        else:
            self._recreate(workload, everyone)
        return self._report(workload, self._revisions.of(workload))

    def _roll(self, workload: WorkloadObject, everyone: Sequence[Object]) -> None:
        """Let the new ReplicaSet grow; if it cannot, let old ones shrink."""
        new, old = self._new_and_old(workload, everyone)
        wanted = replicas(workload.obj)
        size = wanted if replicas(new) > wanted else size_of_new(workload.obj, new, [new, *old])
        if self._scale(workload, new, size):
            return
        sizes = sizes_of_old(workload.obj, new, [each for each in old if replicas(each)])
        for each in old:
            self._scale(workload, each, sizes.get(each["metadata"]["name"], replicas(each)))
        if not sizes:
            self._revisions.clean_up(workload.obj, old)

    def _recreate(self, workload: WorkloadObject, everyone: Sequence[Object]) -> None:
        """End every old pod before the first new one is made."""
        existing, old = split(workload.obj, everyone)
        active = [each for each in old if replicas(each)]
        for each in active:
            self._scale(workload, each, 0)
        pods = [pod for each in old for pod in self._context.pods.by_owner.find(each["metadata"]["uid"])]
        if active or not all(pod.is_finished for pod in pods):
            return
        new = existing or self._new_and_old(workload, everyone)[0]
        self._scale(workload, new, replicas(workload.obj))
        self._revisions.clean_up(workload.obj, old)

    def _was_scaled(self, deployment: Object, everyone: Sequence[Object]) -> bool:
        """Whether the number of replicas changed since the active ReplicaSets were last sized."""
        active = [each for each in everyone if replicas(each)]
        noted = [(each["metadata"].get("annotations") or {}).get(DESIRED) for each in active]
        return any(text is not None and text != str(replicas(deployment)) for text in noted)

    def _follow_scale(self, workload: WorkloadObject, everyone: Sequence[Object]) -> None:
        """Give a new scale to the one active ReplicaSet, or share it among several."""
        new, old = split(workload.obj, everyone)
        active = [each for each in everyone if replicas(each)]
        only = active[0] if len(active) == 1 else None
        if not active and everyone:
            only = new or max(old, key=creation)
        if only is not None:
            self._scale(workload, only, replicas(workload.obj))
        elif new is not None and self._is_saturated(workload.obj, new):
            for each in old:
                self._scale(workload, each, 0)
        elif is_rolling(workload.obj):
            sizes = proportional(workload.obj, active)
            for each in active:
                self._scale(workload, each, sizes[each["metadata"]["name"]])
        self._revisions.clean_up(workload.obj, old)

    def _is_saturated(self, deployment: Object, new: Object) -> bool:
        wanted = replicas(deployment)
        noted = (new["metadata"].get("annotations") or {}).get(DESIRED)
        return replicas(new) == wanted and noted == str(wanted) and available(new) == wanted

    def _new_and_old(self, workload: WorkloadObject, everyone: Sequence[Object]) -> tuple[Object, list[Object]]:
        """Find the ReplicaSet of the current template, made now if there is none, and all others."""
        existing, old = split(workload.obj, everyone)
        if existing is not None:
            return self._revisions.keep_up(workload, existing, old), old
        try:
            new = self._revisions.create(workload, old)
        except StatusError as error:
            message = f"Failed to create new replica set: {error.message}"
            self._save_progress(workload, "False", "ReplicaSetCreateError", message)
            self._warning(workload.obj, "ReplicaSetCreateError", message)
            raise
        name = new["metadata"]["name"]
        if replicas(new):
            self._tell_scaled(workload, name, 0, replicas(new))
        if _deadline(workload.obj) is not None:
            self._save_progress(workload, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
        return new, old

    def _save_progress(self, workload: WorkloadObject, value: str, reason: str, message: str) -> None:
        """Write the Progressing condition ahead of the rest of the status."""
        _put(workload.obj.setdefault("status", {}), (PROGRESSING, value, reason, message), self._now())
        workload.save_status(self._api)

    def _scale(self, workload: WorkloadObject, replica_set: Object, size: int) -> bool:
        """Resize a ReplicaSet, and note on it what the Deployment wants; return whether its size changed."""
        before = replicas(replica_set)
        if self._revisions.resize(workload.obj, replica_set, size) and before != size:
            self._tell_scaled(workload, replica_set["metadata"]["name"], before, size)
        return before != size

    def _tell_scaled(self, workload: WorkloadObject, name: str, before: int, after: int) -> None:
        scaled = "Scaled up" if after > before else "Scaled down"
        self._normal(workload.obj, "ScalingReplicaSet", f"{scaled} replica set {name} from {before} to {after}")

    def _note_pause(self, workload: WorkloadObject) -> None:
        """Note that a Deployment was paused or resumed, so that the time in between does not count against it."""
        current = conditions.find(workload.status, PROGRESSING) or {}
        is_paused, was_paused = bool(workload.spec.get("paused")), current.get("reason") == PAUSED
        if _deadline(workload.obj) is None or current.get("reason") == TIMED_OUT or is_paused == was_paused:
            return
        if is_paused:
            self._save_progress(workload, "Unknown", PAUSED, "Deployment is paused")
        else:
            self._save_progress(workload, "Unknown", RESUMED, "Deployment is resumed")

    def _report(self, workload: WorkloadObject, everyone: Sequence[Object]) -> float | None:
        """Write the status; return when to look whether the rollout is stuck."""
        now = self._now()
        new, _ = split(workload.obj, everyone)
        status = _counted(workload.obj, new, everyone, now)
        if not workload.spec.get("paused"):
            _set_progress(workload.obj, status, new, now)
        _set_failure(status, new, everyone)
        again_seconds = _seconds_to_deadline(workload.obj, status, now)
        self._write_status(workload, status)
        return again_seconds

    def _on_replica_set(self, before: KnownWorkload | None, after: KnownWorkload | None) -> None:
        """A ReplicaSet changed: look at its Deployment, or at those that might adopt it."""
        for known in (before, after):
            if known is None:
                continue
            self._enqueue_all(self.informer.by_uid.find(known.owner_uid))
            for key in self.informer.known if not known.owner_uid else ():
                if key[0] == known.namespace:
                    self._queue.add(key)

    def _on_replica_set_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        """A pod is gone: a Deployment that recreates may have waited for that."""
        if before is None or after is not None or before.owner is None or before.owner.kind != "ReplicaSet":
            return
        replica_set = self._replica_sets.get((before.namespace, before.owner.name))
        if replica_set is not None:
            self._enqueue_all(self.informer.by_uid.find(replica_set.owner_uid))


def _counted(deployment: Object, new: Object | None, everyone: Sequence[Object], now: datetime) -> Object:
    """Count the pods of all ReplicaSets, and say whether enough of them are available."""
    serving = sum(map(available, everyone))
    counts = {
        "replicas": sum(reading.count(each, "status", "replicas") for each in everyone),
        "updatedReplicas": reading.count(new, "status", "replicas") if new else 0,
        "readyReplicas": sum(reading.count(each, "status", "readyReplicas") for each in everyone),
        "availableReplicas": serving,
        # The number of pods asked for counts here, not of those that are there.
        "unavailableReplicas": max(0, total(everyone) - serving),
    }
    before = deployment.get("status") or {}
    status: Object = {"observedGeneration": deployment["metadata"].get("generation", 1)}
    status |= {name: count for name, count in counts.items() if count}
    status |= {name: before[name] for name in ("conditions", "collisionCount") if name in before}
    if serving >= replicas(deployment) - limits(deployment)[1]:
        what = (AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        what = (AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    _put(status, what, now)
    return status


def _set_progress(deployment: Object, status: Object, new: Object | None, now: datetime) -> None:
    """Say how the rollout gets on: it is complete, it moves, or it has not moved for too long."""
    if _deadline(deployment) is None:
        conditions.drop(status, PROGRESSING)
        return
    current = conditions.find(deployment.get("status") or {}, PROGRESSING)
    is_over = current is not None and current.get("reason") == NEW_AVAILABLE
    if is_over and status.get("replicas", 0) == status.get("updatedReplicas", 0):
        return
    subject = f'ReplicaSet "{new["metadata"]["name"]}"' if new else f'Deployment "{deployment["metadata"]["name"]}"'
    if _is_complete(deployment, status):
        _put(status, (PROGRESSING, "True", NEW_AVAILABLE, f"{subject} has successfully progressed."), now)
    elif _has_moved(deployment, status):
        _put(status, (PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing."), now, is_news=True)
    elif _seconds_left(deployment, now) <= 0:
        _put(status, (PROGRESSING, "False", TIMED_OUT, f"{subject} has timed out progressing."), now)


def _set_failure(status: Object, new: Object | None, everyone: Sequence[Object]) -> None:
    """Pass on why a ReplicaSet cannot make its pods, the new one's reason before those of the others."""
    for each in [new, *everyone] if new else everyone:
        failure = conditions.find(each.get("status") or {}, REPLICA_FAILURE)
        if failure is not None:
            conditions.put(status, {**failure, "lastUpdateTime": failure.get("lastTransitionTime")})
            return
    conditions.drop(status, REPLICA_FAILURE)


def _seconds_to_deadline(deployment: Object, status: Object, now: datetime) -> float | None:
    """When to look again whether the rollout got stuck; None if it cannot."""
    current = conditions.find(status, PROGRESSING)
    if current is None or _deadline(deployment) is None or current.get("reason") == TIMED_OUT:
        return None
    if _is_complete(deployment, status) or deployment["spec"].get("paused"):
        return None
    # A second more: times are written in whole seconds.
    return max(1.0, _seconds_left({**deployment, "status": status}, now) + 1)


def _is_complete(deployment: Object, status: Object) -> bool:
    wanted = replicas(deployment)
    names = ("updatedReplicas", "replicas", "availableReplicas")
    is_observed: bool = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 1)
    return all(status.get(name, 0) == wanted for name in names) and is_observed


def _put(status: Object, what: tuple[str, str, str, str], now: datetime, *, is_news: bool = False) -> None:
    """Set a condition unless it is there with the same status and reason, and that is no news."""
    kind, value, reason, _ = what
    current = conditions.find(status, kind) or {}
    if (current.get("status"), current.get("reason")) == (value, reason) and not is_news:
        return
    fresh = conditions.make(what, format_time(now), lastUpdateTime=format_time(now))
    if current.get("status") == value:
        fresh["lastTransitionTime"] = current.get("lastTransitionTime")
    conditions.drop(status, kind)
    status["conditions"] = [*(status.get("conditions") or []), fresh]


def _deadline(deployment: Object) -> int | None:
    """How many seconds a rollout may stand still; None for ever."""
    seconds: int = deployment["spec"].get("progressDeadlineSeconds", 600)
    return None if seconds == _NO_DEADLINE else seconds


def _has_moved(deployment: Object, status: Object) -> bool:
    """Whether more new pods, fewer old ones, or more that are ready or available are there than before."""
    before = deployment.get("status") or {}
    had_old, has_old = (counts.get("replicas", 0) - counts.get("updatedReplicas", 0) for counts in (before, status))
    gains = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return bool(has_old < had_old) or any(status.get(name, 0) > before.get(name, 0) for name in gains)


def _seconds_left(deployment: Object, now: datetime) -> float:
    """How long a rollout may still stand still; a lot where nothing is known of its progress."""
    current = conditions.find(deployment.get("status") or {}, PROGRESSING)
    if current is None or current.get("reason") in (NEW_AVAILABLE, PAUSED):
        return float(_NO_DEADLINE)
    if current.get("reason") == TIMED_OUT:
        return 0.0
    since = parse_time(current.get("lastUpdateTime") or format_time(now))
    deadline = _deadline(deployment)
    return (_NO_DEADLINE if deadline is None else deadline) - (now - since).total_seconds()
