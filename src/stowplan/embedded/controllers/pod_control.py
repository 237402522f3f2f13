"""An object that controls pods, the pods that its template makes, and which of too many go first.

`workload` claims, makes and deletes them, and says when such an object is looked at.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stowplan.embedded.informers.metadata import controller_reference, is_terminating
from stowplan.embedded.informers.pods import DELETION_COST, KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.metadata import spell
from stowplan.model.selectors import Selector

#: What the API server leaves of a name to put five random characters behind.
_LONGEST_PREFIX = 58
_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}
_HASH_LENGTH = 10


@dataclass(slots=True)
class WorkloadObject:
    """An object that controls pods by a selector, as it was read to be changed."""

    resource: Resource
    obj: Object
    selector: Selector
    uid: str = field(init=False)
    namespace: str = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        meta = self.obj["metadata"]
        self.uid, self.namespace, self.name = meta["uid"], meta["namespace"], meta["name"]

    @property
    def spec(self) -> Object:
        spec: Object = self.obj["spec"]
        return spec

    @property
    def status(self) -> Object:
        """What was reported last; not to be changed where nothing was."""
        return self.obj.get("status") or {}

    @property
    def generation(self) -> int:
        generation: int = self.obj["metadata"].get("generation", 1)
        return generation

    @property
    def is_terminating(self) -> bool:
        return is_terminating(self.obj)

    @property
    def reference(self) -> Object:
        return controller_reference(self.resource, self.obj)

    def save_status(self, api: Api) -> None:
        """Write the status; what comes after works on what the API made of the object."""
        saved = api.update(self.resource, self.namespace, self.name, self.obj, subresource="status")
        self.obj.clear()
        self.obj.update(saved)


def pod_from_template(
    template: Object, workload: WorkloadObject, labels: dict[str, str] | None = None, name: str = ""
) -> Object:
    """Make a pod from a template, whose parts it shares, with more labels; unnamed it is called after its owner."""
    meta = template.get("metadata") or {}
    named = {"name": name} if name else {"generateName": name_prefix(workload.name)}
    return {
        "metadata": {
            **named,
            "namespace": workload.namespace,
            "labels": {**(meta.get("labels") or {}), **(labels or {})},
            "annotations": dict(meta.get("annotations") or {}),
            "finalizers": list(meta.get("finalizers") or []),
            "ownerReferences": [workload.reference],
        },
        "spec": dict(template.get("spec") or {}),
    }


def name_prefix(name: str) -> str:
    """What the made-up names of pods begin with; the rest of a long name is cut."""
    return f"{name[:_LONGEST_PREFIX]}-"


def compute_hash(template: Any, collision_count: int = 0) -> str:
    """Name a pod template: equal ones have equal names; the collision count tells apart others that would too."""
    canonical = msgspec.json.encode([template, collision_count], order="sorted")
    return spell(int.from_bytes(hashlib.sha256(canonical).digest()[:8]), _HASH_LENGTH)


def create_hashed(api: Api, resource: Resource, workload: WorkloadObject, make: Callable[[int], Object]) -> Object:
    """Create what is named after a template hash; `make` is given the count of names that were taken by others."""
    collisions: int = workload.status.get("collisionCount", 0)
    while True:
        try:
            return api.create(resource, workload.namespace, make(collisions))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
        collisions += 1
        workload.obj.setdefault("status", {})["collisionCount"] = collisions


def pods_to_delete(pods: Iterable[KnownPod], count: int, related: Iterable[KnownPod]) -> list[KnownPod]:
    """Choose `count` pods to delete; `related` are the pods of the sets that share this one's owner.

    First go pods without a node, then pending before running, unready before ready, cheap before dear, from nodes
    with many related pods, and younger before older ones.
    """
    crowds = Counter(pod.node for pod in related if pod.is_active and pod.node)
    return sorted(pods, key=lambda pod: _deletion_rank(pod, crowds[pod.node]))[:count]


def _deletion_rank(pod: KnownPod, crowd: int) -> tuple[bool, int, bool, int, int, float, int, float]:
    return (
        pod.node != "",
        _PHASE_ORDER.get(pod.phase, 0),
        pod.is_ready,
        _deletion_cost(pod),
        -crowd,
        -pod.ready_since,
        -pod.restarts,
        -pod.created,
    )


def _deletion_cost(pod: KnownPod) -> int:
    try:
        return int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0
