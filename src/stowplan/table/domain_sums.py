"""What counts add up to in each domain of a label, followed as pods come and go.

Sums change in place and are as of the last time they were asked for. Their `SumsLog` tells what changed, and from what,
so nobody need compare, or copy, the sums of all domains: there may be as many of them as nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# So many changes and adding up anew is as fast as following them.
MOST_PENDING: Final = 64
MOST_LOGGED: Final = 1 << 12
MOST_KEPT: Final = 256

Sums = NDArray[np.int64]


class SumsLog:
    """The codes whose sum changed, each with what it was before; a position that only grows."""

    __slots__ = ("_entries", "_start", "position")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []
        self._start = 0
        self.position = 0

    def note(self, code: int, before: int) -> None:
        self._entries.append((code, before))
        self.position += 1
        if len(self._entries) > MOST_LOGGED:
            half = MOST_LOGGED // 2
            del self._entries[:half]
            self._start += half

    def note_all(self) -> None:
        """Note that any sum may have changed."""
        self._entries.clear()
        self.position += 1
        self._start = self.position

    def since(self, position: int) -> dict[int, int] | None:
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
        return self.log.since(before.position) if self.log is before.log else None


@dataclass(slots=True, eq=False)
class DomainSums:
    """The sums of one count by the codes of one label, as of the last time they were asked for."""

    _log: SumsLog = field(default_factory=SumsLog)
    _sums: Sums | None = None
    _shown: Sums = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Which labels, and which state of theirs, the codes are of.
    _as_of: tuple[object, int] | None = None
    _pending: list[tuple[int, int]] = field(default_factory=list)

    def add(self, row: int, amount: int) -> None:
        """Note that a row counts for more, or less."""
        if self._sums is None:
            return
        if len(self._pending) < MOST_PENDING:
            self._pending.append((row, amount))
        else:
            self._sums = None
            self._pending.clear()

    def bring_up(self, counts: Sums, codes: NDArray[np.int64], size: int, as_of: tuple[object, int]) -> Summed:
        """Return the sums by code, and 0 at the end where code -1 finds it."""
        if self._sums is None or self._as_of != as_of:
            self._sums, self._as_of = _add_up(counts, codes, size), as_of
            self._shown = _shown(self._sums)
            self._log.note_all()
            self._pending.clear()
        elif self._pending:
            sums, log = self._sums, self._log
            for row, amount in self._pending:
                code = codes.item(row)
                if code >= 0:
                    before = sums.item(code)
                    log.note(code, before)
                    sums[code] = before + amount
            self._pending.clear()
        return Summed(self._shown, self._log, self._log.position)


@dataclass(slots=True, eq=False)
class WeightedSums:
    """Sums of several counts, each with its weight."""

    _log: SumsLog = field(default_factory=SumsLog)
    _sums: Sums = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _shown: Sums = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _parts: list[Summed] = field(default_factory=list)

    def bring_up(self, weights: list[int], parts: list[Summed]) -> Summed:
        """Return the weighted sums, given those of each count; always of the same counts."""
        changes = [now.changed_since(then) for now, then in zip(parts, self._parts, strict=False)]
        if len(changes) != len(parts) or any(change is None for change in changes):
            self._sums = sum(
                (weight * part.by_code for weight, part in zip(weights, parts, strict=True)),
                np.zeros(len(parts[0].by_code), dtype=np.int64),
            )
            self._shown = _shown(self._sums)
            self._log.note_all()
        else:
            for weight, part, change in zip(weights, parts, changes, strict=True):
                for code, before in (change or {}).items():
                    whole = self._sums.item(code)
                    self._log.note(code, whole)
                    self._sums[code] = whole + weight * (part.by_code.item(code) - before)
        self._parts = parts
        return Summed(self._shown, self._log, self._log.position)


class WeightedSumsBook:
    """The weighted sums that were asked for lately."""

    def __init__(self) -> None:
        self._kept: dict[object, WeightedSums] = {}

    def bring_up(self, key: str, weights: list[int], parts: list[Summed]) -> Summed:
        """Return the weighted sums of some counts, all by the codes of one label."""
        identity = (key, *[(weight, part.log) for weight, part in zip(weights, parts, strict=True)])
        found = self._kept.pop(identity, None)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            found = WeightedSums()
        self._kept[identity] = found
        return found.bring_up(weights, parts)


def _shown(sums: Sums) -> Sums:
    shown = sums.view()
    shown.flags.writeable = False
    return shown


def _add_up(counts: Sums, codes: NDArray[np.int64], size: int) -> Sums:
    sums = np.zeros(size + 1, dtype=np.int64)
    # Sums of counts and weights are far below 2^53, so floats hold them exactly.
    sums[:-1] = np.bincount(codes + 1, weights=counts, minlength=size + 1)[1:]
    return sums
