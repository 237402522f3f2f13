"""What plugins are given: read-only, noted when read, of all rows, of some, or of rows as they would be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stowplan.model.pod import Pod
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


class Everybody:
    def amount(self, pod: Pod) -> int:
        return 1


EVERYBODY = Everybody()


def make_table() -> Table:
    table = Table()
    table.facts.declare("letters", lambda node: len(node.name))
    table.add_node(make_node("a").capacity(cpu=1).zone("x").build())
    table.add_node(make_node("bb").capacity(cpu=2).taint("gpu").build())
    table.add_node(make_node("ccc").capacity(cpu=3).zone("x").build())
    table.add_pod(2, table.shape_of(make_pod().anti_affinity("app", "web").requests(cpu="500m").build()))
    return table


def feasible(nodes: Nodes) -> Any:
    nodes.feasible_rows, nodes.feasible_journal = np.ones(len(nodes), dtype=bool), Journal()
    return nodes.feasible


ARRAYS: list[Any] = [
    pytest.param(lambda nodes: nodes.allocatable, id="allocatable"),
    pytest.param(lambda nodes: nodes.requested, id="requested"),
    pytest.param(lambda nodes: nodes.label(ZONE).codes, id="label"),
    pytest.param(lambda nodes: nodes.taints.codes, id="taints"),
    pytest.param(lambda nodes: nodes.column("letters"), id="a declared column"),
    pytest.param(lambda nodes: nodes.fact("one", lambda node: 1), id="a fact"),
    pytest.param(lambda nodes: nodes.coded("name", lambda node: node.name).codes, id="a coded fact"),
    pytest.param(lambda nodes: nodes.count(EVERYBODY), id="a count"),
    pytest.param(
        lambda nodes: nodes.carriers(nodes.terms("anti-affinity", {"app": "web"})[0]), id="carriers of a term"
    ),
    pytest.param(feasible, id="the feasible rows"),
]


@pytest.mark.parametrize("read", ARRAYS)
@pytest.mark.parametrize(
    "choose",
    [
        pytest.param(lambda nodes: nodes, id="all rows"),
        pytest.param(lambda nodes: nodes.take(np.array([2, 0])), id="some rows"),
    ],
)
def test_what_a_plugin_reads_cannot_be_written(read: Callable[[Nodes], Any], choose: Callable[[Nodes], Nodes]) -> None:
    array = read(choose(Nodes(make_table())))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize("read", [*ARRAYS, pytest.param(lambda nodes: nodes.free(0), id="what is free")])
def test_every_read_is_noted(read: Callable[[Nodes], Any]) -> None:
    table = make_table()
    nodes = Nodes(table)
    noted = table.reads.start()
    read(nodes)
    table.reads.stop()
    assert noted


def test_rows_taken_are_those_rows_in_that_order() -> None:
    nodes = Nodes(make_table()).take(np.array([2, 0]))
    assert len(nodes) == 2
    assert nodes.all_rows.tolist() == [2, 0]
    assert nodes.allocatable[0].tolist() == [3000, 1000]
    assert nodes.requested[0].tolist() == [500, 0]
    assert nodes.free(0).tolist() == [2500, 1000]
    assert nodes.label(ZONE).codes.tolist() == [0, 0]
    assert nodes.column("letters").tolist() == [3, 1]
    assert nodes.count(EVERYBODY).tolist() == [1, 0]
    assert [nodes.node(position).name for position in range(2)] == ["ccc", "a"]
    assert nodes.with_names(frozenset(("a", "nowhere"))).tolist() == [False, True]
    assert nodes.cluster_size == 3


def test_a_label_that_no_node_has_is_missing_everywhere() -> None:
    assert Nodes(make_table()).label("disk").codes.tolist() == [-1, -1, -1]


def test_taints_are_the_same_whenever_they_were_added() -> None:
    nodes = Nodes(make_table())
    assert nodes.taints.codes.tolist() == [0, 1, 0]
    assert [len(taints) for taints in nodes.taints.meanings] == [0, 1]


def test_a_resource_that_nobody_mentions_reads_zero() -> None:
    nodes = Nodes(make_table())
    assert nodes.allocatable[nodes.resource("example.com/gpu")].tolist() == [0, 0, 0]


def test_only_pre_score_is_told_what_is_feasible() -> None:
    with pytest.raises(AttributeError, match=r"nodes\.feasible is known in pre_score only"):
        _ = Nodes(make_table()).feasible


def test_hypothetical_rows_are_worlds_of_their_own() -> None:
    table = make_table()
    nodes = Nodes(table)
    small = table.shape_of(make_pod("small").requests(cpu="100m").build())
    there = next(iter(table.shapes_on[2]))
    (term,) = there.terms
    supposed = nodes.suppose(np.array([0, 2, 2]), [[small, small], [there], []], [[], [], [there]])
    assert supposed.is_hypothetical
    assert supposed.requested[0].tolist() == [200, 1000, 0]
    assert supposed.allocatable[0].tolist() == [1000, 3000, 3000]
    assert supposed.free(0).tolist() == [800, 2000, 3000]
    assert supposed.count(EVERYBODY).tolist() == [2, 2, 0]
    assert supposed.carriers(term).tolist() == [0, 2, 0]
    assert nodes.requested[0].tolist() == [0, 0, 500], "nothing happened for real"
    assert nodes.free(0).tolist() == [1000, 2000, 2500]
    assert nodes.count(EVERYBODY).tolist() == [0, 0, 1]
    assert not nodes.is_hypothetical
