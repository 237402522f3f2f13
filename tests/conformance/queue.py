"""Cases of kind `queue`: a sequence of operations, and who is where after each.

The operations go the way that watch events go, through `engine.event_handlers`; after each one the queue re-derives its
invariants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import queue_limits
from stowplan.engine.event_handlers import EventHandlers
from stowplan.framework.profile import awaited_by
from stowplan.model import decode
from stowplan.queue.entry import Place, QueuedPod
from stowplan.queue.places import SECOND, QueueRules
from stowplan.queue.queue import SchedulingQueue
from stowplan.queue.validate import contents, validate_queue

Difference = tuple[str, Any, Any]
Case = dict[str, Any]
State = dict[str, Any]

MILLISECOND = 1_000_000


def check(case: Case) -> list[Difference]:
    """Give (field, theirs, ours) at the first operation after which anything differs."""
    replay = Replay(case["release"])
    for number, operation in enumerate(case["ops"]):
        found = [*replay.apply(operation), *_compare(operation["state"], replay.state())]
        if found:
            where = f"operation {number} ({operation['op']})"
            return [(field, {where: theirs}, {where: ours}) for field, theirs, ours in found]
    return []


class Replay:
    """A cluster, its queue, and the pods that are being tried."""

    def __init__(self, release: str) -> None:
        self._cluster = Cluster(release=release)
        profile = next(iter(self._cluster.profiles.values()))
        self._sort_key = profile.queue_sort[0].sort_key
        self._queue = SchedulingQueue(
            QueueRules(profile.run_pre_enqueue, self._sort_key),
            {profile.name: awaited_by(profile)},
            queue_limits(self._cluster.config, self._cluster.feature_gates),
        )
        self._intake = EventHandlers(self._cluster.cache, self._queue, self._cluster.profiles)
        self._seen: dict[tuple[str, str, str], Any] = {}
        self._taken: dict[str, QueuedPod] = {}
        self._operations: Mapping[str, Callable[[Case, int], list[Difference]]] = {
            "add": self._add,
            "update": self._update,
            "delete": self._delete,
            "pop": self._pop,
            "unschedulable": self._give_back,
            "error": self._give_back,
            "bind": self._bind,
            "advance": self._flush,
        }

    def apply(self, operation: Case) -> list[Difference]:
        """Carry out one operation; give what differs in its answer."""
        found = self._operations[operation["op"]](operation, operation["t"] * MILLISECOND)
        validate_queue(self._queue)
        return found

    def state(self) -> State:
        """Say who is where, as the corpus does."""
        found = contents(self._queue)
        backing_off = sorted((*found[Place.BACKOFF], *found[Place.ERROR_BACKOFF]), key=self._backoff_order)
        return {
            "active": _names(found[Place.ACTIVE]),
            "backoff": [
                {
                    "pod": entry.pod.name,
                    "untilMs": self._queue.places.backoff.until(entry) * SECOND // MILLISECOND,
                    "error": entry.place is Place.ERROR_BACKOFF,
                }
                for entry in backing_off
            ],
            "unschedulable": sorted(_names(found[Place.UNSCHEDULABLE])),
            "gated": sorted(_names(found[Place.GATED])),
            "inFlight": sorted(_names(found[Place.IN_FLIGHT])),
        }

    def _backoff_order(self, entry: QueuedPod) -> Any:
        return self._queue.places.backoff.until(entry), self._sort_key(entry.pod, entry.queued_at_ns)

    # Operations

    def _add(self, operation: Case, now_ns: int) -> list[Difference]:
        found = decode.decode_object(operation["object"])
        self._seen[_key(operation["object"])] = found
        self._intake.add(found, now_ns)
        return []

    def _update(self, operation: Case, now_ns: int) -> list[Difference]:
        key, found = _key(operation["object"]), decode.decode_object(operation["object"])
        old, self._seen[key] = self._seen[key], found
        self._intake.update(old, found, now_ns)
        return []

    def _delete(self, operation: Case, now_ns: int) -> list[Difference]:
        key = operation["kind"], operation.get("namespace", ""), operation["name"]
        self._intake.delete(self._seen.pop(key), now_ns)
        return []

    def _pop(self, operation: Case, now_ns: int) -> list[Difference]:
        entry = self._queue.try_pop(now_ns)
        theirs = operation["pod"], operation["attempts"]
        if entry is None:
            return [("pop", theirs, None)]
        self._taken[entry.pod.name] = entry
        ours = entry.pod.name, entry.attempts
        return [] if theirs == ours else [("pop", theirs, ours)]

    def _give_back(self, operation: Case, now_ns: int) -> list[Difference]:
        self._queue.give_back(self._taken.pop(operation["pod"]), now_ns, operation.get("plugins") or ())
        return []

    def _bind(self, operation: Case, now_ns: int) -> list[Difference]:
        self._queue.done(self._taken.pop(operation["pod"]).pod)
        return self._update(operation, now_ns)

    def _flush(self, operation: Case, now_ns: int) -> list[Difference]:
        self._queue.flush_backoff(now_ns)
        self._queue.flush_unschedulable(now_ns)
        return []


def _compare(theirs: State, ours: State) -> Iterator[Difference]:
    for field in theirs:
        if theirs[field] != ours[field]:
            yield field, theirs[field], ours[field]


def _names(entries: list[QueuedPod]) -> list[str]:
    return [entry.pod.name for entry in entries]


def _key(content: Case) -> tuple[str, str, str]:
    metadata = content["metadata"]
    return content["kind"], metadata.get("namespace", ""), metadata["name"]
