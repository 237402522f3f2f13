"""Makes pods from a template and deletes them, with the events that tell of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stowplan.embedded.controllers.workload import PodOwner
from stowplan.embedded.informers import resources
from stowplan.embedded.informers.event_recorder import EventRecorder
from stowplan.embedded.informers.pods import DELETION_COST, KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

#: What the API server leaves of a name to put five random characters behind.
_LONGEST_PREFIX = 58


@dataclass(slots=True)
class PodControl:
    """Makes and ends the pods of one controller."""

    api: Api
    recorder: EventRecorder

    def create(self, claimant: PodOwner, pod: Object) -> None:
        """Create a pod for its owner; if the API refuses, say so on the owner and raise the refusal."""
        resource = resources.pods(self.api)
        try:
            created = self.api.create(resource, claimant.namespace, pod)
        except StatusError as error:
            # A namespace on its way out refuses everything, and everybody in it goes too.
            if not is_namespace_going(error):
                message = f"Error creating: {error.message}"
                self.recorder.warning(claimant.resource, claimant.obj, "FailedCreate", message)
            raise
        message = f"Created pod: {created['metadata']['name']}"
        self.recorder.normal(claimant.resource, claimant.obj, "SuccessfulCreate", message)

    def delete(self, claimant: PodOwner, pod: KnownPod) -> None:
        """Delete a pod of its owner; one that is gone already is fine."""
        try:
            self.api.delete(resources.pods(self.api), *pod.key, {"preconditions": {"uid": pod.uid}})
        except StatusError as error:
            if error.code in (404, 409):
                return
            message = f"Error deleting: {error.message}"
            self.recorder.warning(claimant.resource, claimant.obj, "FailedDelete", message)
            raise
        self.recorder.normal(claimant.resource, claimant.obj, "SuccessfulDelete", f"Deleted pod: {pod.name}")


@dataclass(slots=True)
class Naming:
    """How a pod made from a template is called, and what is added to the template's labels and annotations."""

    name: str = ""
    prefix: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


def pod_from_template(template: Object, claimant: PodOwner, naming: Naming | None = None) -> Object:
    """Make a pod from a template, whose parts it shares; without a name of its own it is called after its owner."""
    naming = naming or Naming()
    meta = template.get("metadata") or {}
    prefix = naming.prefix or claimant.obj["metadata"]["name"]
    named = {"name": naming.name} if naming.name else {"generateName": f"{prefix[:_LONGEST_PREFIX]}-"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **named,
            "namespace": claimant.namespace,
            "labels": {**(meta.get("labels") or {}), **naming.labels},
            "annotations": {**(meta.get("annotations") or {}), **naming.annotations},
            "finalizers": list(meta.get("finalizers") or []),
            "ownerReferences": [claimant.reference],
        },
        "spec": dict(template.get("spec") or {}),
    }


def is_namespace_going(error: StatusError) -> bool:
    """Whether the API refused because the namespace is being deleted."""
    causes = (error.details or {}).get("causes", [])
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}

_Order = tuple[bool, int, bool, int, int, float, int, float]


def pods_to_delete(pods: Iterable[KnownPod], count: int, related: Iterable[KnownPod]) -> list[KnownPod]:
    """Choose `count` pods to delete; `related` are the pods of the sets that share this one's owner.

    First go pods without a node, then pending before running, unready before ready, cheap before dear, from nodes
    with many related pods, and younger before older ones.
    """
    crowds = Counter(pod.node for pod in related if pod.is_active and pod.node)
    return sorted(pods, key=lambda pod: _order(pod, crowds[pod.node]))[:count]


def _order(pod: KnownPod, crowd: int) -> _Order:
    return (
        pod.node != "",
        _PHASE_ORDER.get(pod.phase, 0),
        pod.is_ready,
        _cost(pod),
        -crowd,
        -pod.ready_since,
        -pod.restarts,
        -pod.created,
    )


def _cost(pod: KnownPod) -> int:
    try:
        return int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 10


def compute_hash(template: Any, collision_count: int = 0) -> str:
    """Name a template; the collision count tells apart templates that would be called the same."""
    canonical = msgspec.json.encode([template, collision_count], order="sorted")
    number = int.from_bytes(hashlib.sha256(canonical).digest()[:8])
    characters = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_CHARACTERS))
        characters.append(_CHARACTERS[digit])
    return "".join(characters)


def scaled(value: Any, total: int, *, rounds_up: bool) -> int:
    """Read an amount as a number of `total`; what cannot be read counts as none."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.endswith("%") or not value[:-1].isdigit():
        return 0
    exact = int(value[:-1]) * total
    return -(-exact // 100) if rounds_up else exact // 100
