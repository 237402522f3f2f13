"""Totals that change in place, and the rows that have the highest."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stowplan.framework.kept.totals import BLOCK, FEW_BLOCKS, Totals
from stowplan.table.columns import Mask, Scores


def opened(rows: int, *parts: list[int]) -> Totals:
    totals = Totals(rows)
    totals.start(np.ones(rows, dtype=bool), [np.array(part) for part in parts])
    return totals


def test_a_row_that_closes_is_not_feasible_and_opens_with_what_it_has_by_then() -> None:
    totals = opened(3, [1, 2, 3], [10, 10, 10])
    totals.open_or_close(np.array([2]), np.array([False]))
    totals.add_one(2, 5)
    assert totals.shown().tolist() == [11, 12, -1]
    totals.open_or_close(np.array([2]), np.array([True]))
    assert totals.shown().tolist() == [11, 12, 18]


def test_many_rows_open_and_close_at_once() -> None:
    count = FEW_BLOCKS + 2
    totals = opened(count, [7] * count)
    rows = np.arange(1, count)
    totals.open_or_close(rows, np.zeros(len(rows), dtype=bool))
    assert totals.shown().tolist() == [7] + [-1] * (count - 1)


def test_rows_that_are_not_feasible_are_never_best() -> None:
    totals = Totals(3)
    totals.start(np.array([True, False, True]), [np.array([1, 100, 1])])
    assert list(totals.best()) == [0, 2]


@pytest.mark.parametrize("rows", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5, 40 * BLOCK])
def test_the_best_rows_are_those_a_search_of_all_finds_whatever_happened(rows: int) -> None:
    draw = random.Random(rows)
    totals = Totals(rows)
    feasible = np.array([draw.random() < 0.7 for _ in range(rows)])
    totals.start(feasible, [])
    scores = np.zeros(rows, dtype=np.int64)
    for _ in range(60):
        draw.choice((few, many, everything, flip))(draw, totals, scores, feasible)
        expected = np.where(feasible, scores, -1)
        assert totals.shown().tolist() == expected.tolist()
        if expected.max() < 0:
            continue
        wanted = np.flatnonzero(expected == expected.max()).tolist()
        best = totals.best()
        assert list(best) == wanted
        assert [best[position] for position in (0, len(wanted) // 2, len(wanted) - 1)] == [
            wanted[0],
            wanted[len(wanted) // 2],
            wanted[-1],
        ]
        assert len(best) == len(wanted)


def few(draw: random.Random, totals: Totals, scores: Scores, feasible: Mask) -> None:
    row = draw.randrange(len(scores))
    amount = draw.randrange(0, 3)
    totals.add_one(row, amount)
    scores[row] += amount


def many(draw: random.Random, totals: Totals, scores: Scores, feasible: Mask) -> None:
    rows = np.array(sorted(draw.sample(range(len(scores)), draw.randint(1, min(30, len(scores))))))
    amounts = np.array([draw.randrange(0, 2) for _ in rows])
    totals.add(rows, amounts)
    scores[rows] += amounts


def everything(draw: random.Random, totals: Totals, scores: Scores, feasible: Mask) -> None:
    amounts = np.array([draw.randrange(0, 2) for _ in scores])
    totals.add_all(amounts)
    scores += amounts


def flip(draw: random.Random, totals: Totals, scores: Scores, feasible: Mask) -> None:
    rows = np.array(sorted(draw.sample(range(len(scores)), draw.randint(1, min(30, len(scores))))))
    feasible[rows] ^= True
    totals.open_or_close(rows, feasible[rows])
