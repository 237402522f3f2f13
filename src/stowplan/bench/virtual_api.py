"""The API server of a benchmark, in memory: it keeps objects, and tells the scheduler what happens to them.

What is left out is the wire: nothing is encoded, sent, received or decoded. What a server does to an object stays:
names and versions are given out, a binding makes a new version of the pod with the labels of the node's zone and
region, pods are deleted gracefully, and `objects.py` fills in the defaults that scheduling can see. There is no
kubelet, as upstream's benchmark has none: a bound pod that may take its time to end never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import count
from typing import Any, Final

import msgspec

from stowplan.bench.ports import PodObserver
from stowplan.engine.ports import Note, Writer
from stowplan.framework.handle import ConflictError, ObjectWriter
from stowplan.kube.writes import AlreadyBoundError, PodGoneError
from stowplan.model.decode import UnknownObject, patched
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.node import Node
from stowplan.model.pod import Pod, PodStatus
from stowplan.model.pod_group import PodGroup

replace = msgspec.structs.replace

#: Told of a change: what was there before, and what is there now.
Told = Callable[[Any | None, Any | None], None]

#: As the admission plugin PodTopologyLabels copies them from a node to the pods bound to it.
TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
DEFAULT_GRACE_SECONDS: Final = 30
_SUFFIX: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5


class AlreadyExistsError(ValueError):
    """An object of that name is there."""

    def __init__(self, kind: str, key: str) -> None:
        super().__init__(f'{kind} "{key}" already exists')


class VirtualApi:
    """All objects of one cluster. `draw` is for the names that the server makes up: below a number."""

    def __init__(self, now: Callable[[], datetime], draw: Callable[[int], int]) -> None:
        self.pods: dict[str, Pod] = {}
        self.objects: dict[type, dict[str, Any]] = {}
        #: Who hears of pods beside the scheduler: those who measure and wait, and controllers.
        self.observers: list[PodObserver] = []
        self._now, self.draw = now, draw
        self._versions, self._uids = count(1), count(1)
        #: The names that the server has made up, by kind and namespace.
        self._made_up: set[tuple[str, str]] = set()
        self._tell: Told = lambda old, new: None
        self._watched: frozenset[type] = frozenset()
        #: Whether a binding copies labels of the node to the pod (PodTopologyLabelsAdmission).
        self.copies_topology = True

    def watch(self, tell: Told, kinds: frozenset[type]) -> None:
        """Have somebody told of objects of some kinds from now on."""
        self._tell, self._watched = tell, kinds

    # Objects come, change and go

    def create(self, found: Any) -> Any:
        """Add an object; return it as the server has it. Raise AlreadyExistsError if there is one of that name."""
        return self.add(self.registered(found))

    def add(self, found: Any) -> Any:
        """Add an object that is registered already: what is measured need not wait for that."""
        if isinstance(found, UnknownObject):
            # Nobody here reads it, and none is asked for again.
            return found
        kept, key = self._place_of(found)
        if key in kept:
            raise AlreadyExistsError(found.kind, key)
        kept[key] = found
        self._changed(None, found)
        return found

    def update(self, found: Any) -> Any:
        """Replace an object by a new version, and return that."""
        kept, key = self._place_of(found)
        old = kept[key]
        new = replace(found, metadata=replace(found.metadata, resource_version=str(next(self._versions))))
        kept[key] = new
        self._changed(old, new)
        return new

    def delete(self, found: Any, grace_seconds: int | None = None) -> None:
        """Delete an object, or begin to: a bound pod gets its time, and whoever put a finalizer has to take it away."""
        kept, key = self._place_of(found)
        known = kept.get(key)
        if known is None:
            return
        if known.metadata.finalizers or (isinstance(known, Pod) and _grace_of(known, grace_seconds)):
            if known.metadata.deletion_timestamp is None:
                self.update(replace(known, metadata=replace(known.metadata, deletion_timestamp=self._now())))
            return
        del kept[key]
        self._changed(known, None)

    def get(self, kind: type, key: str) -> Any | None:
        """Return an object by `namespace/name`, or its name if it is in no namespace; None if it is not there."""
        kept: Mapping[str, Any] = self.pods if kind is Pod else self.objects.get(kind, {})
        return kept.get(key)

    def all(self, kind: type) -> list[Any]:
        return list(self.pods.values() if kind is Pod else self.objects.get(kind, {}).values())

    def known(self, found: Any) -> Any:
        """Return an object as it is now; raise LookupError if it is gone."""
        kept, key = self._place_of(found)
        if key not in kept:
            raise LookupError(f'{found.kind} "{key}" not found')
        return kept[key]

    def new_name(self, prefix: str) -> str:
        return prefix + made_up(self.draw)

    # What the scheduler writes

    def bind(self, binding: Binding) -> None:
        """Make a pod one that is bound; raise if it is gone or bound already."""
        meta, node_name = binding.metadata, binding.target.name
        key = f"{meta.namespace}/{meta.name}"
        pod = self.pods.get(key)
        if pod is None or (meta.uid and pod.metadata.uid != meta.uid) or pod.metadata.deletion_timestamp is not None:
            raise PodGoneError(key)
        if pod.spec.node_name:
            raise AlreadyBoundError(key, pod.spec.node_name)
        condition = Condition(type="PodScheduled", status="True", last_transition_time=self._now())
        new = Pod(
            metadata=replace(
                pod.metadata, resource_version=str(next(self._versions)), labels=self._labels(pod, node_name)
            ),
            spec=replace(pod.spec, node_name=node_name),
            status=replace(with_condition(pod.status, condition), nominated_node_name=""),
        )
        self.pods[key] = new
        self._changed(pod, new)

    def patch_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        """Change a condition and the nominated node of a pod; None leaves either as it is."""
        known = self._same(pod)
        status = known.status
        if condition is not None and not _says(status, condition):
            status = with_condition(status, replace(condition, last_transition_time=self._now()))
        if nominated_node_name is not None and not known.spec.node_name:
            status = replace(status, nominated_node_name=nominated_node_name)
        if status is not known.status and status != known.status:
            self.update(replace(known, status=status))

    def _labels(self, pod: Pod, node_name: str) -> dict[str, str]:
        labels = pod.metadata.labels
        node = self.objects.get(Node, {}).get(node_name)
        if node is None or not self.copies_topology:
            return labels
        copied = {key: node.labels[key] for key in TOPOLOGY_LABELS if key in node.labels}
        return {**labels, **copied} if copied else labels

    def _same(self, pod: Pod) -> Pod:
        known = self.pods.get(pod.key)
        if known is None or (pod.uid and known.uid != pod.uid):
            raise PodGoneError(pod.key)
        return known

    # Keeping and telling

    def registered(self, found: Any) -> Any:
        """Return an object with what the server adds to a new one: name, uid, version and time."""
        if isinstance(found, UnknownObject):
            return found
        meta = found.metadata
        number = next(self._uids)
        named = meta.name
        if not named:
            within = f"{found.kind}/{meta.namespace}"
            named = self.new_name(meta.generate_name)
            while (within, named) in self._made_up:
                named = self.new_name(meta.generate_name)
            self._made_up.add((within, named))
        meta = replace(
            meta,
            name=named,
            uid=f"00000000-0000-4000-8000-{number:012x}",
            resource_version=str(next(self._versions)),
            creation_timestamp=self._now(),
        )
        return replace(found, metadata=meta)

    def _place_of(self, found: Any) -> tuple[dict[str, Any], str]:
        """Return where an object is kept, and by which key."""
        meta = found.metadata
        key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        if isinstance(found, Pod):
            return self.pods, key
        return self.objects.setdefault(type(found), {}), key

    def _changed(self, old: Any | None, new: Any | None) -> None:
        found = old if new is None else new
        if type(found) in self._watched:
            self._tell(old, new)
        if isinstance(found, Pod):
            for observer in tuple(self.observers):
                observer(old, new)


class VirtualWriter:
    """What a scheduler writes, done in a virtual API; events go the way they always go, by another writer."""

    def __init__(self, api: VirtualApi) -> None:
        self._api = api
        self.object_writer: ObjectWriter = VirtualObjectWriter(api)
        self._others: Writer

    def before(self, others: Writer) -> Writer:
        """Be the writer, with another for events."""
        self._others = others
        return self

    async def bind(self, binding: Binding) -> None:
        self._api.bind(binding)

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        self._api.patch_status(pod, condition, nominated_node_name)

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        try:
            self._api.patch_status(victim, condition, None)
        except PodGoneError:
            return False
        self._api.delete(victim)
        return True

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        known = self._api.known(group)
        others = tuple(one for one in known.status.conditions if one.type != condition.type)
        status = replace(known.status, conditions=(*others, condition))
        if status != known.status:
            self._api.update(replace(known, status=status))

    def record(self, note: Note) -> None:
        self._others.record(note)


class VirtualObjectWriter:
    """What plugins write that is no pod; implements `framework.handle.ObjectWriter`."""

    def __init__(self, api: VirtualApi) -> None:
        self._api = api

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        known = self._api.known(found)
        if found.metadata.resource_version not in ("", known.metadata.resource_version):
            raise ConflictError(f'{found.kind} "{found.metadata.name}": the object has been modified')
        return self._api.update(patched(known, patch))

    async def create(self, found: Any) -> Any:
        return self._api.create(found)

    async def delete(self, found: Any) -> None:
        self._api.delete(found)


def made_up(draw: Callable[[int], int]) -> str:
    """Return the end of a name such as a server makes one up."""
    return "".join(_SUFFIX[draw(len(_SUFFIX))] for _ in range(_SUFFIX_LENGTH))


def with_condition(status: PodStatus, condition: Condition) -> PodStatus:
    """Return a status with a condition in the place of that of its type."""
    others = tuple(one for one in status.conditions if one.type != condition.type)
    return replace(status, conditions=(*others, condition))


def _says(status: PodStatus, condition: Condition) -> bool:
    known = status.condition(condition.type)
    return known is not None and (known.status, known.reason, known.message) == (
        condition.status,
        condition.reason,
        condition.message,
    )


def _grace_of(pod: Pod, asked_seconds: int | None) -> int:
    """Return how long a pod may take to end: one that is bound nowhere takes no time."""
    if not pod.spec.node_name or pod.is_terminal:
        return 0
    own = pod.spec.termination_grace_period_seconds
    return asked_seconds if asked_seconds is not None else DEFAULT_GRACE_SECONDS if own is None else own
