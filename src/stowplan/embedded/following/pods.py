"""What controllers and the kubelet need to know of each pod, in a few hundred bytes, by owner, node and labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

import msgspec

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.interned import Interned
from stowplan.embedded.following.owners import Owner
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model.affinity import Toleration
from stowplan.model.meta import Part
from stowplan.model.selectors import EQUALS, Selector

DURATION = "stowplan.dev/duration"
EXIT_CODE = "stowplan.dev/exit-code"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_KEPT_ANNOTATIONS = (DURATION, EXIT_CODE, DELETION_COST, COMPLETION_INDEX)

FINISHED_PHASES = ("Succeeded", "Failed")


class KnownPod(msgspec.Struct, frozen=True, gc=False):
    """The extract of one pod. Times are seconds since the epoch, 0 where there is none."""

    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    annotations: dict[str, str]
    owner: Owner | None
    node: str
    #: The node it was made for, where its owner makes one for each node.
    target: str
    phase: str
    created: float
    started: float
    ready_since: float
    is_ready: bool
    is_terminating: bool
    grace_seconds: int
    restarts: int
    finalizers: tuple[str, ...]
    tolerations: tuple[Toleration, ...]

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        return self.phase in FINISHED_PHASES

    @property
    def is_active(self) -> bool:
        """Whether the pod counts as a replica: it neither finished nor is on its way out."""
        return not self.is_terminating and self.phase not in FINISHED_PHASES

    def available_in(self, min_ready_seconds: int, now: datetime) -> float | None:
        """After how many seconds the pod counts as available, None while it is not ready."""
        if not self.is_ready:
            return None
        return max(0.0, self.ready_since + min_ready_seconds - now.timestamp()) if min_ready_seconds else 0.0


class Pods:
    """All pods of the cluster as extracts, with the indexes that controllers ask."""

    def __init__(self, api: Api) -> None:
        self._interned = Interned()
        self.follower = Follower(api, resources.pods(api), self._read)
        self._by_owner: dict[str, dict[Key, KnownPod]] = {}
        self._by_node: dict[str, dict[Key, KnownPod]] = {}
        self._by_namespace: dict[str, dict[Key, KnownPod]] = {}
        self._orphans: dict[tuple[str, str, str], dict[Key, KnownPod]] = {}
        self.follower.tell(self._index)

    def get(self, key: Key) -> KnownPod | None:
        return self.follower.known.get(key)

    def owned_by(self, uid: str) -> list[KnownPod]:
        """List the pods whose controller has this uid."""
        return list(self._by_owner.get(uid, {}).values())

    def count_owned_by(self, uid: str) -> int:
        return len(self._by_owner.get(uid, ()))

    def on_node(self, name: str) -> list[KnownPod]:
        return list(self._by_node.get(name, {}).values())

    def nodes(self) -> Iterable[str]:
        """Name every node that some pod is bound to, whether it exists or not."""
        return self._by_node.keys()

    def in_namespace(self, namespace: str, selector: Selector) -> list[KnownPod]:
        return matching(selector, self._by_namespace.get(namespace, {}).values())

    def count_in_namespace(self, namespace: str) -> int:
        return len(self._by_namespace.get(namespace, ()))

    def orphans(self, namespace: str, selector: Selector) -> list[KnownPod]:
        """List the pods without a controller that a selector picks; those without labels belong to nobody."""
        for requirement in selector.requirements:
            if requirement.operator == EQUALS:
                found = self._orphans.get((namespace, requirement.key, requirement.values[0]), {})
                return matching(selector, found.values())
        return [pod for pod in self.in_namespace(namespace, selector) if pod.owner is None and pod.labels]

    def _index(self, before: KnownPod | None, after: KnownPod | None) -> None:
        for pod, is_added in ((before, False), (after, True)):
            if pod is not None:
                for index, at in self._places(pod):
                    _put(index, at, pod) if is_added else _take(index, at, pod)

    def _places(self, pod: KnownPod) -> Iterable[tuple[dict[Any, dict[Key, KnownPod]], Any]]:
        yield self._by_namespace, pod.namespace
        if pod.node:
            yield self._by_node, pod.node
        if pod.owner is not None:
            yield self._by_owner, pod.owner.uid
        else:
            for label, value in pod.labels.items():
                yield self._orphans, (pod.namespace, label, value)

    def _read(self, stored: Stored) -> KnownPod:
        pod = _DECODER.decode(stored.body)
        meta, status = pod.metadata, pod.status
        owner = next((reference for reference in meta.owner_references or () if reference.controller), None)
        ready = next((condition for condition in status.conditions or () if condition.type == "Ready"), None)
        kept = {key: value for key, value in (meta.annotations or {}).items() if key in _KEPT_ANNOTATIONS}
        return KnownPod(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            labels=self._interned.mapping(meta.labels or {}),
            annotations=self._interned.mapping(kept),
            owner=self._owner(owner),
            node=self._interned.value(pod.spec.node_name or ""),
            target=self._interned.value(pod.spec.node_name or _target(pod.spec.affinity)),
            phase=self._interned.value(status.phase or "Pending"),
            created=_seconds(meta.creation_timestamp),
            started=_seconds(status.start_time),
            ready_since=_seconds(ready.last_transition_time if ready else None),
            is_ready=ready is not None and ready.status == "True",
            is_terminating=meta.deletion_timestamp is not None,
            grace_seconds=meta.deletion_grace_period_seconds or 0,
            restarts=sum(container.restart_count for container in status.container_statuses or ()),
            finalizers=self._interned.value(meta.finalizers or ()),
            tolerations=self._interned.value(pod.spec.tolerations or ()),
        )

    def _owner(self, reference: _Reference | None) -> Owner | None:
        if reference is None:
            return None
        return self._interned.value(Owner(reference.api_version, reference.kind, reference.name, reference.uid))


def matching(selector: Selector, pods: Collection[KnownPod]) -> list[KnownPod]:
    """The pods that a selector picks. Pods of one template share their labels, so that few have to be looked at."""
    known: dict[int, bool] = {}
    for pod in pods:
        if id(pod.labels) not in known:
            known[id(pod.labels)] = selector.matches(pod.labels)
    return [pod for pod in pods if known[id(pod.labels)]]


def _put(index: dict[Any, dict[Key, KnownPod]], at: Any, pod: KnownPod) -> None:
    index.setdefault(at, {})[pod.key] = pod


def _take(index: dict[Any, dict[Key, KnownPod]], at: Any, pod: KnownPod) -> None:
    found = index[at]
    del found[pod.key]
    if not found:
        del index[at]


def _target(affinity: _Affinity | None) -> str:
    """Read the one node that the required node affinity names, as daemon pods have it."""
    required = affinity and affinity.node_affinity and affinity.node_affinity.required
    for term in (required and required.node_selector_terms) or ():
        for field in term.match_fields or ():
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()


class _Reference(Part, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Meta(Part, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[_Reference, ...] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] | None = None


class _Field(Part, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _Term(Part, frozen=True, kw_only=True):
    match_fields: tuple[_Field, ...] | None = None


class _Required(Part, frozen=True, kw_only=True):
    node_selector_terms: tuple[_Term, ...] | None = None


class _NodeAffinity(Part, frozen=True, kw_only=True):
    required: _Required | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class _Affinity(Part, frozen=True, kw_only=True):
    node_affinity: _NodeAffinity | None = None


class _Spec(Part, frozen=True, kw_only=True):
    node_name: str | None = None
    affinity: _Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None


class _Condition(Part, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _Container(Part, frozen=True, kw_only=True):
    restart_count: int = 0


class _Status(Part, frozen=True, kw_only=True):
    phase: str | None = None
    start_time: datetime | None = None
    conditions: tuple[_Condition, ...] | None = None
    container_statuses: tuple[_Container, ...] | None = None


class _Pod(Part, frozen=True, kw_only=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_DECODER = msgspec.json.Decoder(_Pod)
