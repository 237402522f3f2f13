"""The journal of changed rows, and the recorder of who looked at it."""

from __future__ import annotations

import pytest

from stowplan.table import journal
from stowplan.table.journal import KEPT_ENTRIES, Journal, Reads
from tests.unit.table.journal_marks import marks


def test_a_journal_tells_the_rows_marked_after_a_position() -> None:
    changes = Journal()
    changes.mark(4)
    position = changes.position
    changes.mark(7)
    changes.mark(7)
    assert marks(changes, position) == [7, 7]
    assert marks(changes, 0) == [4, 7, 7]


def test_nothing_has_changed_since_the_last_mark() -> None:
    changes = Journal()
    assert marks(changes, changes.position) == []
    changes.mark(3)
    assert marks(changes, changes.position) == []


def test_after_mark_all_every_earlier_position_means_every_row() -> None:
    changes = Journal()
    changes.mark(1)
    before = changes.position
    changes.mark_all()
    assert changes.position > before
    assert changes.since(before) is None
    assert marks(changes, changes.position) == []
    changes.mark(5)
    assert changes.since(before) is None
    assert marks(changes, before + 1) == [5]


def test_a_full_journal_forgets_its_older_half() -> None:
    changes = Journal()
    for row in range(KEPT_ENTRIES):
        changes.mark(row)
    assert changes.since(0) is not None
    changes.mark(-1)
    half = KEPT_ENTRIES // 2
    assert changes.since(half - 1) is None
    assert marks(changes, half) == [*range(half, KEPT_ENTRIES), -1]
    assert marks(changes, KEPT_ENTRIES) == [-1]
    assert changes.position == KEPT_ENTRIES + 1


def test_a_journal_never_grows_beyond_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "KEPT_ENTRIES", 32)
    changes = Journal()
    for row in range(1000):
        changes.mark(row)
        assert marks(changes, changes.position - 1) == [row]
        kept = [position for position in range(changes.position) if changes.since(position) is not None]
        assert len(kept) <= 32


def test_reads_are_noted_where_the_journal_stands() -> None:
    reads, looked_at, ignored = Reads(), Journal(), Journal()
    looked_at.mark(0)
    noted = reads.start()
    reads.note(looked_at)
    assert noted == {looked_at: 1}
    assert ignored not in noted
    looked_at.mark(1)
    reads.note(looked_at)
    assert noted == {looked_at: 2}


def test_nothing_is_noted_unless_somebody_records() -> None:
    reads, changes = Reads(), Journal()
    reads.note(changes)
    noted = reads.start()
    reads.stop()
    reads.note(changes)
    assert noted == {}


def test_each_recording_starts_empty() -> None:
    reads, changes = Reads(), Journal()
    first = reads.start()
    reads.note(changes)
    second = reads.start()
    assert first == {changes: 0}
    assert second == {}
