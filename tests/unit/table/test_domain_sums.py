"""Sums by domain that are followed, the log of what they were, and the journals of what matters to whom."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.table.columns import CountColumn
from stowplan.table.domain_sums import MOST_LOGGED, MOST_MARKED, Summed, SumsLog, WeightedSumsBook
from stowplan.table.facts import Facts
from stowplan.table.journal import Journal
from stowplan.testing import make_node
from tests.unit.table.journal_marks import marks


class Nobody:
    def amount(self, pod: object) -> int:
        return 0


class World:
    """Two nodes in zone a, one in b, one in none, many in c; and what was counted on each."""

    def __init__(self, *counts: int) -> None:
        zones = ["a", "a", "b", "", *["c"] * (MOST_MARKED + 1)]
        nodes = [make_node("n").label("zone", zone) if zone else make_node("n") for zone in zones]
        facts = Facts([node.build() for node in nodes], len(zones))
        self.labels = facts.coded("zone", lambda node: node.metadata.labels.get("zone"))
        self.column = CountColumn(Nobody(), len(zones))
        self.column.fit(len(zones), len(zones))
        for row, count in enumerate(counts):
            self.column.add(row, count)
        self.sums = self.column.sums_by("zone", self.labels)

    def relabel(self, row: int, zone: str) -> None:
        self.labels.write(row, make_node("n").label("zone", zone).build())


def test_sums_are_by_code_and_none_is_at_the_end() -> None:
    assert World(1, 0, 2, 5).sums.by_code.tolist() == [1, 2, 0, 0]


def test_sums_follow_and_tell_what_they_were() -> None:
    world = World(1, 0, 2, 5)
    before = world.sums.read()
    for row, amount in ((1, 3), (0, -1), (3, 9)):
        world.column.add(row, amount)
    now = world.sums.read()
    assert now.by_code.tolist() == [3, 2, 0, 0]
    assert now.changed_since(before) == {0: 1}
    assert now.changed_since(now) == {}
    assert (world.sums.total, [world.sums.at(row) for row in (0, 1, 2, 3)]) == (5, [3, 3, 2, 0])


def test_readers_cannot_write() -> None:
    assert not World().sums.by_code.flags.writeable


def test_sums_are_added_up_anew_when_a_row_gets_another_label() -> None:
    world = World(1, 1, 2)
    before = world.sums.read()
    world.relabel(1, "b")
    # What happens before somebody asks again is in the new sums as well.
    world.column.add(1, 4)
    sums = world.column.sums_by("zone", world.labels)
    assert sums.by_code.tolist() == [1, 7, 0, 0]
    assert (sums.total, sums.read().changed_since(before)) == (8, None)
    world.column.add(0, 1)
    assert sums.by_code.tolist() == [2, 7, 0, 0]


@pytest.mark.parametrize(
    ("adds", "marked"),
    [
        pytest.param([(0, 1)], [], id="one more where there were some"),
        pytest.param([(2, 1)], [2], id="the first of a domain"),
        pytest.param([(0, -1)], [0, 1], id="the last of a domain"),
        pytest.param([(3, 1)], [], id="where the label is missing"),
        pytest.param([(2, 1), (2, 1), (0, 1)], [2], id="several"),
        pytest.param([(5, 1)], None, id="the first of a domain of very many rows"),
    ],
)
def test_rows_are_told_when_the_first_pod_of_their_domain_comes_or_the_last_goes(
    adds: list[tuple[int, int]], marked: list[int] | None
) -> None:
    world = World(1)
    journal = world.sums.presence
    before = journal.position
    for row, amount in adds:
        world.column.add(row, amount)
    assert marks(journal, before) == marked


@pytest.mark.parametrize(
    ("row", "amount", "moves"),
    [
        pytest.param(2, 1, False, id="one more"),
        pytest.param(0, -1, True, id="the last goes"),
        pytest.param(3, 1, False, id="where the label is missing"),
    ],
)
def test_it_is_told_when_the_last_pod_of_all_goes(row: int, amount: int, moves: bool) -> None:
    world = World(1)
    assert has_moved(world.sums.existence, world, row, amount) is moves


def test_it_is_told_when_the_first_pod_of_all_comes_where_the_label_is() -> None:
    world = World(0, 0, 0, 7)
    assert not has_moved(world.sums.existence, world, 3, 1)
    assert has_moved(world.sums.existence, world, 2, 1)


def has_moved(journal: Journal, world: World, row: int, amount: int) -> bool:
    before = journal.position
    world.column.add(row, amount)
    return journal.position != before


def test_who_holds_sums_of_a_column_that_is_given_up_is_told() -> None:
    world = World(1)
    before = world.sums.existence.position
    world.column.retire()
    assert world.sums.existence.position != before


def test_a_full_log_forgets_its_older_half() -> None:
    log = SumsLog()
    for number in range(MOST_LOGGED + 1):
        log.note(number, -number)
    half = MOST_LOGGED // 2
    assert log.changes_since(half - 1) is None
    found = log.changes_since(half)
    assert found is not None
    assert len(found) == half + 1
    assert log.changes_since(MOST_LOGGED) == {MOST_LOGGED: -MOST_LOGGED}


def test_as_a_journal_a_log_names_no_rows() -> None:
    log = SumsLog()
    log.note(1, 0)
    assert log.since(0) is None


def test_weighted_sums_follow_their_parts() -> None:
    one, other = World(1, 0, 2), World(1, 0, 2)
    weighted = WeightedSumsBook().find([(10, one.sums), (-1, other.sums)])
    before = weighted.read()
    assert before.by_code.tolist() == [9, 18, 0, 0]
    one.column.add(0, 2)
    other.column.add(0, 1)
    other.column.add(2, 1)
    now = weighted.read()
    assert now.by_code.tolist() == [28, 17, 0, 0]
    assert now.changed_since(before) == {0: 9, 1: 18}


def test_weighted_sums_are_found_again_by_weights_and_parts() -> None:
    sums, book = World(1, 0, 2).sums, WeightedSumsBook()
    double = book.find([(2, sums)])
    assert double.read().by_code.tolist() == [2, 4, 0, 0]
    assert book.find([(3, sums)]).read().by_code.tolist() == [3, 6, 0, 0]
    assert book.find([(2, sums)]) is double


def test_weighted_sums_are_added_up_anew_when_a_part_is() -> None:
    world = World(1, 0, 2)
    weighted = WeightedSumsBook().find([(2, world.sums)])
    before = weighted.read()
    world.relabel(0, "b")
    world.column.sums_by("zone", world.labels)
    now = weighted.read()
    assert now.by_code.tolist() == [0, 6, 0, 0]
    assert now.changed_since(before) is None


def test_sums_that_are_what_they_are_move_with_nothing() -> None:
    fixed = Summed(np.array([1, 0]), SumsLog(), 0)
    assert (fixed.read(), fixed.logs) == (fixed, ())
