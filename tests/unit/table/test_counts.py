"""Who holds what: things that several pods may hold at once, by row and by thing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from stowplan.model.pod import Pod
from stowplan.table.counts import Holding
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import make_node, make_pod
from tests.unit.table.journal_marks import marks


class Keys(NamedTuple):
    """Names the things that a pod lists in a label."""

    def things(self, pod: Pod) -> list[str]:
        return [letter for letter in pod.labels.get("holds", "") if letter != "-"]

    def amount(self, pod: Pod) -> int:
        return len(self.things(pod))


def holder(things: str) -> Pod:
    return make_pod(f"pod-{things}").label("holds", things).build()


def table_with(**pods: str) -> Table:
    """Make a table of nodes, each with pods that hold the things of one word: `a="xy z"`."""
    table = Table()
    for name, words in pods.items():
        row = table.add_node(make_node(name).build())
        for word in words.split():
            table.add_pod(row, table.shape_of(holder(word)))
    return table


def held(table: Table) -> Holding:
    return Nodes(table).holding(Keys())


def test_a_thing_is_known_by_row_and_by_name_with_its_holders() -> None:
    holding = held(table_with(a="xy x", b="-", c="y"))
    assert [dict(holding.on(row)) for row in range(3)] == [{"x": 2, "y": 1}, {}, {"y": 1}]
    assert (dict(holding.rows_with("x")), dict(holding.rows_with("y")), dict(holding.rows_with("z"))) == (
        {0: 2},
        {0: 1, 2: 1},
        {},
    )


def test_pods_that_come_and_go_later_are_followed_and_their_rows_marked() -> None:
    table = table_with(a="xy", b="x")
    holding = held(table)
    position = holding.journal.position
    table.add_pod(1, table.shape_of(holder("yz")))
    table.remove_pod(0, table.shape_of(holder("xy")))
    assert dict(holding.on(0)) == {}
    assert dict(holding.on(1)) == {"x": 1, "y": 1, "z": 1}
    assert dict(holding.rows_with("x")) == {1: 1}
    assert marks(holding.journal, position) == [1, 0]


def test_a_pod_that_holds_nothing_marks_no_row() -> None:
    table = table_with(a="x")
    holding = held(table)
    position = holding.journal.position
    table.add_pod(0, table.shape_of(make_pod("plain").build()))
    assert marks(holding.journal, position) == []


def test_rows_that_move_are_followed() -> None:
    table = table_with(a="", b="y", c="xz x")
    holding = held(table)
    position = holding.journal.position
    table.remove_node("a")
    assert (dict(holding.on(0)), dict(holding.on(2))) == ({"x": 2, "z": 1}, {})
    assert (dict(holding.rows_with("x")), dict(holding.rows_with("y"))) == ({0: 2}, {1: 1})
    assert [holding.node_name(row) for row in range(3)] == ["c", "b", ""]
    assert set(marks(holding.journal, position) or ()) == {0, 2}


def test_a_node_that_comes_marks_its_row() -> None:
    table = table_with(a="x")
    holding = held(table)
    position = holding.journal.position
    table.add_node(make_node("b").build())
    assert marks(holding.journal, position) == [1]
    assert holding.row_of == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("come", "gone", "change"),
    [
        pytest.param("", "x", {"x": -1}, id="a pod that goes"),
        pytest.param("yz", "", {"y": 1, "z": 1}, id="a pod that comes"),
        pytest.param("x", "x", {"x": 0}, id="one that takes the place of another"),
    ],
)
def test_supposed_rows_tell_what_changes(come: str, gone: str, change: dict[str, int]) -> None:
    table = table_with(a="x x", b="x")
    shapes = [[table.shape_of(holder(word))] if word else [] for word in (come, gone)]
    nodes = Nodes(table).suppose(np.array([1, 0]), [[], shapes[0]], [[], shapes[1]])
    assert {position: dict(found) for position, found in nodes.change_of_holding(Keys()).items()} == {1: change}


def test_where_nothing_is_supposed_nothing_changes() -> None:
    assert Nodes(table_with(a="x")).change_of_holding(Keys()) == {}
