"""Claims that pods use, and volumes that claims have, stay until they are let go, however early they are deleted.

The finalizers that see to it come with the objects; here they are taken off.
"""

from __future__ import annotations

from stowplan.embedded.informers.claims import ClaimingPod
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, remove_finalizer
from stowplan.embedded.informers.volumes import KnownClaim, KnownVolume
from stowplan.embedded.objects.resource import Resource

_CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
_VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class VolumeProtectionController(Controller):
    """Lets go of deleted claims and volumes. Its queue holds claims, and volumes without a namespace."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "pv-protection-controller", context.volumes.claims.resource)
        self._volumes = context.volumes
        for informer in context.volumes.informers:
            self._watch(informer)
        context.volumes.claims.add_event_handler(self._on_change)
        context.volumes.volumes.add_event_handler(self._on_change)
        self._watch(context.claiming_pods, self._on_pod)

    def reconcile(self, key: ObjectKey) -> None:
        """Take the finalizer off a deleted object that nobody uses."""
        if not key[0]:
            volume = self._volumes.volume(key[1])
            if volume is not None and volume.is_terminating and volume.phase != "Bound":
                self._let_go(key, _VOLUME_FINALIZER)
            return
        claim = self._volumes.claims.get(key)
        if claim is not None and claim.is_terminating and not self._is_used(claim):
            self._let_go(key, _CLAIM_FINALIZER)

    def _locate(self, key: ObjectKey) -> tuple[Resource, str, str]:
        return (self._resource if key[0] else self._volumes.volumes.resource, *key)

    def _is_used(self, claim: KnownClaim) -> bool:
        """Whether a pod that has a node names the claim; a pod that is not placed yet will not be started with it."""
        return any(
            pod.node and pod.uses(claim.name) for pod in self._context.claiming_pods.by_volume_claim.find(claim.key)
        )

    def _let_go(self, key: ObjectKey, finalizer: str) -> None:
        self._edit(self._locate(key)[0], key, lambda obj: remove_finalizer(obj, finalizer))

    def _on_change(self, _: KnownClaim | KnownVolume | None, after: KnownClaim | KnownVolume | None) -> None:
        if after is not None and after.is_terminating:
            self._queue.add(after.key)

    def _on_pod(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        """A pod went, or has been shut down: what it had may go."""
        if before is not None and (after is None or after.is_shut_down):
            for key in before.volume_claims:
                self._queue.add(key)
