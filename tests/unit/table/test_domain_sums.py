"""Sums by domain that are followed, and the log of what they were."""

from __future__ import annotations

import numpy as np

from stowplan.table.domain_sums import MOST_LOGGED, MOST_PENDING, DomainSums, Summed, SumsLog, WeightedSumsBook

CODES = np.array([0, 0, 1, -1])
LABELS = object()


class World:
    """Four nodes, two in the first domain, one in the second, one in none."""

    def __init__(self) -> None:
        self.counts = np.array([1, 0, 2, 5])
        self.sums = DomainSums()

    def add(self, row: int, amount: int) -> None:
        self.counts[row] += amount
        self.sums.add(row, amount)

    def ask(self, as_of: int = 0) -> Summed:
        return self.sums.bring_up(self.counts, CODES, 2, (LABELS, as_of))


def test_sums_are_by_code_and_none_is_at_the_end() -> None:
    assert World().ask().by_code.tolist() == [1, 2, 0]


def test_sums_follow_and_tell_what_they_were() -> None:
    world = World()
    before = world.ask()
    world.add(1, 3)
    world.add(0, -1)
    world.add(3, 9)
    now = world.ask()
    assert now.by_code.tolist() == [3, 2, 0]
    assert now.changed_since(before) == {0: 1}
    assert now.changed_since(now) == {}


def test_readers_cannot_write() -> None:
    assert not World().ask().by_code.flags.writeable


def test_other_labels_mean_that_anything_may_have_changed() -> None:
    world = World()
    before = world.ask()
    assert world.ask(as_of=1).changed_since(before) is None


def test_very_many_changes_are_added_up_anew() -> None:
    world = World()
    before = world.ask()
    for _ in range(MOST_PENDING + 1):
        world.add(2, 1)
    now = world.ask()
    assert now.by_code.tolist() == [1, 2 + MOST_PENDING + 1, 0]
    assert now.changed_since(before) is None


def test_a_full_log_forgets_its_older_half() -> None:
    log = SumsLog()
    for number in range(MOST_LOGGED + 1):
        log.note(number, -number)
    half = MOST_LOGGED // 2
    assert log.since(half - 1) is None
    found = log.since(half)
    assert found is not None
    assert len(found) == half + 1
    assert log.since(MOST_LOGGED) == {MOST_LOGGED: -MOST_LOGGED}


def test_weighted_sums_follow_their_parts() -> None:
    one, other, book = World(), World(), WeightedSumsBook()

    def ask() -> Summed:
        return book.bring_up("zone", [10, -1], [one.ask(), other.ask()])

    before = ask()
    assert before.by_code.tolist() == [9, 18, 0]
    one.add(0, 2)
    other.add(0, 1)
    other.add(2, 1)
    now = ask()
    assert now.by_code.tolist() == [28, 17, 0]
    assert now.changed_since(before) == {0: 9, 1: 18}


def test_weighted_sums_of_other_weights_are_others() -> None:
    world, book = World(), WeightedSumsBook()
    assert book.bring_up("zone", [2], [world.ask()]).by_code.tolist() == [2, 4, 0]
    assert book.bring_up("zone", [3], [world.ask()]).by_code.tolist() == [3, 6, 0]


def test_weighted_sums_are_added_up_anew_when_a_part_is() -> None:
    world, book = World(), WeightedSumsBook()
    before = book.bring_up("zone", [2], [world.ask()])
    world.add(0, 1)
    now = book.bring_up("zone", [2], [world.ask(as_of=1)])
    assert now.by_code.tolist() == [4, 4, 0]
    assert now.changed_since(before) is None
