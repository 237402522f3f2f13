"""How many nodes are enough, and what a sample leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.engine.sampling import Sampler, nodes_to_find


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [
        pytest.param(99, 10, 99, id="all of a small cluster"),
        pytest.param(1000, 100, 1000, id="all if all are asked for"),
        pytest.param(1000, 0, 1000, id="all if nothing is asked for"),
        pytest.param(1000, 30, 300, id="a percentage"),
        pytest.param(1000, 5, 100, id="never fewer than a hundred"),
        pytest.param(5001, 50, 2500, id="rounded down"),
    ],
)
def test_how_many_nodes_are_enough(nodes: int, percentage: int, enough: int) -> None:
    assert nodes_to_find(nodes, percentage) == enough


def test_a_sample_goes_on_where_the_last_one_ended() -> None:
    sampler, order = Sampler(), np.array([3, 1, 0, 2])
    feasible = np.array([True, True, False, True])
    assert np.flatnonzero(sampler.sample(order, feasible, 2)).tolist() == [1, 3]
    assert sampler.order(order).tolist() == [0, 2, 3, 1]
    assert np.flatnonzero(sampler.sample(order, feasible, 2)).tolist() == [0, 3]
    assert sampler.order(order).tolist() == [1, 0, 2, 3]


def test_a_walk_over_everything_starts_at_the_same_place_again() -> None:
    sampler, order = Sampler(), np.array([0, 1, 2])
    sampler.sample(order, np.array([True, False, True]), 2)
    assert sampler.order(order).tolist() == [0, 1, 2]
