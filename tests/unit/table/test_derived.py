"""How nodes stand follows what happens to them, and is derived anew only where something happened."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stowplan.table.journal import Reads
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU, MOST_KEPT, MOST_PATCHED, Derived, DerivedLines
from stowplan.table.table import Table
from stowplan.testing import make_node, make_pod


@dataclass(frozen=True)
class FreeCpu:
    """What is free of the cpu, and half of it; notes how it was asked."""

    number: int = 0
    asked: list[str] = field(default_factory=list, compare=False)

    def of_rows(self, allocatable: NDArray[np.int64], requested: NDArray[np.int64]) -> DerivedLines:
        self.asked.append("all rows")
        free = (allocatable[CPU] - requested[CPU]).astype(np.float64)
        return np.vstack((free, free / 2))

    def of_row(self, has: list[int], taken: list[int]) -> list[float]:
        self.asked.append("one row")
        free = float(has[CPU] - taken[CPU])
        return [free, free / 2]


def table_of(*cpus: int) -> Table:
    table = Table()
    for number, cpu in enumerate(cpus):
        table.add_node(make_node(f"n{number}").capacity(cpu=cpu).build())
    return table


def derived_of(table: Table, rule: FreeCpu) -> Derived:
    derived = Nodes(table).derived(rule)
    assert derived is not None
    return derived


def test_a_pod_that_comes_and_goes_is_seen_on_its_row_alone() -> None:
    table, rule = table_of(1, 2, 3), FreeCpu()
    assert derived_of(table, rule).lines.tolist() == [[1000, 2000, 3000], [500, 1000, 1500]]
    shape = table.shape_of(make_pod().requests(cpu=1).build())
    table.add_pod(1, shape)
    table.add_pod(2, shape)
    table.remove_pod(2, shape)
    assert derived_of(table, rule).lines.tolist() == [[1000, 1000, 3000], [500, 500, 1500]]
    assert rule.asked == ["all rows", "one row", "one row"]


def test_a_node_that_changes_is_seen_on_its_row_alone() -> None:
    table, rule = table_of(1, 2), FreeCpu()
    derived_of(table, rule)
    table.update_node(make_node("n0").capacity(cpu=8).build())
    assert derived_of(table, rule).lines[0].tolist() == [8000, 2000]
    assert rule.asked == ["all rows", "one row"]


def test_rows_that_come_and_go_are_derived_anew() -> None:
    table, rule = table_of(1, 2, 3), FreeCpu()
    derived_of(table, rule)
    table.remove_node("n0")
    assert derived_of(table, rule).lines[0].tolist() == [3000, 2000]
    table.add_node(make_node("n4").capacity(cpu=5).build())
    assert derived_of(table, rule).lines[0].tolist() == [3000, 2000, 5000]


def test_many_changes_are_derived_at_once() -> None:
    table, rule = table_of(100), FreeCpu()
    derived_of(table, rule)
    for _ in range(MOST_PATCHED + 1):
        table.add_pod(0, table.shape_of(make_pod().requests(cpu=1).build()))
    assert derived_of(table, rule).lines[0].tolist() == [83_000]
    assert rule.asked == ["all rows", "all rows"]


def test_nothing_is_derived_while_nothing_happens() -> None:
    table, rule = table_of(1, 2), FreeCpu()
    derived_of(table, rule)
    derived_of(table, rule)
    assert rule.asked == ["all rows"]


def test_bounds_hold_for_every_row() -> None:
    table, rule = table_of(2, 4), FreeCpu()
    derived = derived_of(table, rule)
    assert (derived.lowest, derived.highest) == ([2000, 1000], [4000, 2000])
    table.add_pod(0, table.shape_of(make_pod().requests(cpu=3).build()))
    table.update_node(make_node("n1").capacity(cpu=9).build())
    derived = derived_of(table, rule)
    assert (derived.lowest, derived.highest) == ([-1000, -500], [9000, 4500])


def test_of_some_rows_the_numbers_are_theirs_and_of_supposed_ones_nothing_is_derived() -> None:
    table, rule = table_of(1, 2, 4), FreeCpu()
    rows = np.array([2, 0])
    derived = Nodes(table).take(rows).derived(rule)
    assert derived is not None
    assert derived.lines.tolist() == [[4000, 1000], [2000, 500]]
    assert (derived.lowest, derived.highest) == ([1000, 500], [4000, 2000]), "bounds are those of all rows"
    assert Nodes(table).suppose(rows, [[], []], [[], []]).derived(rule) is None


def test_to_read_it_is_to_read_amounts() -> None:
    table = table_of(1)
    reads: Reads = table.reads
    noted = reads.start()
    derived_of(table, FreeCpu())
    reads.stop()
    assert set(noted) == {table.resources.allocatable_journal, table.resources.requested_journal}


def test_what_readers_see_cannot_be_written() -> None:
    assert not derived_of(table_of(1), FreeCpu()).lines.flags.writeable


def test_rules_that_were_asked_about_first_are_forgotten() -> None:
    table = table_of(1)
    for number in range(MOST_KEPT + 2):
        derived_of(table, FreeCpu(number))
    assert table.derived.rules() == [FreeCpu(number) for number in range(2, MOST_KEPT + 2)]
