"""PrioritySort: who is tried first."""

from __future__ import annotations

import pytest

from stowplan.plugins.queuesort import PrioritySort
from tests.unit.plugins.small_cluster import make_pod


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((10, 5.0), (9, 1.0), id="the higher priority goes first, however late it came"),
        pytest.param((7, 1.0), (7, 2.0), id="of equal priorities the earlier goes first"),
        pytest.param((0, 9.0), (-1, 1.0), id="negative priorities go last"),
    ],
)
def test_order_of_two_pods(first: tuple[int, float], second: tuple[int, float]) -> None:
    keys = [PrioritySort().sort_key(make_pod(priority=priority), queued) for priority, queued in (first, second)]
    assert keys[0] < keys[1]
