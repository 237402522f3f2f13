"""LeastAllocated over all rows of the table, starting from what is free there (`table.standing`).

The same as the rule that `plugins.noderesources.fit` has for any rows, in a fraction of the passes over columns.
"""

from __future__ import annotations

from operator import gt

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.framework.contract import MAX_SCORE
from stowplan.plugins.noderesources.allocation import EXACT, Share
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.table.standing import Lines


class FreeRoom(msgspec.Struct, frozen=True):
    """By resource, a hundred times what is free, then the capacity; at last, what the resources that are there weigh.

    Where nothing is there to divide by, 1 stands.
    """

    rows: tuple[int, ...]
    weights: tuple[int, ...]

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> Lines:
        rows = list(self.rows)
        has = allocatable[rows]
        free = (has - requested[rows]) * float(MAX_SCORE)
        weighs = np.array(self.weights, dtype=np.int64) @ (has != 0)
        return np.vstack((free, np.maximum(has, 1), np.maximum(weighs, 1)))

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        free, capacities, weighs = [], [], 0
        for row, weight in zip(self.rows, self.weights, strict=True):
            capacity = has[row]
            free.append(float(capacity - taken[row]) * MAX_SCORE)
            capacities.append(float(capacity if capacity > 1 else 1))
            weighs += weight if capacity else 0
        return [*free, *capacities, float(weighs or 1)]


def score_all(shares: tuple[Share, ...], nodes: Nodes) -> Scores | None:
    """Return the score of every row, for a pod that adds these shares; None where only the general rule is exact."""
    rule = FreeRoom(tuple([share.row for share in shares]), tuple([share.weight for share in shares]))
    standing = nodes.standing(rule) if shares else None
    count = len(shares)
    # Up to here floats hold what is divided, and no quotient is rounded up to the next whole number. Less than nothing
    # may be off, and comes to nothing.
    if standing is None or max(*standing.highest[:count], MAX_SCORE * max(standing.highest[count:-1])) >= EXACT:
        return None
    lines, amounts = standing.lines, [float(share.amount) * MAX_SCORE for share in shares]
    parts = lines[:count] - np.array([amounts]).T
    if any(map(gt, amounts, standing.lowest)):
        np.maximum(parts, 0.0, out=parts)
    parts /= lines[count:-1]
    np.floor(parts, out=parts)
    if set(rule.weights) != {1}:
        parts *= np.array([rule.weights]).T
    total: Lines = parts[0]
    for part in parts[1:]:
        total += part
    total /= lines[-1]
    return total.astype(np.int64)
