"""The choice between nodes on which room can be made: where it does the least harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from stowplan.framework.contract import Preemption
from stowplan.model.importance import started
from stowplan.table.columns import Scores

# Makes every priority positive, so that one victim more always weighs more.
PRIORITY_SHIFT: Final = 2**31

#: What the evictions on each node cost, in the order in which it is compared; the less the better. # (costs, nodes)
#: Budgets violated, priority of the most important victim, sum of the shifted priorities, number of victims.
Harm = Scores


def least_harmful(harm: Harm, started_at: Callable[[int], datetime]) -> int:
    """Return the node that does best in the first cost in which it differs; of equals, that of the youngest victims.

    `started_at` says when the first of a node's most important victims started: the later, the better.
    """
    best = np.arange(harm.shape[1])
    for cost in harm:
        costs = cost[best]
        best = best[costs == costs.min()]
        if len(best) == 1:
            return int(best[0])
    return max(best.tolist(), key=started_at)


def pick(candidates: Sequence[Preemption]) -> Preemption:
    """Return the candidate that does the least harm; of equals the first."""
    harm = np.array([_costs(candidate) for candidate in candidates], dtype=np.int64).T
    return candidates[least_harmful(harm, lambda index: _first_start(candidates[index]))]


def _costs(candidate: Preemption) -> tuple[int, int, int, int]:
    priorities = [victim.priority for victim in candidate.victims]
    weight = sum(priorities) + PRIORITY_SHIFT * len(priorities)
    return candidate.pdb_violations, max(priorities), weight, len(priorities)


def _first_start(candidate: Preemption) -> datetime:
    highest = max(victim.priority for victim in candidate.victims)
    return min(started(victim) for victim in candidate.victims if victim.priority == highest)
