"""Volumes that live as long as their pod: a claim for each, owned by the pod, and made again if it is deleted."""

from __future__ import annotations

from stowplan.embedded.informers.claims import ClaimingPod
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, controller_of, controller_reference
from stowplan.embedded.informers.volumes import KnownClaim
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object


class EphemeralVolumeController(Controller):
    """Makes the claims of pods with ephemeral volumes."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "ephemeral_volume", context.pods.resource)
        self._pods, self._claims = context.claiming_pods, context.volumes.claims.resource
        self._watch(context.claiming_pods, self._on_pod)
        self._watch(context.volumes.claims, self._on_claim)

    def reconcile(self, key: ObjectKey) -> None:
        """Make the claims that a pod lacks; say so on the pod if one cannot be made."""
        known = self._pods.get(key)
        if known is None or known.is_terminating or not known.ephemeral_claims:
            return
        pod = self._api.get(self._resource, *key)
        for volume in pod["spec"]["volumes"]:
            if "ephemeral" not in volume:
                continue
            problem = self._ensure(pod, volume)
            if problem:
                message = f"ephemeral volume {volume['name']}: {problem}"
                self._warning(pod, "FailedBinding", message)
                raise StatusError(409, "Conflict", f"pod {'/'.join(key)}: {message}")

    def _ensure(self, pod: Object, volume: Object) -> str:
        """Make the claim of a volume if it is not there; return what is wrong, "" if nothing is."""
        meta = pod["metadata"]
        name = f"{meta['name']}-{volume['name']}"
        stored = self._api.store.get(self._claims, meta["namespace"], name)
        if stored is not None:
            if (controller_of(stored.object) or {}).get("uid") == meta["uid"]:
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
            "metadata": {
                "name": name,
                "namespace": pod["metadata"]["namespace"],
                "ownerReferences": [controller_reference(self._resource, pod)],
                **{key: value for key, value in copied.items() if value},
            },
            "spec": template["spec"],
        }

    def _on_pod(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        if after is not None and after.ephemeral_claims and (before is None or before.uid != after.uid):
            self._queue.add(after.key)

    def _on_claim(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        if after is None and before is not None:
            self._enqueue_all(self._pods.by_volume_claim.find(before.key))
