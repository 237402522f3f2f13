"""What controllers need to know of pods that name claims, for volumes or for devices; of all others nothing is kept."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.pods import FINISHED_PHASES
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored

#: One of these is in the text of every pod that is of interest.
_MARKS = (b'"persistentVolumeClaim"', b'"ephemeral"', b'"resourceClaims"', b'"extendedResourceClaimStatus"')


class DeviceEntry(msgspec.Struct, frozen=True, gc=False):
    """One entry of `spec.resourceClaims`: a claim by name, or the template that one is made from."""

    name: str
    claim: str
    template: str
    #: What the status says: the name of the claim that was made, "" that none is needed, None that nothing is known.
    made: str | None


class ClaimingPod(msgspec.Struct, frozen=True, gc=False):
    """The extract of one pod that names claims."""

    namespace: str
    name: str
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
    devices: tuple[DeviceEntry, ...]
    #: The claim that the scheduler made for extended resources.
    extended_claim: str

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    @property
    def volume_claims(self) -> tuple[Key, ...]:
        return tuple((self.namespace, name) for name in (*self.claims, *self.ephemeral_claims))

    @property
    def device_claims(self) -> tuple[Key, ...]:
        """The claims for devices that are known to be its own or shared."""
        names = [entry.claim or entry.made for entry in self.devices]
        return tuple((self.namespace, name) for name in (*names, self.extended_claim) if name)

    @property
    def may_run(self) -> bool:
        """Whether it has, or may come to have, use for devices."""
        is_given_up = self.is_terminating and not self.node
        return self.phase not in FINISHED_PHASES and not is_given_up

    def uses(self, claim: str) -> bool:
        """Whether the volume of a claim is in use as long as this pod is there."""
        return claim in self.claims or (claim in self.ephemeral_claims and not self.is_shut_down)


class ClaimingPods:
    """All such pods, found by what they name."""

    def __init__(self, api: Api) -> None:
        self.follower = Follower(api, resources.pods(api), _read)
        self._by_volume_claim: dict[Key, dict[Key, ClaimingPod]] = {}
        self._by_device_claim: dict[Key, dict[Key, ClaimingPod]] = {}
        self.follower.tell(self._index)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self.follower.run()]

    def get(self, key: Key) -> ClaimingPod | None:
        return self.follower.known.get(key)

    def using(self, claim: Key) -> list[ClaimingPod]:
        """List the pods that name a claim for a volume."""
        return list(self._by_volume_claim.get(claim, {}).values())

    def with_devices_of(self, claim: Key) -> list[ClaimingPod]:
        """List the pods that name a claim for devices."""
        return list(self._by_device_claim.get(claim, {}).values())

    def _index(self, before: ClaimingPod | None, after: ClaimingPod | None) -> None:
        if before is not None:
            for index, key in self._places(before):
                index[key].pop(before.key, None)
                if not index[key]:
                    del index[key]
        if after is not None:
            for index, key in self._places(after):
                index.setdefault(key, {})[after.key] = after

    def _places(self, pod: ClaimingPod) -> list[tuple[dict[Key, dict[Key, ClaimingPod]], Key]]:
        by_volume = [(self._by_volume_claim, key) for key in dict.fromkeys(pod.volume_claims)]
        return [*by_volume, *((self._by_device_claim, key) for key in dict.fromkeys(pod.device_claims))]


def _read(stored: Stored) -> ClaimingPod | None:
    """Read a pod; most are seen at a glance to name no claim."""
    if not any(mark in stored.body for mark in _MARKS):
        return None
    obj = stored.object
    volumes = reading.entries(obj, "spec", "volumes")
    claims = [reading.text(each, "persistentVolumeClaim", "claimName") for each in volumes]
    ephemeral = [f"{stored.name}-{each['name']}" for each in volumes if "ephemeral" in each]
    made = {each.get("name"): each.get("resourceClaimName") or "" for each in _statuses(obj)}
    devices = tuple(_entry(each, made) for each in reading.entries(obj, "spec", "resourceClaims"))
    extended = reading.text(obj, "status", "extendedResourceClaimStatus", "resourceClaimName")
    if not (any(claims) or ephemeral or devices or extended):
        return None
    is_terminating = reading.is_deleted(obj)
    return ClaimingPod(
        namespace=stored.namespace,
        name=stored.name,
        uid=stored.uid,
        node=reading.text(obj, "spec", "nodeName"),
        phase=reading.text(obj, "status", "phase") or "Pending",
        is_terminating=is_terminating,
        is_shut_down=is_terminating and reading.count(obj, "metadata", "deletionGracePeriodSeconds") == 0,
        claims=tuple(filter(None, claims)),
        ephemeral_claims=tuple(ephemeral),
        devices=devices,
        extended_claim=extended,
    )


def _statuses(pod: Object) -> list[Object]:
    return reading.entries(pod, "status", "resourceClaimStatuses")


def _entry(entry: Object, made: dict[Any, str]) -> DeviceEntry:
    name = reading.text(entry, "name")
    claim, template = reading.text(entry, "resourceClaimName"), reading.text(entry, "resourceClaimTemplateName")
    return DeviceEntry(name, claim, template, made.get(name))
