"""What if there were more nodes: the smallest number of a shape that makes a workload fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.whatif.changes import MOST_NODES, add_like
from stowplan.whatif.fits import Fits, fits
from stowplan.whatif.world import QuestionError, World

MOST: Final = 1000


class Cheapest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer: how many nodes of the shape are enough, if any number up to `most` is, and what comes of that."""

    nodes: int | None
    shape: str
    most: int
    answer: Fits


def cheapest(world: World, shape: Node, pods: Sequence[Pod], most: int = MOST) -> Cheapest:
    """Search the smallest number of nodes of a shape with which pods fit: double it, then halve the difference."""
    if not 1 <= most <= MOST_NODES:
        raise QuestionError(f"most: Invalid value: {most}: write a number of nodes, 1 to {MOST_NODES}")
    tried: dict[int, Fits] = {}

    def fit_with(count: int) -> bool:
        if count not in tried:
            with world.suppose() as larger:
                if count:
                    add_like(larger, shape, count)
                tried[count] = fits(larger, pods)
        return tried[count].fits

    low, high = -1, 0
    while not fit_with(high):
        if high >= most:
            return Cheapest(nodes=None, shape=shape.name, most=most, answer=tried[high])
        low, high = high, min(most, max(1, 2 * high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fit_with(middle) else (middle, high)
    return Cheapest(nodes=high, shape=shape.name, most=most, answer=tried[high])
