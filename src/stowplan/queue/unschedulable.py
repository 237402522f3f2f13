"""Pods that were refused or are gated, found by the plugins whose awaited changes may bring them back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stowplan.queue.entry import Place, QueuedPod, Rejector


class Unschedulable:
    """The pool of pods that wait for something to change. A change looks only at those whom it may concern."""

    def __init__(self) -> None:
        self._entries: dict[str, QueuedPod] = {}
        self._by_rejector: dict[Rejector, dict[str, QueuedPod]] = {}
        self._rejectors_of: dict[str, list[Rejector]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._entries.values())

    def put(self, entry: QueuedPod) -> None:
        """Put in a pod, which is not in."""
        entry.place = Place.GATED if entry.gated_by else Place.UNSCHEDULABLE
        self._entries[entry.id] = entry
        # Remembered, because the profile that a pod names is the pod's to change.
        self._rejectors_of[entry.id] = rejectors = entry.rejectors
        for rejector in rejectors:
            self._by_rejector.setdefault(rejector, {})[entry.id] = entry

    def remove(self, entry: QueuedPod) -> None:
        """Take out a pod, which is in."""
        del self._entries[entry.id]
        for rejector in self._rejectors_of.pop(entry.id):
            waiting = self._by_rejector[rejector]
            del waiting[entry.id]
            if not waiting:
                del self._by_rejector[rejector]

    def rejected_by(self, rejectors: Iterable[Rejector]) -> list[QueuedPod]:
        """Return the pods that any of the plugins refused or gates."""
        found: dict[str, QueuedPod] = {}
        for rejector in rejectors:
            found.update(self._by_rejector.get(rejector, {}))
        return list(found.values())

    def index(self) -> dict[Rejector, set[str]]:
        """Return who is listed under whom, for `validate`."""
        return {rejector: set(waiting) for rejector, waiting in self._by_rejector.items()}
