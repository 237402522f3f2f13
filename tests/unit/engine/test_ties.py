"""Which of several equally good rows is taken."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stowplan.engine.ties import RandomTie, UpstreamOrder


@pytest.mark.parametrize(
    ("order", "best", "taken"),
    [
        pytest.param([4, 2, 7], [2, 4, 7], 4, id="all alike: the first found"),
        pytest.param([4, 2, 7], [2, 7], 2, id="both children: the left one"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [6, 7], 6, id="below the left child before the right child"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [3, 5], 5, id="the left half first at every depth"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [7, 4], 7, id="a parent before its child"),
        pytest.param([5], [5], 5, id="one row"),
    ],
)
def test_upstream_takes_the_first_of_a_walk_down_the_heap(order: list[int], best: list[int], taken: int) -> None:
    assert UpstreamOrder().pick(np.array(sorted(best)), lambda: np.array(order)) == taken


def test_the_same_seed_makes_the_same_choices() -> None:
    best = np.arange(10)
    first, second = (RandomTie(random.Random(7).randrange) for _ in range(2))
    choices = [first.pick(best, lambda: best) for _ in range(20)]
    assert choices == [second.pick(best, lambda: best) for _ in range(20)]
    assert len(set(choices)) > 3
