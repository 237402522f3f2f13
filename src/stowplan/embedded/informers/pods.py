"""What controllers and the kubelet need to know of each pod, in a few hundred bytes, by owner, node and labels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from datetime import datetime
from typing import TypeVar

import msgspec

from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects import reading
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model.affinity import Toleration
from stowplan.model.meta import Part
from stowplan.model.selectors import EQUALS, Selector
from stowplan.model.shared_parts import MOST_LABELS

DURATION = "stowplan.dev/duration"
EXIT_CODE = "stowplan.dev/exit-code"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_KEPT_ANNOTATIONS = (DURATION, EXIT_CODE, DELETION_COST, COMPLETION_INDEX)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

FINISHED_PHASES = ("Succeeded", "Failed")

#: Values that are kept once, however many pods have them; then it begins anew.
_MOST_INTERNED = 20_000

T = TypeVar("T", bound=Hashable)


class ControllerReference(Part, frozen=True, kw_only=True):
    """The owner reference of a pod to its controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class KnownPod(Extract, frozen=True, gc=False):
    """The extract of one pod. Times are seconds since the epoch, 0 where there is none."""

    uid: str
    labels: dict[str, str]
    annotations: dict[str, str]
    owner: ControllerReference | None
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


class PodInformer(SharedInformer[KnownPod]):
    """All pods of the cluster as extracts, with the indexes that controllers ask."""

    def __init__(self, api: Api) -> None:
        self._interned = _Interned()
        super().__init__(api, find_resource(api, "v1", "Pod"), self._read)
        self.by_namespace = Index[KnownPod](lambda pod: (pod.namespace,), self)
        self.by_node = Index[KnownPod](lambda pod: (pod.node,) if pod.node else (), self)
        self.by_owner = Index[KnownPod](lambda pod: (pod.owner.uid,) if pod.owner is not None else (), self)
        self._orphans = Index[KnownPod](_orphan_labels, self)

    def in_namespace(self, namespace: str, selector: Selector) -> list[KnownPod]:
        return matching(selector, self.by_namespace.collection(namespace))

    def orphans(self, namespace: str, selector: Selector) -> list[KnownPod]:
        """List the pods without a controller that a selector picks; those without labels belong to nobody."""
        label = asked_label(selector)
        if label is not None:
            return matching(selector, self._orphans.collection((namespace, *label)))
        return [pod for pod in self.in_namespace(namespace, selector) if pod.owner is None and pod.labels]

    def _read(self, stored: Stored) -> KnownPod:
        pod = _DECODER.decode(stored.body)
        meta, status = pod.metadata, pod.status
        owner = next((reference for reference in meta.owner_references or () if reference.controller), None)
        ready = next((condition for condition in status.conditions or () if condition.type == "Ready"), None)
        kept = {key: value for key, value in (meta.annotations or {}).items() if key in _KEPT_ANNOTATIONS}
        return KnownPod(
            *stored.key,
            uid=stored.uid,
            labels=self._interned.mapping(meta.labels or {}),
            annotations=self._interned.mapping(kept),
            owner=None if owner is None else self._interned.value(owner),
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


def matching(selector: Selector, pods: Collection[KnownPod]) -> list[KnownPod]:
    """The pods that a selector picks. Pods of one template share their labels, so that few have to be looked at."""
    known: dict[int, bool] = {}
    for pod in pods:
        if id(pod.labels) not in known:
            known[id(pod.labels)] = selector.matches(pod.labels)
    return [pod for pod in pods if known[id(pod.labels)]]


def asked_label(selector: Selector) -> tuple[str, str] | None:
    """One of the labels that a selector asks for with their values, if it does so."""
    asked = (each for each in selector.requirements if each.operator == EQUALS)
    return next(((each.key, each.values[0]) for each in asked), None)


def _orphan_labels(pod: KnownPod) -> Iterable[Hashable]:
    """What a pod without a controller is found by: its labels, each in its namespace."""
    return ((pod.namespace, *label) for label in pod.labels.items()) if pod.owner is None else ()


def _target(affinity: msgspec.Raw) -> str:
    """Read the one node that the required node affinity names, as daemon pods have it."""
    if b'"matchFields"' not in bytes(affinity):
        return ""
    required = reading.mapping(msgspec.json.decode(affinity), "nodeAffinity", _REQUIRED)
    for term in reading.entries(required, "nodeSelectorTerms"):
        for field in reading.entries(term, "matchFields"):
            values = reading.texts(field, "values")
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and len(values) == 1:
                return values[0]
    return ""


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()


class _Interned:
    """One copy of equal values: pods of one template share their labels and tolerations."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Hashable] = {}
        self._mappings: dict[Hashable, dict[str, str]] = {}

    def value(self, value: T) -> T:
        """Return the first value equal to this one."""
        if len(self._values) >= _MOST_INTERNED:
            self._values.clear()
        return self._values.setdefault(value, value)  # type: ignore[return-value]

    def mapping(self, mapping: dict[str, str]) -> dict[str, str]:
        """Return the first mapping equal to this one, unless it is a large one; nobody changes it."""
        if len(mapping) > MOST_LABELS:
            return mapping
        if len(self._mappings) >= _MOST_INTERNED:
            self._mappings.clear()
        return self._mappings.setdefault(frozenset(mapping.items()), mapping)


class _PodMeta(Part, frozen=True, kw_only=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[ControllerReference, ...] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] | None = None


class _PodSpec(Part, frozen=True, kw_only=True):
    node_name: str | None = None
    affinity: msgspec.Raw = msgspec.Raw()
    tolerations: tuple[Toleration, ...] | None = None


class _PodCondition(Part, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _PodContainer(Part, frozen=True, kw_only=True):
    restart_count: int = 0


class _PodStatus(Part, frozen=True, kw_only=True):
    phase: str | None = None
    start_time: datetime | None = None
    conditions: tuple[_PodCondition, ...] | None = None
    container_statuses: tuple[_PodContainer, ...] | None = None


class _Pod(Part, frozen=True, kw_only=True):
    metadata: _PodMeta = _PodMeta()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


_DECODER = msgspec.json.Decoder(_Pod)
