"""ResourceClaims after their pods: reservations end with them, devices nobody reserves are given back.

A claim that was made for a pod goes when that pod has no more use for it. `pod_resource_claims` makes such claims.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.claiming_pods import ClaimingPod, ClaimingPods
from stowplan.embedded.following.device_claims import FINALIZER, Consumer, DeviceClaims, KnownDeviceClaim
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.resource import Object


class ResourceClaims:
    """Cleans up after pods."""

    def __init__(self, setting: Setting, claims: DeviceClaims, pods: ClaimingPods) -> None:
        self._api, self._pods = setting.api, setting.pods
        self._following, self._claiming = claims, pods
        self._resource = resources.find(setting.api, "resource.k8s.io/v1", "ResourceClaim")
        self._queue = WorkQueue()
        self._failures = setting.failures("resource_claim", self._resource)
        claims.follower.tell(self._on_claim)
        pods.follower.tell(self._on_pod)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = (self._pods.follower, self._claiming.follower, self._following.follower)
        return [Worker(self._queue, self.reconcile, followers, self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Bring a claim in line with the pods that are left."""
        claim = self._following.get(key)
        if claim is None:
            return None
        kept = [consumer for consumer in claim.consumers if self._is_kept(claim, consumer)]
        if len(kept) < len(claim.consumers):
            self._release(claim, {consumer.uid for consumer in kept})
        elif claim.is_held and claim.is_terminating and not kept:
            self._release(claim, set())
        if not kept and not claim.is_terminating and self._is_left_over(claim):
            self._api.delete(self._resource, *key)
        return None

    def _is_kept(self, claim: KnownDeviceClaim, consumer: Consumer) -> bool:
        """Whether a reservation still stands; one for something else than a pod is not ours to end."""
        if not consumer.is_pod:
            return True
        pod = self._pods.get((claim.namespace, consumer.name))
        return pod is not None and pod.uid == consumer.uid and _may_run(pod)

    def _is_left_over(self, claim: KnownDeviceClaim) -> bool:
        """Whether a claim was made for a pod that has ended; what is gone altogether is garbage already."""
        pod = self._pods.get((claim.namespace, claim.pod)) if claim.pod else None
        return pod is not None and pod.uid == claim.pod_uid and not _may_run(pod)

    def _release(self, claim: KnownDeviceClaim, uids: set[str]) -> None:
        """Write down who still has the claim; if that is nobody, its devices are free again."""
        obj = self._api.get(self._resource, *claim.key)
        status: Object = {**(obj.get("status") or {})}
        status["reservedFor"] = [each for each in status.get("reservedFor") or [] if each["uid"] in uids]
        if not status["reservedFor"]:
            del status["reservedFor"]
            if claim.is_held:
                status.pop("allocation", None)
                status.pop("devices", None)
        if status != obj.get("status"):
            obj["status"] = status
            obj = self._api.update(self._resource, *claim.key, obj, subresource="status")
        finalizers = obj["metadata"].get("finalizers") or []
        if FINALIZER in finalizers and "allocation" not in obj["status"]:
            obj["metadata"]["finalizers"] = [each for each in finalizers if each != FINALIZER]
            self._api.update(self._resource, *claim.key, obj)

    def _on_claim(self, _: KnownDeviceClaim | None, after: KnownDeviceClaim | None) -> None:
        if after is not None:
            self._queue.add(after.key)

    def _on_pod(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        """A pod that went or ended needs its claims no more."""
        if before is not None and (after is None or after.uid != before.uid or not after.may_run):
            for key in before.device_claims:
                self._queue.add(key)
            for claim in self._following.made_for(before.uid):
                self._queue.add(claim.key)


def _may_run(pod: KnownPod) -> bool:
    """Whether a pod has, or may come to have, use for devices."""
    is_given_up = pod.is_terminating and not pod.node
    return not pod.is_finished and not is_given_up
