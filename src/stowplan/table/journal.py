"""What changed, row by row, and who looked: the two halves that make a kept answer safe to reuse.

Every column (and every lister) owns a `Journal`. While a plugin answers, `Reads` notes which journals it looked at and
where they stood; `framework.kept.memo` later asks each journal which rows have moved since.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

KEPT_ENTRIES = 1 << 16
FIRST_ENTRIES = 16


class Journal:
    """An append-only list of changed rows with a position that only grows."""

    __slots__ = ("_rows", "_start", "position")

    def __init__(self) -> None:
        self._rows: NDArray[np.intp] = np.empty(FIRST_ENTRIES, dtype=np.intp)
        self._start = 0
        self.position = 0

    def mark(self, row: int) -> None:
        """Record that one row changed."""
        entries = self.position - self._start
        if entries == len(self._rows):
            self._make_room(entries)
        self._rows[self.position - self._start] = row
        self.position += 1

    def mark_each(self, rows: NDArray[np.intp]) -> None:
        """Record that several rows changed."""
        entries = self.position - self._start
        if entries + len(rows) > KEPT_ENTRIES:
            self.mark_all()
            return
        while entries + len(rows) > len(self._rows):
            self._make_room(entries)
        self._rows[entries : entries + len(rows)] = rows
        self.position += len(rows)

    def mark_all(self) -> None:
        """Record that anything may have changed."""
        self.position += 1
        self._start = self.position

    def since(self, position: int) -> NDArray[np.intp] | None:
        """Return the rows marked after `position`, repeats included; None when every row must be taken as changed."""
        if position < self._start:
            return None
        return self._rows[position - self._start : self.position - self._start]

    def _make_room(self, entries: int) -> None:
        # Into another array: somebody may still look at the rows of this one.
        kept = self._rows[:entries] if entries < KEPT_ENTRIES else self._rows[KEPT_ENTRIES // 2 : entries]
        self._start += entries - len(kept)
        rows = np.empty(min(2 * len(self._rows), KEPT_ENTRIES), dtype=np.intp)
        rows[: len(kept)] = kept
        self._rows = rows


class Reads:
    """The recorder shared by a table and its listers; idle unless somebody is recording."""

    __slots__ = ("_current",)

    def __init__(self) -> None:
        self._current: dict[Journal, int] | None = None

    def start(self) -> dict[Journal, int]:
        """Begin to record into a new mapping of journal to position, and return it."""
        self._current = {}
        return self._current

    def stop(self) -> None:
        self._current = None

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Look at something without noting it: what follows from it has a journal of its own."""
        current, self._current = self._current, None
        try:
            yield
        finally:
            self._current = current

    def note(self, journal: Journal) -> None:
        """Remember that `journal` was read where it stands now."""
        if self._current is not None:
            self._current[journal] = journal.position
