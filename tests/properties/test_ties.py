"""The deterministic tie rule takes what is on top of a binary heap that was built over the rows as they were found."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stowplan.engine.scheduling_cycle import RandomTie, UpstreamOrder
from tests.examples import examples


@st.composite
def totals_in_order(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Draw (row, total) in the order found: rows are not consecutive, totals often equal."""
    totals = draw(st.lists(st.integers(0, 3), min_size=1, max_size=70))
    rows = draw(st.permutations(range(len(totals))))
    return [(3 * row, total) for row, total in zip(rows, totals, strict=True)]


@settings(max_examples=examples(1000))
@given(totals_in_order())
@example([(0, 1), (3, 2), (6, 2)])
@example([(9, 0), (3, 0), (6, 5), (0, 5), (12, 5), (15, 5), (18, 5)])
def test_the_choice_is_the_top_of_a_heap(found: list[tuple[int, int]]) -> None:
    highest = max(total for _, total in found)
    best = np.zeros(3 * len(found), dtype=bool)
    best[[row for row, total in found if total == highest]] = True
    order = np.array([row for row, _ in found])
    assert UpstreamOrder().pick(best, lambda: order) == top_of_heap(found)


def top_of_heap(found: list[tuple[int, int]]) -> int:
    """Build a heap from the last parent to the root, each sinking below children that are strictly better."""
    heap = list(found)
    for start in reversed(range(len(heap) // 2)):
        parent = start
        while 2 * parent + 1 < len(heap):
            child = 2 * parent + 1
            if child + 1 < len(heap) and heap[child + 1][1] > heap[child][1]:
                child += 1
            if heap[child][1] <= heap[parent][1]:
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            parent = child
    return heap[0][0]


# Rows from where they are looked for in several steps, too.
@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=9, unique=True), st.data())
def test_a_random_choice_is_the_one_that_was_drawn(best: list[int], data: st.DataObject) -> None:
    drawn = data.draw(st.integers(0, len(best) - 1))
    asked: list[int] = []

    def draw(count: int) -> int:
        asked.append(count)
        return drawn

    def must_not_be_asked() -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        raise AssertionError("a random choice does not depend on the order found")

    is_best = np.zeros(50_001, dtype=bool)
    is_best[best] = True
    assert RandomTie(draw).pick(is_best, must_not_be_asked) == sorted(best)[drawn]
    assert asked == [len(best)]
