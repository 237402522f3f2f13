"""What counts add up to in each domain of a label, followed as pods come and go.

Sums are live. Whoever holds them has looked at the labels, and gets them anew when a node gets another value; what a
pod more or less changes is told by journals, as far as it matters to the reader: whether there are any pods at all, in
which domains there are any, or how many. So nobody need ask again, compare or copy the sums of all domains: there may
be as many of them as nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stowplan.table.journal import Journal

MOST_LOGGED: Final = 1 << 12
MOST_KEPT: Final = 256
# More rows than that are as fast asked about all together.
MOST_MARKED: Final = 256

Sums = NDArray[np.int64]


class Labels(Protocol):
    """The values of a label as codes by row (-1: none); the journal moves when a row gets another."""

    journal: Journal
    view: NDArray[Any]
    meanings: list[Any]

    def rows_with(self, code: int) -> NDArray[np.intp]:
        """Return the rows that have a code."""


class SumsLog(Journal):
    """The codes whose sum changed, each with what it was before. As a journal it names no rows: it may be any."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[tuple[int, int]] = []

    def note(self, code: int, before: int) -> None:
        self._entries.append((code, before))
        self.position += 1
        if len(self._entries) > MOST_LOGGED:
            half = MOST_LOGGED // 2
            del self._entries[:half]
            self._start += half

    def mark_all(self) -> None:
        """Note that any sum may have changed."""
        super().mark_all()
        self._entries.clear()

    def since(self, position: int) -> NDArray[np.intp] | None:
        return None

    def changes_since(self, position: int) -> dict[int, int] | None:
        """Return the codes that changed after a position, with what they were then; None if it is not known."""
        if position < self._start:
            return None
        entries = self._entries[position - self._start :]
        entries.reverse()
        # Of several changes the first has what was there then.
        return dict(entries)


class Summed(NamedTuple):
    """Sums by code, live and read-only; the log that tells which of them change, and where it stood."""

    by_code: Sums
    log: SumsLog
    position: int

    def changed_since(self, before: Summed) -> dict[int, int] | None:
        """Return the codes whose sum may differ from what it was before, and what it was; None if it is not known."""
        return self.log.changes_since(before.position) if self.log is before.log else None

    @property
    def logs(self) -> Sequence[SumsLog]:
        """None: they are what they are."""
        return ()

    def read(self) -> Summed:
        return self


class LiveSums(Protocol):
    """Sums by the codes of a label that may change."""

    @property
    def logs(self) -> Sequence[SumsLog]:
        """What moves when they change."""

    def read(self) -> Summed:
        """Return them as they are now."""


class DomainSums:
    """The sums of one count by the codes of one label."""

    __slots__ = ("_labels", "_sums", "by_code", "existence", "log", "presence", "settled_at", "total")

    def __init__(self, labels: Labels, counts: Sums) -> None:
        #: Moves when any sum changes.
        self.log = SumsLog()
        #: Moves when the first of all pods on nodes with the label comes, or the last goes; so does `total`, from 0.
        self.existence = Journal()
        #: Marked with the rows of a domain when the first pod comes there, or the last goes.
        self.presence = Journal()
        self.settle(labels, counts)

    def settle(self, labels: Labels, counts: Sums) -> None:
        """Add up anew if other rows have other codes now."""
        self._labels = labels
        #: The state of the labels that the codes are of.
        self.settled_at = labels.journal.position
        self._sums = _add_up(counts, labels.view, len(labels.meanings))
        #: By code, read-only, and 0 at the end where code -1 finds it.
        self.by_code = _shown(self._sums)
        self.total = int(self._sums.sum())
        self.log.mark_all()

    def is_settled(self, labels: Labels) -> bool:
        """Say whether the codes are those that the rows have now."""
        return self._labels is labels and self.settled_at == labels.journal.position

    def add(self, row: int, amount: int) -> None:
        """Follow that a row counts for more, or less."""
        labels = self._labels
        # Where rows have other codes now, sums are added up anew before anybody looks at them.
        code = labels.view.item(row) if self.settled_at == labels.journal.position else -1
        if code < 0:
            return
        before = self._sums.item(code)
        self._sums[code] = now = before + amount
        self.log.note(code, before)
        if not before or not now:
            rows = labels.rows_with(code)
            if len(rows) > MOST_MARKED:
                self.presence.mark_all()
            else:
                self.presence.mark_each(rows)
        self.total += amount
        if self.total in (0, amount):
            self.existence.mark_all()

    def at(self, row: int) -> int:
        """Return the sum of a row's domain; 0 for a row without the label."""
        return self._sums.item(self._labels.view.item(row))

    def retire(self) -> None:
        """Have everybody get other sums: these are not followed any more."""
        self.existence.mark_all()

    def read(self) -> Summed:
        return Summed(self.by_code, self.log, self.log.position)

    @property
    def logs(self) -> Sequence[SumsLog]:
        return (self.log,)


class WeightedSums:
    """Sums of several counts, each with its weight, as of the last time they were read."""

    __slots__ = ("_log", "_parts", "_read", "_shown", "_sums", "_weights", "logs")

    def __init__(self, parts: Sequence[tuple[int, DomainSums]]) -> None:
        self._weights = [weight for weight, _ in parts]
        self._parts = [sums for _, sums in parts]
        self.logs: Sequence[SumsLog] = [sums.log for sums in self._parts]
        self._log = SumsLog()
        self._read: list[int] = []
        self._add_up()

    def read(self) -> Summed:
        """Bring the sums up to date and return them."""
        for index, (log, position) in enumerate(zip(self.logs, self._read, strict=True)):
            if log.position != position:
                changes = log.changes_since(position)
                if changes is None:
                    self._add_up()
                    break
                self._read[index] = log.position
                self._follow(changes, self._weights[index], self._parts[index].by_code)
        return Summed(self._shown, self._log, self._log.position)

    def _follow(self, changes: dict[int, int], weight: int, by_code: Sums) -> None:
        sums, log = self._sums, self._log
        for code, before in changes.items():
            whole = sums.item(code)
            log.note(code, whole)
            sums[code] = whole + weight * (by_code.item(code) - before)

    def _add_up(self) -> None:
        weighted = [weight * part.by_code for weight, part in zip(self._weights, self._parts, strict=True)]
        self._sums = sum(weighted, np.zeros(len(weighted[0]), dtype=np.int64))
        self._shown = _shown(self._sums)
        self._log.mark_all()
        self._read = [log.position for log in self.logs]


class WeightedSumsBook:
    """The weighted sums that were asked for lately."""

    def __init__(self) -> None:
        self._kept: dict[object, WeightedSums] = {}

    def find(self, parts: Sequence[tuple[int, DomainSums]]) -> WeightedSums:
        """Return the weighted sums of some counts, all by the codes of one label."""
        identity = tuple(parts)
        found = self._kept.pop(identity, None)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            found = WeightedSums(parts)
        self._kept[identity] = found
        return found


def _shown(sums: Sums) -> Sums:
    shown = sums.view()
    shown.flags.writeable = False
    return shown


def _add_up(counts: Sums, codes: NDArray[np.int64], size: int) -> Sums:
    sums = np.zeros(size + 1, dtype=np.int64)
    # Sums of counts and weights are far below 2^53, so floats hold them exactly.
    sums[:-1] = np.bincount(codes + 1, weights=counts, minlength=size + 1)[1:]
    return sums
