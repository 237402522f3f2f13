"""Pods supposed to come and go, added up by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stowplan.model.pod import Pod
from stowplan.table.hypothetical import COMES, GONE, PUT_BACK, Moves, code_shapes, offsets_of
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU, PODS
from stowplan.table.table import Table
from stowplan.testing import make_node, make_pod

SMALL = make_pod("small").requests(cpu="1").label("size", "s").build()
LARGE = make_pod("large").requests({"example.com/gpu": 2}, cpu="3").anti_affinity("size", "s").build()


class Sized(NamedTuple):
    """Counts pods that tell their size."""

    def amount(self, pod: Pod) -> int:
        return int("size" in pod.labels)


def table() -> Table:
    found = Table()
    for name in ("a", "b", "c"):
        found.add_node(make_node(name).capacity({"example.com/gpu": 4}, cpu="8").build())
    found.add_pod(0, found.shape_of(LARGE))
    found.add_pod(2, found.shape_of(SMALL))
    return found


def supposed(cluster: Table) -> Nodes:
    """The first row loses a large pod and gets two small ones, the second stays, the third loses a small one."""
    small, large = cluster.shape_of(SMALL), cluster.shape_of(LARGE)
    return Nodes(cluster).suppose(np.arange(3), [[small, small], [], []], [[large], [], [small]])


def test_requests_are_moved() -> None:
    cluster = table()
    requested = supposed(cluster).requested
    assert requested[CPU].tolist() == [2000, 0, 0]
    assert requested[PODS].tolist() == [2, 0, 0]
    assert requested[cluster.resources.find("example.com/gpu")].tolist() == [0, 0, 0]


def test_amounts_too_large_to_add_up_cancel_out() -> None:
    cluster = table()
    huge = cluster.shape_of(make_pod("huge").requests(memory="8Ei").build())
    nodes = Nodes(cluster).suppose(np.arange(2), [[huge, huge], []], [[huge, huge], []])
    assert np.array_equal(nodes.requested, Nodes(cluster).requested[:, :2])


def test_counts_and_carriers_are_moved() -> None:
    cluster = table()
    nodes = supposed(cluster)
    (term,) = cluster.shape_of(LARGE).terms
    assert nodes.count(Sized()).tolist() == [2, 0, 0]
    change = nodes.change_of(Sized())
    assert change is not None
    assert change.tolist() == [2, 0, -1]
    assert nodes.carriers(term).tolist() == [0, 0, 0]


def test_pods_put_back_are_still_told_of_as_gone() -> None:
    cluster = table()
    shapes, codes = code_shapes([cluster.shape_of(pod) for pod in (SMALL, LARGE, SMALL)])
    moves = Moves(shapes, codes, offsets_of([1, 2]), np.array([COMES, PUT_BACK, GONE]))
    assert moves.gone() == [[], [LARGE, SMALL]]
    assert moves.sum_counted(Sized()).tolist() == [1, -1]


def test_the_first_rows_with_other_signs() -> None:
    cluster = table()
    shapes, codes = code_shapes([cluster.shape_of(SMALL)] * 3)
    moves = Moves(shapes, codes, offsets_of([1, 2]), np.full(3, GONE))
    assert moves.sum_counted(Sized()).tolist() == [-1, -2]
    assert moves.first(1, np.array([COMES, GONE, GONE])).sum_counted(Sized()).tolist() == [1]


def test_what_was_added_up_follows_the_pods_of_which_something_else_is_supposed() -> None:
    cluster = table()
    shapes, codes = code_shapes([cluster.shape_of(pod) for pod in (SMALL, LARGE, SMALL)])
    moves = Moves(shapes, codes, offsets_of([1, 2]), np.full(3, GONE))
    (term,) = cluster.shape_of(LARGE).terms
    amounts = len(Nodes(cluster).requested)

    def sums() -> list[list[int]]:
        found = moves.sum_requested(amounts)[CPU], moves.sum_counted(Sized()), moves.sum_carriers(term)
        return [each.tolist() for each in found]

    assert sums() == [[-1000, -4000], [-1, -1], [0, -1]]
    moves.turn(slice(2), np.array([0, 1]), PUT_BACK)
    assert sums() == [[0, -1000], [0, -1], [0, 0]]
    moves.turn(np.array([1]), np.array([1]), GONE)
    assert sums() == [[0, -4000], [0, -1], [0, -1]]
    moves.turn(np.array([], dtype=np.intp), np.array([], dtype=np.intp), GONE)
    assert sums() == [[0, -4000], [0, -1], [0, -1]]


def test_a_row_may_be_given_twice() -> None:
    cluster = table()
    small = cluster.shape_of(SMALL)
    nodes = Nodes(cluster).suppose(np.array([2, 2]), [[], [small]], [[], []])
    assert nodes.count(Sized()).tolist() == [1, 2]
