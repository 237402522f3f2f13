"""What becomes of ResourceClaims when those who had them are gone: reservations end, devices are free, claims go.

`resourceclaim_templates` makes the claims.
"""

from __future__ import annotations

from stowplan.embedded.informers.claims import (
    FINALIZER,
    ClaimingPod,
    ConsumerReference,
    KnownResourceClaim,
    may_run,
)
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, remove_finalizer
from stowplan.embedded.informers.pod_groups import KnownPodGroup, has_claims
from stowplan.embedded.objects.resource import Object


class ResourceClaimController(Controller):
    """Ends reservations with their pods, gives back devices that nobody reserves, and deletes claims left over.

    A claim that was made for a pod goes when that pod has no more use for it.
    """

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "resource_claim", context.resource_claims.resource)
        self._claims, self._pods = context.resource_claims, context.pods
        self._watch(context.pods)
        self._watch(context.claiming_pods, self._on_pod)
        self._watch(context.resource_claims, self._enqueue)
        self._groups = context.groups.groups if context.groups is not None and has_claims(context.api) else None
        if self._groups is not None:
            self._watch(self._groups, self._on_group)

    def reconcile(self, key: ObjectKey) -> None:
        """Bring a claim in line with the pods that are left."""
        claim = self._claims.get(key)
        if claim is None:
            return
        kept = [consumer for consumer in claim.consumers if self._is_kept(claim, consumer)]
        if len(kept) < len(claim.consumers):
            self._release(claim, {consumer.uid for consumer in kept})
        elif claim.is_held and claim.is_terminating and not kept:
            self._release(claim, set())
        if not kept and not claim.is_terminating and self._is_left_over(claim):
            self._api.delete(self._resource, *key)

    def _is_kept(self, claim: KnownResourceClaim, consumer: ConsumerReference) -> bool:
        """Whether a reservation still stands; one for neither a pod nor a group of pods is not ours to end."""
        if consumer.is_group and self._groups is not None:
            group = self._groups.get((claim.namespace, consumer.name))
            return group is not None and group.uid == consumer.uid
        if not consumer.is_pod:
            return True
        pod = self._pods.get((claim.namespace, consumer.name))
        return pod is not None and pod.uid == consumer.uid and may_run(pod)

    def _is_left_over(self, claim: KnownResourceClaim) -> bool:
        """Whether a claim was made for a pod that has ended; what is gone altogether is garbage already."""
        pod = self._pods.get((claim.namespace, claim.pod)) if claim.pod else None
        return pod is not None and pod.uid == claim.owner_uid and not may_run(pod)

    def _release(self, claim: KnownResourceClaim, uids: set[str]) -> None:
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
            obj = self._update(self._resource, obj, "status")
        if "allocation" not in obj["status"] and remove_finalizer(obj, FINALIZER):
            self._update(self._resource, obj)

    def _on_pod(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        """A pod that went or ended needs its claims no more."""
        if before is not None and (after is None or after.uid != before.uid or not may_run(after)):
            for key in before.device_claims:
                self._queue.add(key)
            self._enqueue_all(self._claims.by_owner.find(before.uid))

    def _on_group(self, before: KnownPodGroup | None, after: KnownPodGroup | None) -> None:
        """A group that went needs its claims no more."""
        if before is not None and (after is None or after.uid != before.uid):
            for key in before.device_claims:
                self._queue.add(key)
            self._enqueue_all(self._claims.by_owner.find(before.uid))
