"""What changed, row by row, and who looked: the two halves that make a kept answer safe to reuse.

Every column (and every lister) owns a `Journal`. While a plugin answers, `Reads` notes which journals it looked at and
where they stood; `framework.kept.memo` later asks each journal which rows have moved since.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

KEPT_ENTRIES = 1 << 16


class Journal:
    """An append-only list of changed rows with a position that only grows."""

    __slots__ = ("_rows", "_start", "position")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._start = 0
        self.position = 0

    def mark(self, row: int) -> None:
        """Record that one row changed."""
        self._rows.append(row)
        self.position += 1
        if len(self._rows) > KEPT_ENTRIES:
            self._forget_oldest()

    def mark_each(self, rows: list[int]) -> None:
        """Record that some rows changed."""
        self._rows += rows
        self.position += len(rows)
        if len(self._rows) > KEPT_ENTRIES:
            self._forget_oldest()

    def mark_all(self) -> None:
        """Record that anything may have changed."""
        self._rows.clear()
        self.position += 1
        self._start = self.position

    def since(self, position: int) -> list[int] | None:
        """Return the rows marked after `position`, repeats included; None when every row must be taken as changed."""
        if position < self._start:
            return None
        return self._rows[position - self._start :]

    def _forget_oldest(self) -> None:
        half = KEPT_ENTRIES // 2
        del self._rows[:half]
        self._start += half


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
