"""Deployments: a ReplicaSet per pod template, and the rollout from the old ones to the new one."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from stowplan.embedded.controllers import deployment_status, revision_sets, rollouts
from stowplan.embedded.controllers.claims import Claimant, save
from stowplan.embedded.controllers.revision_sets import Revisions
from stowplan.embedded.controllers.rollouts import replicas
from stowplan.embedded.controllers.sets import KnownSet, Sets
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object


class Deployments:
    """The Deployment controller."""

    def __init__(self, setting: Setting, replica_sets: Follower[KnownSet]) -> None:
        self._setting = setting
        self._sets = Sets(setting, resources.apps(setting.api, "Deployment"))
        self._revisions = Revisions(setting.api, replica_sets)
        self._recorder = setting.recorder("deployment-controller")
        self._replica_sets = replica_sets
        self._keys: dict[str, Key] = {}
        self._sets.follower.tell(self._on_deployment)
        replica_sets.tell(self._on_replica_set)
        setting.pods.follower.tell(self._on_pod)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile, self._replica_sets)

    def reconcile(self, key: Key) -> float | None:
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
        elif rollouts.is_rolling(claimant.obj):
            self._roll(claimant, everyone)
        else:
            self._recreate(claimant, everyone)
        return self._report(claimant, self._revisions.of(claimant))

    def _roll(self, claimant: Claimant, everyone: Sequence[Object]) -> None:
        """Let the new ReplicaSet grow; if it cannot, let old ones shrink."""
        new, old = self._new_and_old(claimant, everyone)
        wanted = replicas(claimant.obj)
        size = wanted if replicas(new) > wanted else rollouts.size_of_new(claimant.obj, new, [new, *old])
        if self._scale(claimant, new, size):
            return
        sizes = rollouts.sizes_of_old(claimant.obj, new, [each for each in old if replicas(each)])
        for each in old:
            self._scale(claimant, each, sizes.get(each["metadata"]["name"], replicas(each)))
        if not sizes:
            self._revisions.clean_up(claimant.obj, old)

    def _recreate(self, claimant: Claimant, everyone: Sequence[Object]) -> None:
        """End every old pod before the first new one is made."""
        existing, old = revision_sets.split(claimant.obj, everyone)
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
        noted = [(each["metadata"].get("annotations") or {}).get(rollouts.DESIRED) for each in active]
        return any(text is not None and text != str(replicas(deployment)) for text in noted)

    def _follow_scale(self, claimant: Claimant, everyone: Sequence[Object]) -> None:
        """Give a new scale to the one active ReplicaSet, or share it among several."""
        new, old = revision_sets.split(claimant.obj, everyone)
        active = [each for each in everyone if replicas(each)]
        only = active[0] if len(active) == 1 else None
        if not active and everyone:
            only = new or max(old, key=rollouts.creation)
        if only is not None:
            self._scale(claimant, only, replicas(claimant.obj))
        elif new is not None and self._is_saturated(claimant.obj, new):
            for each in old:
                self._scale(claimant, each, 0)
        elif rollouts.is_rolling(claimant.obj):
            sizes = rollouts.proportional(claimant.obj, active)
            for each in active:
                self._scale(claimant, each, sizes[each["metadata"]["name"]])
        self._revisions.clean_up(claimant.obj, old)

    def _is_saturated(self, deployment: Object, new: Object) -> bool:
        wanted = replicas(deployment)
        noted = (new["metadata"].get("annotations") or {}).get(rollouts.DESIRED)
        return replicas(new) == wanted and noted == str(wanted) and rollouts.available(new) == wanted

    def _new_and_old(self, claimant: Claimant, everyone: Sequence[Object]) -> tuple[Object, list[Object]]:
        """Find the ReplicaSet of the current template, made now if there is none, and all others."""
        existing, old = revision_sets.split(claimant.obj, everyone)
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

    def _note_new(self, claimant: Claimant, name: str) -> None:
        status = claimant.obj.setdefault("status", {})
        if deployment_status.has_deadline(claimant.obj):
            what = ("Progressing", "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            deployment_status.put(status, what, self._setting.now())
            save(self._setting.api, claimant, "status")

    def _scale(self, claimant: Claimant, replica_set: Object, size: int) -> bool:
        """Resize a ReplicaSet, and note on it what the Deployment wants; return whether its size changed."""
        before = replicas(replica_set)
        if self._revisions.resize(claimant.obj, replica_set, size) and before != size:
            self._tell_scaled(claimant, replica_set["metadata"]["name"], (before, size))
        return before != size

    def _tell_scaled(self, claimant: Claimant, name: str, sizes: tuple[int, int]) -> None:
        before, after = sizes
        direction = "up" if after > before else "down"
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        self._recorder.normal(claimant.resource, claimant.obj, "ScalingReplicaSet", message)

    def _note_pause(self, claimant: Claimant) -> None:
        status = claimant.obj.setdefault("status", {})
        before = list(status.get("conditions") or [])
        deployment_status.set_pause(claimant.obj, status, self._setting.now())
        if before != (status.get("conditions") or []):
            save(self._setting.api, claimant, "status")

    def _report(self, claimant: Claimant, everyone: Sequence[Object]) -> float | None:
        """Write the status; return when to look whether the rollout is stuck."""
        now = self._setting.now()
        new, _ = revision_sets.split(claimant.obj, everyone)
        status = deployment_status.counted(claimant.obj, new, everyone, now)
        if not claimant.obj["spec"].get("paused"):
            deployment_status.set_progress(claimant.obj, status, new, now)
        deployment_status.set_failure(status, new, everyone)
        again_seconds = deployment_status.seconds_to_deadline(claimant.obj, status, now)
        self._sets.write_status(claimant, status)
        return again_seconds

    def _report_refusal(self, claimant: Claimant, error: StatusError) -> None:
        message = f"Failed to create new replica set: {error.message}"
        status = claimant.obj.setdefault("status", {})
        deployment_status.put(status, ("Progressing", "False", "ReplicaSetCreateError", message), self._setting.now())
        save(self._setting.api, claimant, "status")
        self._recorder.warning(claimant.resource, claimant.obj, "ReplicaSetCreateError", message)

    def _on_deployment(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None:
            self._keys.pop(before.uid, None)
        if after is not None:
            self._keys[after.uid] = after.key

    def _on_replica_set(self, before: KnownSet | None, after: KnownSet | None) -> None:
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
