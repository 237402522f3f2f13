"""ResourceClaims that pods ask for by a template: each pod gets its own, and its status says which.

Claims that have their devices are reserved for pods that came to their node without the scheduler. What becomes of
claims when their pods have ended is looked after here too.
"""

from __future__ import annotations

from stowplan.embedded.informers.claims import (
    FINALIZER,
    POD_CLAIM_NAME,
    ClaimEntry,
    ClaimingPod,
    ConsumerReference,
    KnownResourceClaim,
    may_run,
)
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, controller_reference, find_resource, remove_finalizer
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object

#: What is left of a name beside a dash and five random characters.
_LONGEST_PREFIX = 57
_MOST_CONSUMERS = 256


class PodResourceClaimController(Controller):
    """Makes and reserves the claims of pods."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "resource_claim", context.pods.resource)
        self._claims, self._pods = context.resource_claims, context.claiming_pods
        templates = find_resource(context.api, "resource.k8s.io/v1", "ResourceClaimTemplate")
        #: By template, the pods that wait for somebody to write it.
        self._waiting: dict[ObjectKey, dict[ObjectKey, None]] = {}
        self._templates = self._inform(templates, lambda stored: stored.key, self._on_template)
        self._watch(context.claiming_pods, self._on_pod)
        self._watch(context.resource_claims, self._on_claim)

    def reconcile(self, key: ObjectKey) -> None:
        """Make the claims that a pod lacks, write them into its status, and reserve what it runs with."""
        pod = self._pods.get(key)
        if pod is None or pod.is_terminating or not may_run(pod) or not pod.devices:
            return
        made = {entry.name: self._ensure(pod, entry) for entry in pod.devices if entry.template and entry.made != ""}
        if any(entry.name in made and made[entry.name] != entry.made for entry in pod.devices):
            obj = self._api.get(self._resource, *pod.key)
            status = obj.setdefault("status", {})
            kept = [each for each in reading.entries(status, "resourceClaimStatuses") if each.get("name") not in made]
            added = [{"name": name, "resourceClaimName": claim} for name, claim in made.items()]
            status["resourceClaimStatuses"] = [*kept, *added]
            self._update(self._resource, obj, "status")
        elif pod.node:
            self._reserve_all(pod)

    def _ensure(self, pod: ClaimingPod, entry: ClaimEntry) -> str:
        """Find or make the claim of an entry; return its name."""
        known = self._claims.get((pod.namespace, entry.made)) if entry.made else None
        if known is not None and known.pod_uid == pod.uid:
            return known.name
        # One that was made before the status could be written.
        for claim in self._claims.by_pod.find(pod.uid):
            if claim.entry == entry.name:
                return claim.name
        try:
            return self._make(pod, entry)
        except StatusError as error:
            message = f"PodResourceClaim {entry.name}: {error.message}"
            obj = self._api.get(self._resource, *pod.key)
            self._warning(obj, "FailedResourceClaimCreation", message)
            raise

    def _make(self, pod: ClaimingPod, entry: ClaimEntry) -> str:
        template_key = (pod.namespace, entry.template)
        if template_key not in self._templates.known:
            self._waiting.setdefault(template_key, {})[pod.key] = None
        try:
            template = self._api.get(self._templates.resource, *template_key)
        except StatusError as error:
            raise StatusError(
                error.code, error.reason, f'resource claim template "{entry.template}": {error.message}'
            ) from None
        obj = self._api.get(self._resource, *pod.key)
        claim = claim_from(template, entry.name, obj, controller_reference(self._resource, obj))
        created = self._api.create(self._claims.resource, pod.namespace, claim)
        self._claims.catch_up()
        name: str = created["metadata"]["name"]
        return name

    def _reserve_all(self, pod: ClaimingPod) -> None:
        for key in pod.device_claims:
            claim = self._claims.get(key)
            if claim is None or not claim.is_allocated or len(claim.consumers) >= _MOST_CONSUMERS:
                continue
            if any(consumer.serves(pod.uid, pod.group) for consumer in claim.consumers):
                continue
            obj = self._api.get(self._claims.resource, *key)
            consumers = reading.entries(obj, "status", "reservedFor")
            obj["status"]["reservedFor"] = [*consumers, {"resource": "pods", "name": pod.name, "uid": pod.uid}]
            self._update(self._claims.resource, obj, "status")

    def _on_pod(self, _: ClaimingPod | None, after: ClaimingPod | None) -> None:
        if after is not None and after.devices:
            self._queue.add(after.key)

    def _on_claim(self, before: KnownResourceClaim | None, after: KnownResourceClaim | None) -> None:
        """Who named a claim may have to have it made again, or reserved."""
        known = after or before
        self._enqueue_all(self._pods.by_device_claim.find(known.key) if known is not None else ())

    def _on_template(self, before: ObjectKey | None, after: ObjectKey | None) -> None:
        if after is not None and before is None:
            for key in self._waiting.pop(after, ()):
                self._queue.add(key)


def claim_from(template: Object, entry: str, pod: Object, owner: Object) -> Object:
    """Make the claim of one entry of a pod."""
    meta = reading.mapping(template, "spec", "metadata")
    labels = reading.mapping(meta, "labels")
    return {
        "metadata": {
            "generateName": prefix(pod["metadata"]["name"], entry),
            "namespace": pod["metadata"]["namespace"],
            "ownerReferences": [owner],
            "annotations": {**reading.mapping(meta, "annotations"), POD_CLAIM_NAME: entry},
            **({"labels": labels} if labels else {}),
        },
        "spec": template["spec"]["spec"],
    }


def prefix(pod: str, entry: str) -> str:
    """What the name of a claim begins with: pod and entry, both shortened alike where they are too long together."""
    whole = f"{pod}-{entry}-"
    if len(whole) <= _LONGEST_PREFIX:
        return whole
    ends = (len(name) * _LONGEST_PREFIX // len(whole) for name in (pod, entry))
    return "-".join(name[:end] for name, end in zip((pod, entry), ends, strict=True))


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
        """Whether a reservation still stands; one for something else than a pod is not ours to end."""
        if not consumer.is_pod:
            return True
        pod = self._pods.get((claim.namespace, consumer.name))
        return pod is not None and pod.uid == consumer.uid and may_run(pod)

    def _is_left_over(self, claim: KnownResourceClaim) -> bool:
        """Whether a claim was made for a pod that has ended; what is gone altogether is garbage already."""
        pod = self._pods.get((claim.namespace, claim.pod)) if claim.pod else None
        return pod is not None and pod.uid == claim.pod_uid and not may_run(pod)

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
            self._enqueue_all(self._claims.by_pod.find(before.uid))
