"""Pods in order: put in, take out anywhere, take the first.

What is taken out stays in the list, dead, until it surfaces or there is too much of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Final

from stowplan.queue.entry import QueuedPod

_Item = tuple[Any, int, QueuedPod]

# Dead items that are never worth sweeping.
FEW: Final = 64


class PodHeap:
    """A priority queue of pods by a key given with each; the smallest key is first, among equals the earlier put."""

    def __init__(self, tickets: Iterator[int]) -> None:
        """Heaps that a pod may move between draw from the same `tickets`, so a dead item never comes alive again."""
        self._tickets = tickets
        self._items: list[_Item] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedPod]:
        """Go through the pods, first to last."""
        return (item[2] for item in sorted(filter(_is_alive, self._items), key=lambda item: item[:2]))

    def put(self, entry: QueuedPod, key: Any) -> None:
        """Put in a pod, or move one that is in."""
        if not entry.ticket:
            self._size += 1
        entry.ticket = next(self._tickets)
        heapq.heappush(self._items, (key, entry.ticket, entry))
        self._sweep()

    def remove(self, entry: QueuedPod) -> None:
        """Take out a pod that is in."""
        entry.ticket = 0
        self._size -= 1
        self._sweep()

    def first(self) -> QueuedPod | None:
        while self._items and not _is_alive(self._items[0]):
            heapq.heappop(self._items)
        return self._items[0][2] if self._items else None

    def pop(self) -> QueuedPod | None:
        """Take out the first pod; None if there is none."""
        entry = self.first()
        if entry is not None:
            heapq.heappop(self._items)
            self.remove(entry)
        return entry

    def _sweep(self) -> None:
        if len(self._items) > FEW + 2 * self._size:
            self._items = list(filter(_is_alive, self._items))
            heapq.heapify(self._items)


def _is_alive(item: _Item) -> bool:
    return item[1] == item[2].ticket
