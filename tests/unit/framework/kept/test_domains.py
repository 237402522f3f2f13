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
        self.kept = DomainScores("zone", self.held, self.summed(), lambda: self.held, self.weigh)

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
        codes, change = self.kept.follow(self.summed(), lambda: self.held, self.weigh)
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
def test_all_follow_when_lowest_or_highest_move(code: int, now: int, expected: dict[int, int]) -> None:
    world = World([0, 5, 10], [1, 1, 1])
    world.change(code, now)
    assert world.follow() == expected


def test_only_different_scores_are_weighed_when_the_highest_moves_and_nothing_else_follows() -> None:
    world = World([0, 0, 0, 0, 8], [1, 1, 1, 1, 1])
    for highest, changes in ((10, {}), (12, {}), (14, {})):
        world.change(4, highest)
        assert world.follow() == changes
    assert world.weighed == [2]
    world.change(3, 14)
    assert world.follow() == {3: 100}


def test_a_domain_without_feasible_rows_is_not_weighed_until_it_has_one() -> None:
    world = World([0, 0, 0, 0, 8, 40], [1, 1, 1, 1, 1, 0])
    world.change(4, 10)
    world.follow()
    world.change(4, 20)
    assert world.follow() == {}
    world.held[5] = 1
    world.kept.forget_extent()
    assert world.follow() == {4: -50, 5: 100}


def test_another_log_means_that_anything_may_have_changed() -> None:
    world = World([0, 5, 10], [1, 1, 1])
    world.log, world.raw = SumsLog(), np.array([0, 6, 10])
    assert (world.follow(), world.weighed) == ({1: 10}, [3])


def test_the_extent_is_another_when_other_rows_are_feasible() -> None:
    world = World([0, 5, 10], [1, 1, 1])
    world.held = np.array([1, 1, 0])
    world.kept.forget_extent()
    assert world.follow() == {1: 50}


@pytest.mark.parametrize("size", [1, 2, 5, 40, 300])
@pytest.mark.parametrize("values", [4, 200], ids=["few scores", "many scores"])
def test_whatever_happens_scores_are_those_given_anew(size: int, values: int) -> None:
    draw = random.Random(size)
    # There is always a feasible row somewhere.
    world = World([draw.randrange(values) for _ in range(size)], [1, *(draw.randrange(2) for _ in range(size - 1))])
    for _ in range(120):
        for _ in range(draw.choice([0, 1, 1, 1, 2, 100])):
            world.change(draw.randrange(size), draw.randrange(values))
        if draw.random() < 0.2:
            world.held = np.array([1, *(draw.randrange(2) for _ in range(size - 1))])
            world.kept.forget_extent()
        followed = world.kept.weighted.copy()
        for code, by in world.follow().items():
            followed[code] += by
        assert world.kept.weighted.tolist() == followed.tolist()
        anew = DomainScores("zone", world.held, world.summed(), lambda: world.held, world.weigh)
        assert followed[world.held > 0].tolist() == anew.weighted[world.held > 0].tolist()
