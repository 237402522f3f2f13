"""How well the space that claims would take on a node is used: a curve over the used percentage, averaged over classes.

What existing volumes are larger than asked for counts as unused; without any, what would be left free of the space in
which volumes are made.
"""

from __future__ import annotations

import numpy as np

from stowplan.plugins.shape_score import MAX_UTILIZATION
from stowplan.plugins.volumebinding.reach import NOTHING, Ranks
from stowplan.plugins.volumebinding.search import Delayed, Match, Outlook
from stowplan.plugins.volumebinding.shelves import request_of, size_of
from stowplan.plugins.volumes.annotations import class_of_claim
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes


class _Use:
    """What is asked for and what there is of one class, by row; rows where nothing is asked for do not count."""

    def __init__(self, rows: int) -> None:
        self.is_used = np.zeros(rows, dtype=bool)
        self.requested = np.zeros(rows, dtype=np.int64)
        self.capacity = np.zeros(rows, dtype=np.int64)

    def percent(self) -> Scores:
        is_full = (self.capacity == 0) | (self.requested > self.capacity)
        return np.where(is_full, MAX_UTILIZATION, self.requested * MAX_UTILIZATION // np.maximum(self.capacity, 1))


def scores(outlook: Outlook, nodes: Nodes, curve: Scores) -> Scores:
    """Score every row by the space that the claims would take there."""
    uses: dict[str, _Use] = {}
    has_volumes = np.zeros(len(nodes), dtype=bool)
    for match in outlook.matches:
        use = uses.setdefault(class_of_claim(match.wanted.claim), _Use(len(nodes)))
        _count_match(use, match)
        has_volumes |= match.is_found
    for delayed, is_made in outlook.provisions:
        use = uses.setdefault(class_of_claim(delayed.claim), _Use(len(nodes)))
        _count_provision(use, delayed, is_made & ~has_volumes, delayed.provision.reports(nodes))
    total, count = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for use in uses.values():
        total += np.where(use.is_used, curve.take(use.percent()), 0)
        count += use.is_used
    # To the nearest, halves up.
    return (2 * total + count) // np.maximum(2 * count, 1)


def _count_match(use: _Use, match: Match) -> None:
    is_found, wanted = match.is_found, match.wanted
    use.is_used |= is_found
    use.requested += is_found * request_of(wanted.claim).value
    sizes = np.array([size_of(volume).value for volume in wanted.promised], dtype=np.int64)
    use.capacity += _looked_up(sizes, match.promised) + _looked_up(wanted.shelf.sizes, match.shelved)


def _count_provision(use: _Use, delayed: Delayed, is_made: Mask, reports: Ranks | None) -> None:
    if reports is None or delayed.provision.room is None:
        return
    is_made = is_made & (reports != NOTHING)
    use.is_used |= is_made
    use.requested += is_made * request_of(delayed.claim).value
    # Several claims share the space: it is there once.
    free = _looked_up(delayed.provision.room.reports.free_bytes(), reports)
    np.copyto(use.capacity, free, where=is_made)


def _looked_up(values: Scores, ranks: Ranks) -> Scores:
    """Return the value at each rank, and 0 where there is none."""
    return np.append(values, 0).take(np.minimum(ranks, len(values)))
