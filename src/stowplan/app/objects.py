"""Objects that programs hand to a `Cluster`: read from YAML, checked, and routed as the watches' are.

The same event handlers (`engine/event_handlers.py`) route both. Whoever errs is told what is expected. There is no
queue: of the pods that wait, only those matter that keep room on a node they are nominated to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stowplan.engine.event_handlers import EventHandlers
from stowplan.framework.changes import ObjectChange
from stowplan.framework.profile import Profile
from stowplan.model import decode, json_values
from stowplan.model.dra import ResourceClaim
from stowplan.model.meta import Part
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OwnGroup
from stowplan.queue.nominations import Nominations

_MADE = "stowplan.testing makes some, stowplan.model.decode reads them"


def read_yaml(source: str | Path) -> list[Any]:
    """Read the objects of a YAML file, or of YAML text (anything with a line break in it).

    Raise ValueError if there are none or one cannot be read; warn of kinds that scheduling does not read: a dump of a
    cluster is full of them.
    """
    is_text = isinstance(source, str) and ("\n" in source or not source.strip())
    origin = "the text" if is_text else str(source)
    text = str(source) if is_text else _text_of(source)
    try:
        found = decode.decode_yaml(text)
    except decode.MalformedObject as error:
        raise decode.MalformedObject(f"{origin}: {error}") from None
    if not found:
        raise ValueError(f"{origin}: no object is written there; give the path or the text of some")
    for one in found:
        if isinstance(one, decode.UnknownObject):
            problem = f"scheduling reads no {one.kind} of {one.api_version}, which is left out"
            title = json_values.title(one.content)
            # Told of the line that calls `Cluster.from_yaml`.
            warnings.warn(f"{origin}: {title}: {problem}; of a workload, give the pods", stacklevel=3)
    return found


def _text_of(path: object) -> str:
    if not isinstance(path, str | Path):
        raise TypeError(f"expected the path or the text of manifests, got {type(path).__name__}; add_all takes objects")
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        remedy = "check the path, or give the text itself, which has a line break"
        raise type(error)(f"{path}: cannot be read: {error.strerror}; {remedy}") from None


def check_pod(given: object) -> None:
    """Raise TypeError if it is no pod."""
    if not isinstance(given, Pod):
        raise TypeError(f"expected a Pod, got {type(given).__name__}; {_MADE}")


def add(handlers: EventHandlers, pending: PendingPods, found: Any) -> None:
    """Take in an object, or a new version of one."""
    match found:
        case decode.UnknownObject():
            return
        case Pod():
            waiting = pending.get(found)
            if waiting is not None:
                handlers.delete(waiting, 0)
            pending.note(found)
            placed = handlers.cache.placed(found) if found.node_name or found.is_terminal else None
            if placed is not None:
                handlers.update(placed.pod, found, 0)
            else:
                handlers.add(found, 0)
        case _:
            _check_object(found)
            handlers.add(found, 0)


def remove(handlers: EventHandlers, pending: PendingPods, found: Any) -> None:
    """Drop an object; nothing happens if it is not known."""
    if isinstance(found, decode.UnknownObject):
        return
    if isinstance(found, Pod):
        placed = handlers.cache.placed(found)
        pending.unplaced.pop(found.key, None)
        found = placed.pod if placed is not None else pending.get(found) or found
    _check_object(found)
    handlers.delete(found, 0)


def _check_object(found: object) -> None:
    if not isinstance(found, Part) or not hasattr(found, "metadata"):
        raise TypeError(f"expected a Node, a Pod or another API object, got {type(found).__name__}; {_MADE}")


@dataclass(frozen=True, slots=True)
class PendingPods:
    """The pending pods that keep room on the node they are nominated to: those that a scheduler would queue.

    It takes the place of the queue behind the event handlers of a `Cluster` that nobody schedules live. A pod that
    awaits a claim keeps no room until it is there.
    """

    nominations: Nominations
    profiles: Callable[[], Mapping[str, Profile]]
    _pods: dict[str, Pod] = field(default_factory=dict)
    #: All pods that were added without a node, whoever is to schedule them, and have none yet.
    unplaced: dict[str, Pod] = field(default_factory=dict)

    def copied(self) -> PendingPods:
        """Return the same pods for a supposition; their nominations take themselves back."""
        return PendingPods(self.nominations, self.profiles, dict(self._pods), dict(self.unplaced))

    def note(self, pod: Pod) -> None:
        """Remember a pod for as long as it has no node."""
        if pod.node_name or pod.is_terminal:
            self.unplaced.pop(pod.key, None)
        else:
            self.unplaced[pod.key] = pod

    def get(self, pod: Pod) -> Pod | None:
        """Return the version of a pod that was added last; None if it is nominated nowhere."""
        return self._pods.get(pod.key)

    def add(self, pod: Pod, now_ns: int) -> None:
        if pod.status.nominated_node_name:
            self._pods[pod.key] = pod
            self._nominate(pod)

    def update(self, old: Pod, new: Pod, now_ns: int) -> None:
        self.delete(old, now_ns)
        self.note(new)
        self.add(new, now_ns)

    def update_in_flight(self, new: Pod) -> None:
        """Nothing is in flight between two calls."""

    def put_group(self, found: OwnGroup, now_ns: int) -> None:
        """Nobody waits with a group."""

    def remove_group(self, found: OwnGroup, now_ns: int) -> None:
        """Nobody waits with a group."""

    def delete(self, pod: Pod, now_ns: int) -> None:
        self.nominations.remove(pod)
        self._pods.pop(pod.key, None)
        self.unplaced.pop(pod.key, None)

    def nominate(self, pod: Pod, node_name: str, now_ns: int) -> None:
        self.nominations.put(pod, node_name)

    def on_change(self, event: ObjectChange, now_ns: int, only: Callable[[Pod], bool] | None = None) -> None:
        """See whether a new claim is what pods of its namespace awaited."""
        if isinstance(event.new, ResourceClaim):
            for pod in self._pods.values():
                if pod.namespace == event.new.metadata.namespace and not self.nominations.node_of(pod):
                    self._nominate(pod)

    def _nominate(self, pod: Pod) -> None:
        may_be_gated = pod.spec.scheduling_gates or pod.spec.resource_claims
        if not may_be_gated or self.profiles()[pod.spec.scheduler_name].run_pre_enqueue(pod) is None:
            self.nominations.put(pod, pod.status.nominated_node_name)
