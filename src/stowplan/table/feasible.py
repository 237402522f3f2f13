"""Which rows are feasible for the pods of one signature, and how many of them have each value of a label.

Followed as rows become and cease to be feasible, so that nobody need count all of them for every pod.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowplan.table.columns import NO_ROWS, CodedColumn, Mask, Rows, Scores, fitted


@dataclass(slots=True, eq=False)
class FeasibleRows:
    """The feasible rows as they were last looked at."""

    mask: Mask | None = None
    #: By label, how many there are of each code, at the end without one; and the state of the labels that it is of.
    _by_label: dict[CodedColumn, tuple[int, Scores]] = field(default_factory=dict)

    def fit(self, rows: int, fresh: Rows | None) -> None:
        """Take over that nodes came or went; `fresh` rows are those of others than before."""
        self.mask = None if self.mask is None or fresh is None else fitted(self.mask, rows)
        if self.mask is not None:
            self.mask[fresh] = False
        self._by_label.clear()

    def refresh(self, mask: Mask) -> Rows | None:
        """Look again; return the rows that are feasible now and were not, or were and are not. None the first time."""
        before = self.mask
        if before is None:
            self.mask = mask.copy()
            return None
        flipped = np.flatnonzero(before != mask)
        if not len(flipped):
            return NO_ROWS
        opened = mask[flipped]
        before[flipped] = opened
        for labels, (position, counts) in list(self._by_label.items()):
            if position != labels.journal.position or len(counts) != len(labels.meanings) + 1:
                del self._by_label[labels]
            else:
                np.add.at(counts, labels.view[flipped], np.where(opened, 1, -1))
        return flipped

    def by_label(self, labels: CodedColumn) -> Scores:
        """Return how many feasible rows have each code of a label, at the end how many have none."""
        known = self._by_label.get(labels)
        if known is None or known[0] != labels.journal.position or len(known[1]) != len(labels.meanings) + 1:
            codes = labels.view if self.mask is None else labels.view[self.mask]
            counts = np.roll(np.bincount(codes + 1, minlength=len(labels.meanings) + 1), -1)
            known = self._by_label[labels] = (labels.journal.position, counts)
        shown = known[1].view()
        shown.flags.writeable = False
        return shown
