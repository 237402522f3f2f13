"""The log of changes forgets the oldest: of many, and of large ones earlier."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.storage.changes import ChangeLog
from stowplan.embedded.storage.stored import ADDED, StoredChange, keep
from tests.unit.embedded.given import CONFIG_MAPS, made


def change(version: int, size: int, labels: int = 0) -> StoredChange:
    """A change to an object whose JSON has about so many bytes."""
    obj = made(CONFIG_MAPS, "a", "default")
    obj["metadata"] |= {"resourceVersion": str(version), "labels": {f"l{number}": "" for number in range(labels)}}
    return StoredChange(ADDED, keep(CONFIG_MAPS, obj | {"data": {"x": "y" * size}}), None)


def kept(log: ChangeLog) -> list[int]:
    return [each.version for each in log.read(log.position_after(log.floor))]


def test_large_changes_are_forgotten_before_there_are_many() -> None:
    log = ChangeLog(1, kept=50, kept_bytes=10_000)
    for version in range(2, 17):
        log.append(change(version, 900))
    # Above fifteen thousand bytes it was cut to ten thousand.
    assert len(kept(log)) < 15
    assert kept(log)[-1] == 16
    with pytest.raises(StatusError, match="too old resource version: 1"):
        log.position_after(1)


def test_labels_count_for_what_they_take() -> None:
    log = ChangeLog(1, kept=50, kept_bytes=100_000)
    for version in (2, 3, 4):
        log.append(change(version, 10, labels=300))
    assert kept(log) == [4]


def test_the_last_change_is_kept_however_large() -> None:
    log = ChangeLog(1, kept=50, kept_bytes=100)
    for version in (2, 3):
        log.append(change(version, 5000))
    assert kept(log) == [3]


def test_small_ones_are_counted() -> None:
    log = ChangeLog(1, kept=4)
    for version in range(2, 9):
        log.append(change(version, 10))
    assert kept(log) == [5, 6, 7, 8]
