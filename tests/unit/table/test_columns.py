"""Columns: what they show, what they mark, and that nobody but their owner writes."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import CodedColumn, Column, CountColumn, FactColumn
from stowplan.testing import make_node
from tests.unit.table.journal_marks import marks


def size_of_name(node: Node) -> int:
    return len(node.name)


class Everybody:
    def amount(self, pod: Pod) -> int:
        return 1


def test_a_column_shows_the_rows_there_are() -> None:
    column = Column(np.int64, 4)
    column.values[:] = (5, 6, 7, 8)
    column.fit(4, 3)
    assert column.view.tolist() == [5, 6, 7]


def test_a_column_keeps_its_values_when_it_grows() -> None:
    column = Column(np.int64, 2)
    column.values[:] = (5, 6)
    column.fit(8, 3)
    assert column.view.tolist() == [5, 6, 0]
    assert len(column.values) == 8


def test_what_readers_see_cannot_be_written() -> None:
    column = Column(np.int64, 2)
    column.fit(2, 2)
    with pytest.raises(ValueError, match="read-only"):
        column.view[0] = 1


def test_readers_see_later_changes() -> None:
    column = CountColumn(Everybody(), 2)
    column.fit(2, 2)
    shown = column.view
    column.add(1, 3)
    assert shown.tolist() == [0, 3]


def test_a_fact_marks_only_rows_whose_value_changed() -> None:
    column = FactColumn(size_of_name, np.int64, 4)
    column.write(0, make_node("ab").build())
    column.write(1, make_node("abc").build())
    column.write(0, make_node("xy").build())
    assert column.values.tolist() == [2, 3, 0, 0]
    assert marks(column.journal, 0) == [0, 1]


def test_codes_count_up_and_are_never_taken_back() -> None:
    column = CodedColumn(lambda node: node.labels.get("disk"), 4)
    for row, disk in enumerate(("ssd", "hdd", "ssd")):
        column.write(row, make_node("n").label("disk", disk).build())
    column.write(0, make_node("n").build())
    assert column.values.tolist() == [-1, 1, 0, 0]
    assert column.meanings == ["ssd", "hdd"]
    assert column.code("hdd") == 1
    assert column.code(None) == -1


def test_a_count_adds_up_and_marks_every_change() -> None:
    column = CountColumn(Everybody(), 3)
    column.add(2, 4)
    column.add(2, -1)
    column.add(0, 1)
    assert column.values.tolist() == [1, 0, 3]
    assert column.total == 4
    assert marks(column.journal, 0) == [2, 2, 0]


def test_rows_move_and_are_cleared() -> None:
    column = CountColumn(Everybody(), 3)
    column.add(2, 4)
    column.move(2, 0)
    column.clear(2)
    assert column.values.tolist() == [4, 0, 0]
