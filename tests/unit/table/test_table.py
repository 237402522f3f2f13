"""The table: rows stay dense, columns follow events, and what is not used is dropped without harm."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

import numpy as np
import pytest

from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table import columns as columns_module
from stowplan.table.nodes import Nodes
from stowplan.table.table import FIRST_CAPACITY, Table
from stowplan.testing import make_node, make_pod
from tests.unit.table.journal_marks import marks


@dataclass(frozen=True)
class App:
    """Counts the pods of an app."""

    name: str

    def amount(self, pod: Pod) -> int:
        return int(pod.labels.get("app") == self.name)


def table_of(*names: str) -> Table:
    table = Table()
    for number, name in enumerate(names):
        table.add_node(make_node(name).capacity(cpu=number + 1).label("place", name).build())
    return table


def place(table: Table, name: str, *apps: str) -> None:
    for app in apps:
        table.add_pod(table.row_of[name], table.shape_of(make_pod().label("app", app).build()))


def test_the_last_row_moves_into_the_place_of_a_node_that_goes() -> None:
    table = table_of("a", "b", "c")
    counts = table.counts.count(App("web"))
    place(table, "c", "web", "web")
    table.remove_node("a")
    assert table.names() == ["c", "b"]
    assert table.row_of == {"c": 0, "b": 1}
    assert counts.view.tolist() == [2, 0]
    assert Nodes(table).allocatable[0].tolist() == [3000, 2000]
    label = Nodes(table).label("place")
    assert [label.meanings[code] for code in label.codes] == ["c", "b"]


def test_a_moved_row_is_still_taken_back_from() -> None:
    table = table_of("a", "b")
    place(table, "b", "web")
    table.remove_node("a")
    table.remove_pod(0, table.shape_of(make_pod().label("app", "web").build()))
    assert table.shapes_on == [{}]
    assert table.counts.count(App("web")).view.tolist() == [0]


def test_a_node_with_pods_is_not_dropped() -> None:
    table = table_of("a")
    place(table, "a", "web")
    with pytest.raises(ValueError, match="node 'a': still has pods counted; remove them from the table first"):
        table.remove_node("a")


def test_a_node_that_comes_or_goes_moves_the_layout_and_an_update_does_not() -> None:
    table = table_of("a")
    position = table.layout.position
    table.update_node(make_node("a").label("place", "elsewhere").build())
    assert table.layout.position == position
    table.add_node(make_node("b").build())
    assert table.layout.position == position + 1
    table.remove_node("b")
    assert table.layout.position == position + 2


def test_an_update_marks_only_what_changed() -> None:
    table = table_of("a", "b")
    nodes = Nodes(table)
    nodes.label("place"), nodes.taints
    label, taints = (dict(table.facts.columns.items())[key].journal for key in (("label", "place"), "taints"))
    allocatable = table.resources.allocatable_journal
    start = label.position, taints.position, table.node_journal.position, allocatable.position
    table.update_node(make_node("b").capacity(cpu=2).label("place", "moved").build())
    assert marks(label, start[0]) == [1]
    assert marks(taints, start[1]) == []
    assert marks(table.node_journal, start[2]) == [1]
    assert marks(allocatable, start[3]) == []


def test_an_update_that_changes_nothing_marks_nothing() -> None:
    table = table_of("a")
    position = table.node_journal.position
    table.update_node(make_node("a").capacity(cpu=1).label("place", "a").build())
    assert table.node_journal.position == position


def test_columns_grow_with_the_table() -> None:
    table = table_of("first")
    counts, label = table.counts.count(App("web")), Nodes(table).label("place")
    shape = table.shape_of(make_pod().anti_affinity("app", "web").build())
    for number in range(FIRST_CAPACITY):
        table.add_node(make_node(f"n{number}").label("place", "far").build())
    place(table, f"n{FIRST_CAPACITY - 1}", "web")
    table.add_pod(FIRST_CAPACITY, shape)
    assert counts.view.tolist() == [0] * FIRST_CAPACITY + [1]
    assert shape.terms[0].column.view.tolist() == [0] * FIRST_CAPACITY + [1]
    label = Nodes(table).label("place")
    assert label.codes.tolist() == [0] + [1] * FIRST_CAPACITY


def test_a_count_is_built_from_the_pods_that_are_there() -> None:
    table = table_of("a", "b")
    place(table, "a", "web", "db", "web")
    place(table, "b", "db")
    assert table.counts.count(App("web")).view.tolist() == [2, 0]
    assert table.counts.count(App("db")).view.tolist() == [1, 1]
    assert table.counts.count(App("web")) is table.counts.count(App("web"))


def test_counts_that_are_not_used_are_dropped_and_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "KEPT_COLUMNS", 4)
    table = table_of("a", "b")
    web = table.counts.count(App("web"))
    position = web.journal.position
    for app in ("one", "two", "three"):
        table.counts.count(App(app))
    place(table, "a", "web")
    table.counts.count(App("four"))
    assert web.journal.since(position) is None, "who read it must read again"
    place(table, "b", "web", "four")
    again = table.counts.count(App("web"))
    assert again is not web
    assert again.view.tolist() == [1, 1]
    assert table.counts.count(App("four")).view.tolist() == [0, 1]
    assert len(list(table.counts.columns)) <= 4


@dataclass(frozen=True)
class LabelledApps:
    """Counts the pods of some apps, says which labels those have, and does not want to be asked about others."""

    names: tuple[str, ...]

    def needed_labels(self) -> list[tuple[tuple[str, str], ...]]:
        return [tuple(("app", name) for name in self.names)]

    def amount(self, pod: Pod) -> int:
        assert pod.labels["app"] in self.names
        return 1


def test_a_pod_is_counted_by_rules_about_its_labels_and_the_others_are_not_asked() -> None:
    table = table_of("a", "b")
    db, web = table.counts.count(LabelledApps(("db",))), table.counts.count(App("web"))
    place(table, "b", "web", "db")
    table.remove_pod(1, table.shape_of(make_pod().label("app", "db").build()))
    both = table.counts.count(LabelledApps(("web", "cache")))
    place(table, "a", "cache", "db", "web", "other")
    assert (db.view.tolist(), web.view.tolist(), both.view.tolist()) == ([1, 0], [1, 1], [2, 1])


def test_facts_that_are_not_used_are_dropped_and_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "KEPT_COLUMNS", 4)
    table = table_of("a", "b")
    for number in range(8):
        Nodes(table).label(f"key-{number}")
    table.update_node(make_node("b").label("key-0", "x").build())
    label = Nodes(table).label("key-0")
    assert label.codes.tolist() == [-1, 0]
    assert len(list(table.facts.columns.items())) <= 4


def test_a_column_in_use_outlives_those_that_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "KEPT_COLUMNS", 4)
    table = table_of("a")
    web = table.counts.count(App("web"))
    for number in range(20):
        table.counts.count(App(f"other-{number}"))
        assert table.counts.count(App("web")) is web


def test_a_number_is_not_asked_for_as_a_code() -> None:
    table = table_of("a")
    table.facts.fact("size", lambda node: 1, np.int64)
    with pytest.raises(TypeError, match="column 'size' holds numbers, not codes; use another key"):
        table.facts.coded("size", lambda node: "x")


def test_a_declared_column_is_known_by_name() -> None:
    table = table_of("a", "bb")
    table.facts.declare("letters", lambda node: len(node.name))
    assert Nodes(table).column("letters").tolist() == [1, 2]
    with pytest.raises(KeyError, match="column 'celsius' is not declared by any enabled plugin; declared: letters"):
        Nodes(table).column("celsius")


def test_a_column_that_cannot_be_read_off_a_node_says_what_went_wrong_and_where() -> None:
    def degrees(node: Node) -> float:
        return float(node.metadata.annotations["celsius"])

    table = table_of("cold")
    table.facts.declare("celsius", degrees)
    with pytest.raises(ValueError, match="no number for node 'cold': KeyError: 'celsius'; let its function") as raised:
        Nodes(table).column("celsius")
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "degrees"


def test_names_given_out_stay_as_they_are() -> None:
    table = table_of("a", "b")
    names = table.names()
    table.remove_node("a")
    assert names == ["a", "b"]
    assert table.names() == ["b"]


def test_the_order_of_rows_follows_zones() -> None:
    table = Table()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        table.add_node(make_node(name).zone(zone).build())
    assert table.order().tolist() == [0, 2, 1]
    table.remove_node("a1")
    assert table.names() == ["b1", "a2"]
    assert table.order().tolist() == [1, 0]


def test_a_node_that_changes_its_zone_keeps_its_turn_until_nodes_come_or_go() -> None:
    table = Table()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        table.add_node(make_node(name).zone(zone).build())
    assert table.order().tolist() == [0, 2, 1]
    table.update_node(make_node("a1").zone("b").build())
    assert table.order().tolist() == [0, 2, 1]
    table.add_node(make_node("c1").zone("c").build())
    assert table.order().tolist() == [1, 2, 3, 0]


def test_terms_come_into_use_and_leave_it_with_their_pods() -> None:
    table = table_of("a")
    shape = table.shape_of(make_pod().anti_affinity("app", "web").build())
    position = table.terms.journal.position
    table.add_pod(0, shape)
    assert table.terms.journal.since(position) is None
    position = table.terms.journal.position
    table.add_pod(0, shape)
    table.remove_pod(0, shape)
    assert marks(table.terms.journal, position) == []
    table.remove_pod(0, shape)
    assert table.terms.journal.since(position) is None
    assert not shape.terms[0].is_used
