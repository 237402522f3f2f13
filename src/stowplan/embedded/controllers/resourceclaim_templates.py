"""ResourceClaims that are asked for by a template: each pod, or group of pods, gets its own, and its status says which.

Claims that have their devices are reserved for pods that came to their node without the scheduler. What becomes of
claims afterwards is in `resourceclaim`.
"""

from __future__ import annotations

from abc import abstractmethod

from stowplan.embedded.informers.claims import (
    POD_CLAIM_NAME,
    ClaimEntry,
    ClaimingPod,
    KnownResourceClaim,
    may_run,
)
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import Index
from stowplan.embedded.informers.metadata import ObjectKey, controller_reference, find_resource
from stowplan.embedded.informers.pod_groups import GroupInformers, KnownPodGroup, has_claims
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource

#: What is left of a name beside a dash and five random characters.
_LONGEST_PREFIX = 57
_MOST_CONSUMERS = 256

Owner = ClaimingPod | KnownPodGroup


class TemplateController(Controller):
    """Makes the claims of whoever names a template: of pods, or of groups."""

    #: How events call an entry.
    entry_kind: str

    def __init__(self, context: ControllerContext, resource: Resource) -> None:
        super().__init__(context, "resource_claim", resource)
        self._claims = context.resource_claims
        templates = find_resource(context.api, "resource.k8s.io/v1", "ResourceClaimTemplate")
        #: By template, those who wait for somebody to write it.
        self._waiting: dict[ObjectKey, dict[ObjectKey, None]] = {}
        self._templates = self._inform(templates, lambda stored: stored.key, self._on_template)
        self._watch(context.resource_claims, self._on_claim)

    def _write(self, owner: Owner, made: dict[str, str]) -> bool:
        """Write the claims of entries into the status, unless it has them; return whether it had to be."""
        if all(made.get(entry.name, entry.made) == entry.made for entry in owner.devices):
            return False
        obj = self._api.get(self._resource, *owner.key)
        status = obj.setdefault("status", {})
        kept = [each for each in reading.entries(status, "resourceClaimStatuses") if each.get("name") not in made]
        added = [{"name": name, "resourceClaimName": claim} for name, claim in made.items()]
        status["resourceClaimStatuses"] = [*kept, *added]
        self._update(self._resource, obj, "status")
        return True

    def _known(self, owner: Owner, entry: ClaimEntry) -> KnownResourceClaim | None:
        """Find the claim of an entry, also one that was made before the status could be written."""
        known = self._claims.get((owner.namespace, entry.made)) if entry.made else None
        if known is not None and self._is_for(owner, known):
            return known
        return next((claim for claim in self._claims.by_owner.find(owner.uid) if claim.entry == entry.name), None)

    def _is_for(self, owner: Owner, claim: KnownResourceClaim) -> bool:
        return claim.owner_uid == owner.uid

    def _ensure(self, owner: Owner, entry: ClaimEntry) -> str:
        """Find or make the claim of an entry; return its name."""
        known = self._known(owner, entry)
        if known is not None:
            return known.name
        try:
            return self._make(owner, entry)
        except StatusError as error:
            message = f"{self.entry_kind} {entry.name}: {error.message}"
            obj = self._api.get(self._resource, *owner.key)
            self._warning(obj, "FailedResourceClaimCreation", message)
            raise

    def _make(self, owner: Owner, entry: ClaimEntry) -> str:
        template_key = (owner.namespace, entry.template)
        if template_key not in self._templates.known:
            self._waiting.setdefault(template_key, {})[owner.key] = None
        try:
            template = self._api.get(self._templates.resource, *template_key)
        except StatusError as error:
            raise StatusError(
                error.code, error.reason, f'resource claim template "{entry.template}": {error.message}'
            ) from None
        obj = self._api.get(self._resource, *owner.key)
        claim = claim_from(template, entry.name, obj, controller_reference(self._resource, obj))
        created = self._api.create(self._claims.resource, owner.namespace, claim)
        self._claims.catch_up()
        name: str = created["metadata"]["name"]
        return name

    def _on_claim(self, before: KnownResourceClaim | None, after: KnownResourceClaim | None) -> None:
        """Who named a claim may have to have it made again, or reserved."""
        known = after or before
        if known is not None:
            self._enqueue_all(self._who_names(known.key))

    @abstractmethod
    def _who_names(self, claim: ObjectKey) -> list[ClaimingPod] | list[KnownPodGroup]:
        """Find those whose spec or status names a claim."""

    def _on_template(self, before: ObjectKey | None, after: ObjectKey | None) -> None:
        if after is not None and before is None:
            for key in self._waiting.pop(after, ()):
                self._queue.add(key)


class PodResourceClaimController(TemplateController):
    """Makes and reserves the claims of pods; an entry that the group of a pod has too means the claim of the group."""

    entry_kind = "PodResourceClaim"

    def __init__(self, context: ControllerContext) -> None:
        self._pods = context.claiming_pods
        self._groups = context.groups if has_claims(context.api) else None
        super().__init__(context, context.pods.resource)
        self._watch(context.claiming_pods, self._on_pod)
        if self._groups is not None:
            self._watch(self._groups.members)
            self._watch(self._groups.groups, self._on_group)

    def reconcile(self, key: ObjectKey) -> None:
        """Make the claims that a pod lacks, write them into its status, and reserve what it runs with."""
        pod = self._pods.get(key)
        if pod is None or pod.is_terminating or not may_run(pod) or not pod.devices:
            return
        group = self._groups.groups.get((pod.namespace, pod.group)) if self._groups is not None and pod.group else None
        if self._groups is not None and pod.group and group is None:
            # What is the group's is not known before the group is there; it brings the pod back.
            return
        made: dict[str, str] = {}
        for entry in pod.devices:
            if not entry.template or entry.made == "":
                continue
            shared = _entry_of(group, entry)
            if group is None or shared is None:
                made[entry.name] = self._ensure(pod, entry)
            elif (found := self._known(group, shared)) is not None:
                made[entry.name] = found.name
        if not self._write(pod, made) and pod.node:
            self._reserve_all(pod, group)

    def _is_for(self, owner: Owner, claim: KnownResourceClaim) -> bool:
        if super()._is_for(owner, claim):
            return True
        is_member = isinstance(owner, ClaimingPod) and owner.group and claim.group == owner.group
        return bool(is_member) and self._groups is not None

    def _reserve_all(self, pod: ClaimingPod, group: KnownPodGroup | None) -> None:
        for_pod = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        for entry in pod.devices:
            is_shared = group is not None and _entry_of(group, entry) is not None
            if name := entry.claim or entry.made:
                self._reserve(pod, name, _as_consumer(group) if group is not None and is_shared else for_pod)
        if pod.extended_claim:
            self._reserve(pod, pod.extended_claim, for_pod)

    def _reserve(self, pod: ClaimingPod, name: str, consumer: Object) -> None:
        claim = self._claims.get((pod.namespace, name))
        if claim is None or not claim.is_allocated or len(claim.consumers) >= _MOST_CONSUMERS:
            return
        if any(one.serves(pod.uid, pod.group) for one in claim.consumers):
            return
        obj = self._api.get(self._claims.resource, *claim.key)
        obj["status"]["reservedFor"] = [*reading.entries(obj, "status", "reservedFor"), consumer]
        self._update(self._claims.resource, obj, "status")

    def _who_names(self, claim: ObjectKey) -> list[ClaimingPod]:
        return self._pods.by_device_claim.find(claim)

    def _on_pod(self, _: ClaimingPod | None, after: ClaimingPod | None) -> None:
        if after is not None and after.devices:
            self._queue.add(after.key)

    def _on_group(self, _: KnownPodGroup | None, after: KnownPodGroup | None) -> None:
        """A group that came, or whose claim was made, may be what its pods wait for."""
        if after is not None and after.devices and self._groups is not None:
            self._enqueue_all(self._groups.by_group.collection(after.key))


class PodGroupResourceClaimController(TemplateController):
    """Makes the claims of groups of pods; the scheduler reserves them."""

    entry_kind = "PodGroupResourceClaim"

    def __init__(self, context: ControllerContext, informers: GroupInformers) -> None:
        self._groups = informers.groups
        self._by_claim = Index[KnownPodGroup](lambda group: group.device_claims, informers.groups)
        super().__init__(context, informers.groups.resource)
        self._watch(informers.groups, self._on_group)

    def reconcile(self, key: ObjectKey) -> None:
        """Make the claims that a group lacks, and write them into its status."""
        group = self._groups.get(key)
        if group is None or group.is_terminating:
            return
        wanted = [entry for entry in group.devices if entry.template and entry.made != ""]
        self._write(group, {entry.name: self._ensure(group, entry) for entry in wanted})

    def _who_names(self, claim: ObjectKey) -> list[KnownPodGroup]:
        return self._by_claim.find(claim)

    def _on_group(self, _: KnownPodGroup | None, after: KnownPodGroup | None) -> None:
        if after is not None and after.devices:
            self._queue.add(after.key)


def _entry_of(group: KnownPodGroup | None, entry: ClaimEntry) -> ClaimEntry | None:
    """Find the entry of a group that an entry of a pod stands for."""
    return next((own for own in group.devices if own.is_same(entry)), None) if group is not None else None


def _as_consumer(group: KnownPodGroup) -> Object:
    return {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": group.name, "uid": group.uid}


def claim_from(template: Object, entry: str, owner: Object, reference: Object) -> Object:
    """Make the claim of one entry of a pod, or of a group of pods."""
    meta = reading.mapping(template, "spec", "metadata")
    labels = reading.mapping(meta, "labels")
    return {
        "metadata": {
            "generateName": prefix(owner["metadata"]["name"], entry),
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [reference],
            "annotations": {**reading.mapping(meta, "annotations"), POD_CLAIM_NAME: entry},
            **({"labels": labels} if labels else {}),
        },
        "spec": template["spec"]["spec"],
    }


def prefix(owner: str, entry: str) -> str:
    """What the name of a claim begins with: owner and entry, both shortened alike where they are too long together."""
    whole = f"{owner}-{entry}-"
    if len(whole) <= _LONGEST_PREFIX:
        return whole
    ends = (len(name) * _LONGEST_PREFIX // len(whole) for name in (owner, entry))
    return "-".join(name[:end] for name, end in zip((owner, entry), ends, strict=True))
