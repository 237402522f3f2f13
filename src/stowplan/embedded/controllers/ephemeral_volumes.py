"""Volumes that live as long as their pod: a claim for each, owned by the pod, and made again if it is deleted."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.claiming_pods import ClaimingPod, ClaimingPods
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.owners import controller_of, controller_reference
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.storage import KnownClaim, Storage
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object


class EphemeralVolumes:
    """Makes the claims of pods with ephemeral volumes."""

    def __init__(self, setting: Setting, storage: Storage, pods: ClaimingPods) -> None:
        self._api = setting.api
        self._storage, self._following = storage, pods
        self._pods = resources.pods(setting.api)
        self._claims = resources.find(setting.api, "v1", "PersistentVolumeClaim")
        self._recorder = setting.recorder("ephemeral_volume")
        self._queue = WorkQueue()
        self._failures = setting.failures("ephemeral_volume", resources.pods(setting.api))
        pods.follower.tell(self._on_pod)
        storage.claims.tell(self._on_claim)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [
            Worker(self._queue, self.reconcile, (self._following.follower, self._storage.claims), self._failures).run()
        ]

    def reconcile(self, key: Key) -> float | None:
        """Make the claims that a pod lacks; say so on the pod if one cannot be made."""
        known = self._following.get(key)
        if known is None or known.is_terminating or not known.ephemeral_claims:
            return None
        pod = self._api.get(self._pods, *key)
        for volume in pod["spec"]["volumes"]:
            if "ephemeral" not in volume:
                continue
            problem = self._ensure(pod, volume)
            if problem:
                message = f"ephemeral volume {volume['name']}: {problem}"
                self._recorder.warning(self._pods, pod, "FailedBinding", message)
                raise StatusError(409, "Conflict", f"pod {'/'.join(key)}: {message}")
        return None

    def _ensure(self, pod: Object, volume: Object) -> str:
        """Make the claim of a volume if it is not there; return what is wrong, "" if nothing is."""
        meta = pod["metadata"]
        name = f"{meta['name']}-{volume['name']}"
        stored = self._api.store.get(self._claims, meta["namespace"], name)
        if stored is not None:
            owner = controller_of(stored.object)
            if owner is not None and owner["uid"] == meta["uid"]:
                return ""
            return (
                f'PVC "{meta["namespace"]}/{name}" was not created for pod "{meta["namespace"]}/{meta["name"]}" '
                "(pod is not owner)"
            )
        try:
            self._api.create(self._claims, meta["namespace"], self._claim(pod, volume, name))
        except StatusError as error:
            return f"create PVC {name}: {error.message}"
        return ""

    def _claim(self, pod: Object, volume: Object, name: str) -> Object:
        template = volume["ephemeral"]["volumeClaimTemplate"]
        copied = {key: reading.mapping(template, "metadata", key) for key in ("labels", "annotations")}
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": pod["metadata"]["namespace"],
                "ownerReferences": [controller_reference(self._pods, pod)],
                **{key: value for key, value in copied.items() if value},
            },
            "spec": template["spec"],
        }

    def _on_pod(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        if after is not None and after.ephemeral_claims and (before is None or before.uid != after.uid):
            self._queue.add(after.key)

    def _on_claim(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        if after is None and before is not None:
            for pod in self._following.using(before.key):
                self._queue.add(pod.key)
