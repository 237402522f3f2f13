"""A sample is what a walk over the nodes finds that stops at the first feasible node too many."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.engine.scheduling_cycle import Sampler
from tests.examples import examples

SIZE = 12
pods = st.lists(st.tuples(st.lists(st.booleans(), min_size=SIZE, max_size=SIZE), st.integers(1, SIZE)), max_size=8)


@settings(max_examples=examples(500))
@given(st.permutations(range(SIZE)), pods)
def test_samples_follow_each_other_as_walks_do(order: list[int], attempts: list[tuple[list[bool], int]]) -> None:
    sampler, start = Sampler(), 0
    for feasible, enough in attempts:
        walked = [order[(start + step) % SIZE] for step in range(SIZE)]
        assert sampler.order(np.array(order)).tolist() == walked
        kept = sampler.sample(np.array(order), np.array(feasible), enough)
        found, looked_at = walk(walked, feasible, enough)
        assert np.flatnonzero(kept).tolist() == sorted(found)
        start = (start + looked_at) % SIZE


def walk(rows: list[int], feasible: list[bool], enough: int) -> tuple[list[int], int]:
    """Return the feasible rows found, and how many rows were looked at: the one too many does not count."""
    found: list[int] = []
    for looked_at, row in enumerate(rows):
        if feasible[row]:
            if len(found) == enough:
                return found, looked_at
            found.append(row)
    return found, len(rows)


@given(st.permutations(range(SIZE)), st.integers(1, SIZE - 1))
def test_over_time_every_node_gets_its_turn(order: list[int], enough: int) -> None:
    sampler = Sampler()
    seen: set[int] = set()
    for _ in range(SIZE):
        kept = sampler.sample(np.array(order), np.ones(SIZE, dtype=bool), enough)
        assert np.count_nonzero(kept) == enough
        seen.update(np.flatnonzero(kept).tolist())
    assert seen == set(range(SIZE))
