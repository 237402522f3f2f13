"""What a count column adds up to in each topology domain, carried along as pods come and go.

Adding up all rows costs as much as there are nodes; a pod more on one node changes one sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowplan.table.journal import Journal

# So many changes and adding up anew is as fast as following them.
MOST_PENDING = 64


class DomainSums:
    """The sums of one count by the codes of one label, as of the last time they were asked for."""

    __slots__ = ("_as_of", "_pending", "_sums", "journal")

    def __init__(self) -> None:
        #: Marked with the code of every sum that is no longer what was returned before.
        self.journal = Journal()
        self._sums: NDArray[np.int64] | None = None
        # Which labels, and which state of theirs, the codes are of.
        self._as_of: tuple[object, int, int] | None = None
        self._pending: list[tuple[int, int]] = []

    def add(self, row: int, amount: int) -> None:
        """Note that a row counts for more, or less."""
        if self._sums is None:
            return
        if len(self._pending) < MOST_PENDING:
            self._pending.append((row, amount))
        else:
            self._sums = None
            self._pending.clear()

    def bring_up(
        self, counts: NDArray[np.int64], codes: NDArray[np.int64], size: int, as_of: tuple[object, int, int]
    ) -> NDArray[np.int64]:
        """Return the sums by code, and 0 at the end where code -1 finds it. What was returned before stays as it is."""
        if self._sums is None or self._as_of != as_of:
            self._sums, self._as_of = _add_up(counts, codes, size), as_of
            self.journal.mark_all()
        elif self._pending:
            self._sums = self._sums.copy()
            for row, amount in self._pending:
                code = codes.item(row)
                if code >= 0:
                    self._sums[code] += amount
                    self.journal.mark(code)
        self._pending.clear()
        self._sums.flags.writeable = False
        return self._sums


def _add_up(counts: NDArray[np.int64], codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    sums = np.zeros(size + 1, dtype=np.int64)
    # Sums of counts and weights are far below 2^53, so floats hold them exactly.
    sums[:-1] = np.bincount(codes + 1, weights=counts, minlength=size + 1)[1:]
    return sums
