"""Which rows are feasible, and how many of them have each value of a label."""

from __future__ import annotations

import numpy as np

from stowplan.table.columns import CodedColumn
from stowplan.table.feasible import FeasibleRows
from stowplan.testing import make_node


def labels_of(*values: str | None) -> CodedColumn:
    column = CodedColumn(lambda node: node.labels.get("zone"), len(values))
    column.fit(len(values), len(values))
    for row, value in enumerate(values):
        builder = make_node("n")
        column.write(row, (builder if value is None else builder.label("zone", value)).build())
    return column


def test_the_first_look_tells_of_no_rows_and_the_next_of_those_that_flipped() -> None:
    rows = FeasibleRows()
    mask = np.array([True, False, True])
    assert rows.refresh(mask) is None
    # The mask that is looked at may change in place.
    mask[:] = [False, True, True]
    flipped = rows.refresh(mask)
    assert flipped is not None
    assert flipped.tolist() == [0, 1]
    unmoved = rows.refresh(mask)
    assert unmoved is not None
    assert unmoved.tolist() == []


def test_counts_follow_the_rows_and_those_without_the_label_are_at_the_end() -> None:
    rows, labels = FeasibleRows(), labels_of("a", "b", "a", None)
    rows.refresh(np.array([True, True, True, False]))
    assert rows.by_label(labels).tolist() == [2, 1, 0]
    rows.refresh(np.array([False, True, True, True]))
    assert rows.by_label(labels).tolist() == [1, 1, 1]


def test_counts_are_made_anew_when_a_node_is_relabelled() -> None:
    rows, labels = FeasibleRows(), labels_of("a", "b", "a")
    rows.refresh(np.array([True, True, True]))
    assert rows.by_label(labels).tolist() == [2, 1, 0]
    labels.write(0, make_node("n").label("zone", "c").build())
    assert rows.by_label(labels).tolist() == [1, 1, 1, 0]
    labels.write(1, make_node("n").label("zone", "c").build())
    rows.refresh(np.array([True, True, False]))
    assert rows.by_label(labels).tolist() == [0, 0, 2, 0]
