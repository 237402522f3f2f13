"""ResourceClaims that pods ask for by a template: each pod gets its own, and its status says which.

Claims that have their devices are reserved for pods that came to their node without the scheduler.
`resource_claims` looks after what becomes of claims later.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.claiming_pods import ClaimingPod, ClaimingPods, DeviceEntry
from stowplan.embedded.following.device_claims import POD_CLAIM_NAME, DeviceClaims, KnownDeviceClaim
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.owners import controller_reference
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.stored import Stored

#: What is left of a name beside a dash and five random characters.
_LONGEST_PREFIX = 57
_MOST_CONSUMERS = 256


class PodResourceClaims:
    """Makes and reserves the claims of pods."""

    def __init__(self, setting: Setting, claims: DeviceClaims, pods: ClaimingPods) -> None:
        self._api = setting.api
        self._claims, self._following = claims, pods
        self._pods = resources.pods(setting.api)
        self._resource = resources.find(setting.api, "resource.k8s.io/v1", "ResourceClaim")
        self._templates = resources.find(setting.api, "resource.k8s.io/v1", "ResourceClaimTemplate")
        self._recorder = setting.recorder("resource_claim")
        self._queue = WorkQueue()
        self._failures = setting.failures("resource_claim", self._pods)
        #: By template, the pods that wait for somebody to write it.
        self._waiting: dict[Key, dict[Key, None]] = {}
        self._known_templates: Follower[Key] = Follower(setting.api, self._templates, _read_key)
        self._known_templates.tell(self._on_template)
        pods.follower.tell(self._on_pod)
        claims.follower.tell(self._on_claim)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = (self._known_templates, self._following.follower, self._claims.follower)
        return [self._known_templates.run(), Worker(self._queue, self.reconcile, followers, self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Make the claims that a pod lacks, write them into its status, and reserve what it runs with."""
        pod = self._following.get(key)
        if pod is None or pod.is_terminating or not pod.may_run or not pod.devices:
            return None
        made = {entry.name: self._ensure(pod, entry) for entry in pod.devices if entry.template and entry.made != ""}
        if any(entry.name in made and made[entry.name] != entry.made for entry in pod.devices):
            self._report(pod, made)
        elif pod.node:
            self._reserve_all(pod)
        return None

    def _ensure(self, pod: ClaimingPod, entry: DeviceEntry) -> str:
        """Find or make the claim of an entry; return its name."""
        if entry.made and self._is_for(pod, self._claims.get((pod.namespace, entry.made))):
            return entry.made
        # One that was made before the status could be written.
        for claim in self._claims.made_for(pod.uid):
            if claim.entry == entry.name:
                return claim.name
        try:
            return self._make(pod, entry)
        except StatusError as error:
            message = f"PodResourceClaim {entry.name}: {error.message}"
            self._recorder.warning(
                self._pods, self._api.get(self._pods, *pod.key), "FailedResourceClaimCreation", message
            )
            raise

    def _make(self, pod: ClaimingPod, entry: DeviceEntry) -> str:
        template_key = (pod.namespace, entry.template)
        if template_key not in self._known_templates.known:
            self._waiting.setdefault(template_key, {})[pod.key] = None
        try:
            template = self._api.get(self._templates, *template_key)
        except StatusError as error:
            raise StatusError(
                error.code, error.reason, f'resource claim template "{entry.template}": {error.message}'
            ) from None
        pod_obj = self._api.get(self._pods, *pod.key)
        claim = claim_from(template, entry.name, pod_obj, controller_reference(self._pods, pod_obj))
        created = self._api.create(self._resource, pod.namespace, claim)
        self._claims.follower.catch_up()
        name: str = created["metadata"]["name"]
        return name

    def _is_for(self, pod: ClaimingPod, claim: KnownDeviceClaim | None) -> bool:
        return claim is not None and claim.pod_uid == pod.uid

    def _report(self, pod: ClaimingPod, made: dict[str, str]) -> None:
        obj = self._api.get(self._pods, *pod.key)
        status = obj.setdefault("status", {})
        before = reading.entries(status, "resourceClaimStatuses")
        kept = [each for each in before if each.get("name") not in made]
        status["resourceClaimStatuses"] = [
            *kept,
            *({"name": name, "resourceClaimName": claim} for name, claim in made.items()),
        ]
        self._api.update(self._pods, *pod.key, obj, subresource="status")

    def _reserve_all(self, pod: ClaimingPod) -> None:
        for key in pod.device_claims:
            claim = self._claims.get(key)
            if claim is None or not claim.is_allocated or len(claim.consumers) >= _MOST_CONSUMERS:
                continue
            if any(consumer.uid == pod.uid for consumer in claim.consumers):
                continue
            obj = self._api.get(self._resource, *key)
            consumers = reading.entries(obj, "status", "reservedFor")
            obj["status"]["reservedFor"] = [*consumers, {"resource": "pods", "name": pod.name, "uid": pod.uid}]
            self._api.update(self._resource, *key, obj, subresource="status")

    def _on_pod(self, _: ClaimingPod | None, after: ClaimingPod | None) -> None:
        if after is not None and after.devices:
            self._queue.add(after.key)

    def _on_claim(self, before: KnownDeviceClaim | None, after: KnownDeviceClaim | None) -> None:
        """Who named a claim may have to have it made again, or reserved."""
        known = after or before
        for pod in self._following.with_devices_of(known.key) if known is not None else ():
            self._queue.add(pod.key)

    def _on_template(self, before: Key | None, after: Key | None) -> None:
        if after is not None and before is None:
            for key in self._waiting.pop(after, ()):
                self._queue.add(key)


def claim_from(template: Object, entry: str, pod: Object, owner: Object) -> Object:
    """Make the claim of one entry of a pod."""
    meta = reading.mapping(template, "spec", "metadata")
    labels = reading.mapping(meta, "labels")
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
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


def _read_key(stored: Stored) -> Key:
    return stored.key
