"""Scores that follow from a label, domain by domain."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stowplan.framework.kept.domains import DomainScores
from stowplan.table.columns import Scores
from stowplan.table.domain_sums import Summed, SumsLog


class World:
    """Raw scores by code that change in place, how many feasible rows have each code, and what is kept of both."""

    def __init__(self, raw: list[int], held: list[int]) -> None:
        self.raw, self.held, self.log = np.array(raw), np.array(held), SumsLog()
        #: How many raw scores each question was about.
        self.weighed: list[int] = []
        self.kept = DomainScores("zone", self.held, self.summed(), self.held, self.weigh)

    def summed(self) -> Summed:
        return Summed(self.raw, self.log, self.log.position)

    def weigh(self, raw: Scores, extent: tuple[int, int]) -> Scores:
        self.weighed.append(len(raw))
        low, high = extent
        return (raw - low) * 100 // max(1, high - low)

    def change(self, code: int, now: int) -> None:
        self.log.note(code, self.raw.item(code))
        self.raw[code] = now

    def follow(self) -> dict[int, int]:
        """Return the codes that come to another score, and by how much."""
        self.weighed.clear()
        codes, change = self.kept.follow(self.summed(), self.held, self.weigh)
        return {code: by for code, by in zip(codes.tolist(), change.tolist(), strict=True) if by}


def test_the_extent_is_that_of_domains_with_feasible_rows() -> None:
    world = World([0, 5, 10, 100], [1, 1, 1, 0])
    assert world.kept.weighted[:3].tolist() == [0, 50, 100]


def test_only_domains_that_changed_are_weighed_while_lowest_and_highest_stay() -> None:
    world = World([0, 5, 10, 10, 0], [1, 1, 1, 1, 1])
    world.change(1, 7)
    world.change(2, 5)
    assert (world.follow(), world.weighed) == ({1: 20, 2: -50}, [2])


@pytest.mark.parametrize(
    ("code", "now", "expected"),
    [
        pytest.param(1, 20, {1: 50, 2: -50}, id="one above the highest"),
        pytest.param(2, 8, {1: 12}, id="the only highest goes down"),
        pytest.param(0, 4, {1: -34}, id="the only lowest goes up"),
    ],
)
def test_all_are_weighed_when_lowest_or_highest_move(code: int, now: int, expected: dict[int, int]) -> None:
    world = World([0, 5, 10], [1, 1, 1])
    world.change(code, now)
    assert (world.follow(), world.weighed) == (expected, [3])


def test_another_log_means_that_anything_may_have_changed() -> None:
    world = World([0, 5, 10], [1, 1, 1])
    world.log, world.raw = SumsLog(), np.array([0, 6, 10])
    assert (world.follow(), world.weighed) == ({1: 10}, [3])


def test_the_extent_is_searched_anew_when_other_rows_are_feasible() -> None:
    world = World([0, 5, 10], [1, 1, 1])
    world.held = np.array([1, 1, 0])
    world.kept.forget_extent()
    assert world.follow() == {1: 50, 2: 100}


def test_whatever_happens_scores_are_those_given_anew() -> None:
    draw = random.Random(3)
    for size in (1, 2, 5, 40):
        world = World([draw.randrange(4) for _ in range(size)], [draw.randrange(2) for _ in range(size)])
        for _ in range(80):
            for _ in range(draw.randrange(3)):
                world.change(draw.randrange(size), draw.randrange(4))
            if draw.random() < 0.2:
                world.held = np.array([draw.randrange(2) for _ in range(size)])
                world.kept.forget_extent()
            before = world.kept.weighted.copy()
            for code, by in world.follow().items():
                before[code] += by
            anew = DomainScores("zone", world.held, world.summed(), world.held, world.weigh)
            assert world.kept.weighted.tolist() == before.tolist() == anew.weighted.tolist()
