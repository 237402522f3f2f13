"""How many nodes are looked at: all of them, unless `percentageOfNodesToScore` asks for fewer.

A sample starts where the last one ended, so that over time all nodes get their turn, and stops once enough nodes are
feasible. The filters still answer for every row; a sample only decides which of the feasible rows count.
"""

from __future__ import annotations

import numpy as np

from stowplan.table.columns import Mask, Rows

ALL_NODES = 100
_AT_LEAST = 100


def nodes_to_find(nodes: int, percentage: int) -> int:
    """Return how many feasible nodes are enough; a percentage of 0 means that none was set."""
    if nodes < _AT_LEAST or percentage >= ALL_NODES or percentage == 0:
        return nodes
    return max(_AT_LEAST, nodes * percentage // 100)


class Sampler:
    """Remembers where the next sample starts."""

    def __init__(self) -> None:
        self._start = 0

    def order(self, order: Rows) -> Rows:
        """Return the rows in the order in which they are looked at this time."""
        start = self._start % len(order)
        return order if not start else np.concatenate((order[start:], order[:start]))

    def pass_by(self, looked_at: int, nodes: int) -> None:
        """Move on past nodes that were all looked at."""
        self._start = (self._start + looked_at) % nodes

    def sample(self, order: Rows, feasible: Mask, enough: int) -> Mask:
        """Return the feasible rows that are found first, and move on past what had to be looked at for them."""
        walked = self.order(order)
        found = np.flatnonzero(feasible[walked])
        kept = np.zeros_like(feasible)
        kept[walked[found[:enough]]] = True
        # The search ends on the first feasible node too many, which itself does not count as looked at.
        looked_at = len(walked) if len(found) <= enough else int(found[enough])
        self._start = (self._start + looked_at) % len(walked)
        return kept
