"""The choice between nodes on which room can be made: where it does the least harm."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stowplan.framework.contract import Preemption
from stowplan.model.importance import started

# Makes every priority positive, so that one pod more always weighs more.
PRIORITY_SHIFT = 2**31

Harm = tuple[int, int, int, int]


def pick(candidates: Sequence[Preemption]) -> Preemption:
    """Return the candidate that does the least harm; of equals the first.

    In this order: the fewest budgets violated, the lowest priority of the most important victim, the smallest sum of
    priorities, the fewest victims, and the most important victims that started last.
    """
    harms = [_harm(candidate) for candidate in candidates]
    least = min(harms)
    return max((candidate for candidate, harm in zip(candidates, harms, strict=True) if harm == least), key=_earliest)


def _harm(candidate: Preemption) -> Harm:
    victims = candidate.victims
    priorities = [victim.spec.priority for victim in victims]
    return candidate.pdb_violations, max(priorities), sum(priorities) + PRIORITY_SHIFT * len(victims), len(victims)


def _earliest(candidate: Preemption) -> datetime:
    """Return when the first of the most important victims started."""
    highest = max(victim.priority for victim in candidate.victims)
    return min(started(victim) for victim in candidate.victims if victim.priority == highest)
