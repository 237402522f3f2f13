"""Claims that pods use, and volumes that claims have, stay until they are let go, however early they are deleted.

The finalizers that see to it come with the objects; here they are taken off.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.claiming_pods import ClaimingPod, ClaimingPods
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.storage import KnownClaim, KnownVolume, Storage
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.resource import Resource

_CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
_VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class VolumeProtection:
    """Lets go of deleted claims and volumes. Its queue holds claims, and volumes without a namespace."""

    def __init__(self, setting: Setting, storage: Storage, pods: ClaimingPods) -> None:
        self._api = setting.api
        self._storage, self._pods = storage, pods
        self._claims = resources.find(setting.api, "v1", "PersistentVolumeClaim")
        self._volumes = resources.find(setting.api, "v1", "PersistentVolume")
        self._queue = WorkQueue()
        self._failures = setting.failures_at("pv-protection-controller", self._locate)
        storage.claims.tell(self._on_claim)
        storage.volumes.tell(self._on_volume)
        pods.follower.tell(self._on_pod)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = (*self._storage.followers, self._pods.follower)
        return [Worker(self._queue, self.reconcile, followers, self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Take the finalizer off a deleted object that nobody uses."""
        if not key[0]:
            volume = self._storage.volume(key[1])
            if volume is not None and volume.is_terminating and volume.phase != "Bound":
                self._let_go(self._volumes, key, _VOLUME_FINALIZER)
            return None
        claim = self._storage.claim(key)
        if claim is not None and claim.is_terminating and not self._is_used(claim):
            self._let_go(self._claims, key, _CLAIM_FINALIZER)
        return None

    def _locate(self, key: Key) -> tuple[Resource, str, str]:
        return (self._claims if key[0] else self._volumes, *key)

    def _is_used(self, claim: KnownClaim) -> bool:
        """Whether a pod that has a node names the claim; a pod that is not placed yet will not be started with it."""
        return any(pod.node and pod.uses(claim.name) for pod in self._pods.using(claim.key))

    def _let_go(self, resource: Resource, key: Key, finalizer: str) -> None:
        obj = self._api.get(resource, *key)
        finalizers = obj["metadata"].get("finalizers") or []
        if finalizer in finalizers:
            obj["metadata"]["finalizers"] = [each for each in finalizers if each != finalizer]
            self._api.update(resource, *key, obj)

    def _on_claim(self, _: KnownClaim | None, after: KnownClaim | None) -> None:
        if after is not None and after.is_terminating:
            self._queue.add(after.key)

    def _on_volume(self, _: KnownVolume | None, after: KnownVolume | None) -> None:
        if after is not None and after.is_terminating:
            self._queue.add(after.key)

    def _on_pod(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        """A pod went, or has been shut down: what it had may go."""
        if before is not None and (after is None or after.is_shut_down):
            for key in before.volume_claims:
                self._queue.add(key)
