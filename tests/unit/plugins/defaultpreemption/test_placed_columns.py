"""The pods of nodes as columns say what the pods themselves say, whatever has happened since they were laid out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stowplan.app.cluster import Cluster
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.placed_columns import FEW_SHAPES, SLACK, PlacedColumns
from tests.unit.plugins.defaultpreemption import crowded
from tests.unit.plugins.defaultpreemption.crowded import node, placed


def told(columns: PlacedColumns, cluster: Cluster, rows: list[int]) -> list[list[tuple[str, int, str]]]:
    """Return, row by row, the names, priorities and requests of its pods as the columns have them."""
    wanted = np.array(rows, dtype=np.intp)
    columns.begin(len(cluster.cache.table))
    columns.refresh(wanted, cluster.cache.table.names())
    places, offsets = columns.lay_out(wanted)
    shapes, codes = columns.shapes_at(places)
    entries = [
        (columns.pods[place].pod.name, int(columns.priorities[place]), _cpu(shapes[code].pod))
        for place, code in zip(places.tolist(), codes.tolist(), strict=True)
    ]
    return [entries[start:end] for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def _cpu(pod: Pod) -> str:
    return str(pod.spec.containers[0].resources.requests["cpu"])


def test_rows_are_laid_out_in_the_order_given_the_most_important_pod_first() -> None:
    cluster = crowded.cluster_of(
        node("a"), node("b"), node("c"), placed("a1", "a", cpu="1"), placed("a2", "a", cpu="2", priority=5)
    )
    cluster.add(placed("c1", "c", cpu="1"))
    columns = PlacedColumns(cluster.handle.pods)
    assert told(columns, cluster, [2, 1, 0]) == [[("c1", 0, "1")], [], [("a2", 5, "2"), ("a1", 0, "1")]]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda cluster: cluster.add(placed("a2", "a", cpu="2", priority=5)),
            [[("a2", 5, "2"), ("a1", 0, "1")], [("b1", 0, "1")]],
            id="a pod that comes",
        ),
        pytest.param(
            lambda cluster: cluster.remove(placed("a1", "a", cpu="1")), [[], [("b1", 0, "1")]], id="a pod that goes"
        ),
        pytest.param(
            lambda cluster: cluster.add(placed("a1", "a", cpu="3")),
            [[("a1", 0, "3")], [("b1", 0, "1")]],
            id="a pod that changes",
        ),
        pytest.param(
            lambda cluster: [cluster.remove(node("a")), cluster.add(node("c"))],
            [[("b1", 0, "1")], []],
            id="a node whose row becomes another's",
        ),
    ],
)
def test_what_has_changed_is_laid_out_anew(
    change: Callable[[Cluster], object], expected: list[list[tuple[str, int, str]]]
) -> None:
    cluster = crowded.cluster_of(node("a"), node("b"), placed("a1", "a", cpu="1"), placed("b1", "b", cpu="1"))
    columns = PlacedColumns(cluster.handle.pods)
    told(columns, cluster, [0, 1])
    change(cluster)
    assert told(columns, cluster, [0, 1]) == expected


def test_pods_of_many_shapes_are_told_apart() -> None:
    pods = [placed(f"a{number}", "a", cpu=f"{number + 1}", started=number) for number in range(FEW_SHAPES + 4)]
    cluster = crowded.cluster_of(node("a"), node("b"), *pods, placed("b1", "b", cpu="1"))
    columns = PlacedColumns(cluster.handle.pods)
    expected = [(f"a{number}", 0, str(number + 1)) for number in range(FEW_SHAPES + 4)]
    assert told(columns, cluster, [1, 0]) == [[("b1", 0, "1")], expected]


def test_runs_that_nobody_needs_are_cleared_away_and_the_others_still_hold() -> None:
    count = 64
    pods = [placed(f"a{number}", "a", cpu="1", started=number) for number in range(count)]
    cluster = crowded.cluster_of(node("a"), node("b"), *pods, placed("b1", "b", cpu="1"))
    columns = PlacedColumns(cluster.handle.pods)
    expected = [(f"a{number}", 0, "1") for number in range(count)]
    most = 0
    for turn in range(3 * SLACK // count):
        cluster.add(placed("a0", "a", cpu=f"{turn % 2 + 1}", started=0))
        first = ("a0", 0, str(turn % 2 + 1))
        assert told(columns, cluster, [0, 1]) == [[first, *expected[1:]], [("b1", 0, "1")]]
        most = max(most, len(columns.pods))
    assert SLACK < most < 2 * SLACK
