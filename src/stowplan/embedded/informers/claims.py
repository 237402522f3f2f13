"""What controllers need to know of ResourceClaims, and of pods that name claims, for volumes or for devices.

Of pods that name none nothing is kept. Claims for volumes are in `volumes`.
"""

from __future__ import annotations

import msgspec

from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.informers.metadata import ObjectKey, controller_of, find_resource
from stowplan.embedded.informers.pods import FINISHED_PHASES, KnownPod
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
FINALIZER = "resource.kubernetes.io/delete-protection"
_GROUPS = "scheduling.k8s.io/"
#: One of these is in the text of every pod that is of interest.
_MARKS = (b'"persistentVolumeClaim"', b'"ephemeral"', b'"resourceClaims"', b'"extendedResourceClaimStatus"')


class ClaimEntry(msgspec.Struct, frozen=True, gc=False):
    """One entry of `spec.resourceClaims`: a claim by name, or the template that one is made from."""

    name: str
    claim: str
    template: str
    #: What the status says: the name of the claim that was made, "" that none is needed, None that nothing is known.
    made: str | None

    def is_same(self, other: ClaimEntry) -> bool:
        """Whether it means what an entry of the other's means: the group's, if the other is of a group."""
        return (self.name, self.claim, self.template) == (other.name, other.claim, other.template)


class ClaimingPod(Extract, frozen=True, gc=False):
    """The extract of one pod that names claims."""

    uid: str
    node: str
    phase: str
    is_terminating: bool
    #: Its containers have ended, and only its finalizers keep it.
    is_shut_down: bool
    #: The claims for volumes that others made.
    claims: tuple[str, ...]
    #: The claims for volumes that live as long as the pod.
    ephemeral_claims: tuple[str, ...]
    devices: tuple[ClaimEntry, ...]
    #: The claim that the scheduler made for extended resources.
    extended_claim: str
    #: The group of pods that it is scheduled with, "" if none.
    group: str

    @property
    def volume_claims(self) -> tuple[ObjectKey, ...]:
        return tuple((self.namespace, name) for name in (*self.claims, *self.ephemeral_claims))

    @property
    def device_claims(self) -> tuple[ObjectKey, ...]:
        """The claims for devices that are known to be its own or shared."""
        names = [entry.claim or entry.made for entry in self.devices]
        return tuple((self.namespace, name) for name in (*names, self.extended_claim) if name)

    def uses(self, claim: str) -> bool:
        """Whether the volume of a claim is in use as long as this pod is there."""
        return claim in self.claims or (claim in self.ephemeral_claims and not self.is_shut_down)


def may_run(pod: KnownPod | ClaimingPod) -> bool:
    """Whether a pod has, or may come to have, use for devices: it has not ended, nor been given up without a node."""
    return pod.phase not in FINISHED_PHASES and not (pod.is_terminating and not pod.node)


class ClaimingPodInformer(SharedInformer[ClaimingPod]):
    """All such pods, found by what they name."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, find_resource(api, "v1", "Pod"), _read_pod)
        self.by_volume_claim = Index[ClaimingPod](lambda pod: pod.volume_claims, self)
        self.by_device_claim = Index[ClaimingPod](lambda pod: pod.device_claims, self)


class ConsumerReference(msgspec.Struct, frozen=True, gc=False):
    """One entry of `status.reservedFor`."""

    api_group: str
    resource: str
    name: str
    uid: str

    @property
    def is_pod(self) -> bool:
        return not self.api_group and self.resource == "pods"

    @property
    def is_group(self) -> bool:
        return (self.api_group, self.resource) == ("scheduling.k8s.io", "podgroups")

    def serves(self, pod_uid: str, group: str) -> bool:
        """Say whether what is reserved is for a pod: for itself, or for the group that it is scheduled with."""
        return self.uid == pod_uid or (self.is_group and self.name == group)


class KnownResourceClaim(Extract, frozen=True, gc=False):
    """The extract of one ResourceClaim."""

    #: The pod it was made for; "" for one that was made for a group of pods, or stands for itself.
    pod: str
    #: The group of pods it was made for, "" if none.
    group: str
    #: The uid of the pod or the group.
    owner_uid: str
    #: The entry of that pod or group it was made for.
    entry: str
    consumers: tuple[ConsumerReference, ...]
    is_allocated: bool
    is_held: bool
    is_terminating: bool


class ResourceClaimInformer(SharedInformer[KnownResourceClaim]):
    """All ResourceClaims as extracts, found by the pods or groups they were made for."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, find_resource(api, "resource.k8s.io/v1", "ResourceClaim"), _read_claim)
        self.by_owner = Index[KnownResourceClaim](lambda claim: (claim.owner_uid,) if claim.owner_uid else (), self)


def consumers_of(claim: Object) -> tuple[ConsumerReference, ...]:
    """Return whom a claim is reserved for."""
    return tuple(
        ConsumerReference(*(reading.text(each, key) for key in ("apiGroup", "resource", "name", "uid")))
        for each in reading.entries(claim, "status", "reservedFor")
    )


def entries_of(obj: Object) -> tuple[ClaimEntry, ...]:
    """Return the entries for devices of a pod, or of a group of pods."""
    statuses = reading.entries(obj, "status", "resourceClaimStatuses")
    made = {each.get("name"): each.get("resourceClaimName") or "" for each in statuses}
    return tuple(
        ClaimEntry(
            name=(name := reading.text(each, "name")),
            claim=reading.text(each, "resourceClaimName"),
            template=reading.text(each, "resourceClaimTemplateName"),
            made=made.get(name),
        )
        for each in reading.entries(obj, "spec", "resourceClaims")
    )


def group_of(pod: Object) -> str:
    """Return the group that a pod is scheduled with, "" if none."""
    return reading.text(pod, "spec", "schedulingGroup", "podGroupName")


def _read_pod(stored: Stored) -> ClaimingPod | None:
    """Read a pod; most are seen at a glance to name no claim."""
    if not any(mark in stored.body for mark in _MARKS):
        return None
    obj = stored.object
    volumes = reading.entries(obj, "spec", "volumes")
    claims = [reading.text(each, "persistentVolumeClaim", "claimName") for each in volumes]
    ephemeral = [f"{stored.name}-{each['name']}" for each in volumes if "ephemeral" in each]
    devices = entries_of(obj)
    extended = reading.text(obj, "status", "extendedResourceClaimStatus", "resourceClaimName")
    if not (any(claims) or ephemeral or devices or extended):
        return None
    is_terminating = reading.is_deleted(obj)
    return ClaimingPod(
        *stored.key,
        uid=stored.uid,
        node=reading.text(obj, "spec", "nodeName"),
        phase=reading.text(obj, "status", "phase") or "Pending",
        is_terminating=is_terminating,
        is_shut_down=is_terminating and reading.count(obj, "metadata", "deletionGracePeriodSeconds") == 0,
        claims=tuple(filter(None, claims)),
        ephemeral_claims=tuple(ephemeral),
        devices=devices,
        extended_claim=extended,
        group=group_of(obj),
    )


def _read_claim(stored: Stored) -> KnownResourceClaim:
    obj = stored.object
    owner = controller_of(obj) or {}
    is_of_pod = owner.get("kind") == "Pod" and owner.get("apiVersion") == "v1"
    is_of_group = owner.get("kind") == "PodGroup" and reading.text(owner, "apiVersion").startswith(_GROUPS)
    return KnownResourceClaim(
        *stored.key,
        pod=owner["name"] if is_of_pod else "",
        group=owner["name"] if is_of_group else "",
        owner_uid=owner["uid"] if is_of_pod or is_of_group else "",
        entry=reading.text(obj, "metadata", "annotations", POD_CLAIM_NAME),
        consumers=consumers_of(obj),
        is_allocated=bool(reading.mapping(obj, "status", "allocation")),
        is_held=FINALIZER in reading.texts(obj, "metadata", "finalizers"),
        is_terminating=reading.is_deleted(obj),
    )
