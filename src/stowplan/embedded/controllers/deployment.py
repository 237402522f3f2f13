"""Deployments: a ReplicaSet per pod template, and the rollout from the old ones to the new one."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from datetime import datetime
from typing import Any

from stowplan.embedded.controllers import deployment_replicasets
from stowplan.embedded.controllers.deployment_replicasets import DeploymentReplicaSets, replicas
from stowplan.embedded.controllers.workload import KnownOwner, PodOwner, WorkloadController, save
from stowplan.embedded.informers import conditions, resources
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.informer import ObjectKey, SharedInformer
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time, parse_time


class DeploymentController:
    """The Deployment controller."""

    def __init__(self, setting: ControllerContext, replica_sets: SharedInformer[KnownOwner]) -> None:
        self._setting = setting
        self._sets = WorkloadController(setting, resources.apps(setting.api, "Deployment"))
        self._revisions = DeploymentReplicaSets(setting.api, replica_sets)
        self._recorder = setting.recorder("deployment-controller")
        self._replica_sets = replica_sets
        self._keys: dict[str, ObjectKey] = {}
        self._sets.follower.tell(self._on_deployment)
        replica_sets.tell(self._on_replica_set)
        setting.pods.follower.tell(self._on_pod)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile, self._replica_sets)

    def reconcile(self, key: ObjectKey) -> float | None:
        """Take one step of the rollout, or follow a change of scale, then write the status."""
        claimant = self._sets.claimant(key)
        if claimant is None:
            return None
        everyone = self._revisions.of(claimant)
        if "deletionTimestamp" in claimant.obj["metadata"]:
            return self._report(claimant, everyone)
        self._note_pause(claimant)
        if claimant.obj["spec"].get("paused") or self._was_scaled(claimant.obj, everyone):
            self._follow_scale(claimant, everyone)
        elif deployment_replicasets.is_rolling(claimant.obj):
            self._roll(claimant, everyone)
        else:
            self._recreate(claimant, everyone)
        return self._report(claimant, self._revisions.of(claimant))

    def _roll(self, claimant: PodOwner, everyone: Sequence[Object]) -> None:
        """Let the new ReplicaSet grow; if it cannot, let old ones shrink."""
        new, old = self._new_and_old(claimant, everyone)
        wanted = replicas(claimant.obj)
        size = wanted if replicas(new) > wanted else deployment_replicasets.size_of_new(claimant.obj, new, [new, *old])
        if self._scale(claimant, new, size):
            return
        sizes = deployment_replicasets.sizes_of_old(claimant.obj, new, [each for each in old if replicas(each)])
        for each in old:
            self._scale(claimant, each, sizes.get(each["metadata"]["name"], replicas(each)))
        if not sizes:
            self._revisions.clean_up(claimant.obj, old)

    def _recreate(self, claimant: PodOwner, everyone: Sequence[Object]) -> None:
        """End every old pod before the first new one is made."""
        existing, old = deployment_replicasets.split(claimant.obj, everyone)
        active = [each for each in old if replicas(each)]
        for each in active:
            self._scale(claimant, each, 0)
        if active or self._has_old_pods(old):
            return
        new = existing or self._new_and_old(claimant, everyone)[0]
        self._scale(claimant, new, replicas(claimant.obj))
        self._revisions.clean_up(claimant.obj, old)

    def _has_old_pods(self, old: Sequence[Object]) -> bool:
        """Whether an old pod still runs, or is about to end."""
        pods = self._setting.pods
        return any(not pod.is_finished for each in old for pod in pods.owned_by(each["metadata"]["uid"]))

    def _was_scaled(self, deployment: Object, everyone: Sequence[Object]) -> bool:
        """Whether the number of replicas changed since the active ReplicaSets were last sized."""
        active = [each for each in everyone if replicas(each)]
        noted = [(each["metadata"].get("annotations") or {}).get(deployment_replicasets.DESIRED) for each in active]
        return any(text is not None and text != str(replicas(deployment)) for text in noted)

    def _follow_scale(self, claimant: PodOwner, everyone: Sequence[Object]) -> None:
        """Give a new scale to the one active ReplicaSet, or share it among several."""
        new, old = deployment_replicasets.split(claimant.obj, everyone)
        active = [each for each in everyone if replicas(each)]
        only = active[0] if len(active) == 1 else None
        if not active and everyone:
            only = new or max(old, key=deployment_replicasets.creation)
        if only is not None:
            self._scale(claimant, only, replicas(claimant.obj))
        elif new is not None and self._is_saturated(claimant.obj, new):
            for each in old:
                self._scale(claimant, each, 0)
        elif deployment_replicasets.is_rolling(claimant.obj):
            sizes = deployment_replicasets.proportional(claimant.obj, active)
            for each in active:
                self._scale(claimant, each, sizes[each["metadata"]["name"]])
        self._revisions.clean_up(claimant.obj, old)

    def _is_saturated(self, deployment: Object, new: Object) -> bool:
        wanted = replicas(deployment)
        noted = (new["metadata"].get("annotations") or {}).get(deployment_replicasets.DESIRED)
        return replicas(new) == wanted and noted == str(wanted) and deployment_replicasets.available(new) == wanted

    def _new_and_old(self, claimant: PodOwner, everyone: Sequence[Object]) -> tuple[Object, list[Object]]:
        """Find the ReplicaSet of the current template, made now if there is none, and all others."""
        existing, old = deployment_replicasets.split(claimant.obj, everyone)
        if existing is not None:
            return self._revisions.keep_up(claimant, existing, old), old
        try:
            new = self._revisions.create(claimant, old)
        except StatusError as error:
            self._report_refusal(claimant, error)
            raise
        name = new["metadata"]["name"]
        if replicas(new):
            self._tell_scaled(claimant, name, (0, replicas(new)))
        self._note_new(claimant, name)
        return new, old

    def _note_new(self, claimant: PodOwner, name: str) -> None:
        status = claimant.obj.setdefault("status", {})
        if has_deadline(claimant.obj):
            what = ("Progressing", "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            put(status, what, self._setting.now())
            save(self._setting.api, claimant, "status")

    def _scale(self, claimant: PodOwner, replica_set: Object, size: int) -> bool:
        """Resize a ReplicaSet, and note on it what the Deployment wants; return whether its size changed."""
        before = replicas(replica_set)
        if self._revisions.resize(claimant.obj, replica_set, size) and before != size:
            self._tell_scaled(claimant, replica_set["metadata"]["name"], (before, size))
        return before != size

    def _tell_scaled(self, claimant: PodOwner, name: str, sizes: tuple[int, int]) -> None:
        before, after = sizes
        direction = "up" if after > before else "down"
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        self._recorder.normal(claimant.resource, claimant.obj, "ScalingReplicaSet", message)

    def _note_pause(self, claimant: PodOwner) -> None:
        status = claimant.obj.setdefault("status", {})
        before = list(status.get("conditions") or [])
        set_pause(claimant.obj, status, self._setting.now())
        if before != (status.get("conditions") or []):
            save(self._setting.api, claimant, "status")

    def _report(self, claimant: PodOwner, everyone: Sequence[Object]) -> float | None:
        """Write the status; return when to look whether the rollout is stuck."""
        now = self._setting.now()
        new, _ = deployment_replicasets.split(claimant.obj, everyone)
        status = counted(claimant.obj, new, everyone, now)
        if not claimant.obj["spec"].get("paused"):
            set_progress(claimant.obj, status, new, now)
        set_failure(status, new, everyone)
        again_seconds = seconds_to_deadline(claimant.obj, status, now)
        self._sets.write_status(claimant, status)
        return again_seconds

    def _report_refusal(self, claimant: PodOwner, error: StatusError) -> None:
        message = f"Failed to create new replica set: {error.message}"
        status = claimant.obj.setdefault("status", {})
        put(status, ("Progressing", "False", "ReplicaSetCreateError", message), self._setting.now())
        save(self._setting.api, claimant, "status")
        self._recorder.warning(claimant.resource, claimant.obj, "ReplicaSetCreateError", message)

    def _on_deployment(self, before: KnownOwner | None, after: KnownOwner | None) -> None:
        if before is not None:
            self._keys.pop(before.uid, None)
        if after is not None:
            self._keys[after.uid] = after.key

    def _on_replica_set(self, before: KnownOwner | None, after: KnownOwner | None) -> None:
        """A ReplicaSet changed: look at its Deployment, or at those that might adopt it."""
        for known in (before, after):
            if known is None:
                continue
            if known.owner_uid in self._keys:
                self._sets.queue.add(self._keys[known.owner_uid])
            for key in self._keys.values() if not known.owner_uid else ():
                if key[0] == known.namespace:
                    self._sets.queue.add(key)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        """A pod is gone: a Deployment that recreates may have waited for that."""
        if before is None or after is not None or before.owner is None or before.owner.kind != "ReplicaSet":
            return
        replica_set = self._replica_sets.known.get((before.namespace, before.owner.name))
        if replica_set is not None and replica_set.owner_uid in self._keys:
            self._sets.queue.add(self._keys[replica_set.owner_uid])


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
    available = sum(map(deployment_replicasets.available, everyone))
    # The number of pods asked for counts here, not of those that are there.
    unavailable = max(0, deployment_replicasets.total(everyone) - available)
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
    wanted = deployment_replicasets.replicas(deployment)
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
    if available >= deployment_replicasets.replicas(deployment) - deployment_replicasets.limits(deployment)[1]:
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
