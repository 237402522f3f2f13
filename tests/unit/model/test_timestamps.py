"""Kubernetes' spellings of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from stowplan.model.timestamps import format_micro_time, format_time, parse_time

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC)


def test_a_time_has_whole_seconds_and_a_micro_time_always_six_decimals() -> None:
    assert format_time(MOMENT) == "2026-01-02T03:04:05Z"
    assert format_micro_time(MOMENT) == "2026-01-02T03:04:05.000060Z"
    assert format_micro_time(MOMENT.replace(microsecond=0)) == "2026-01-02T03:04:05.000000Z"


def test_other_zones_are_written_in_utc() -> None:
    there = MOMENT.astimezone(timezone(timedelta(hours=5)))
    assert format_time(there) == "2026-01-02T03:04:05Z"


def test_both_spellings_are_read() -> None:
    assert parse_time("2026-01-02T03:04:05.000060Z") == MOMENT
    assert parse_time("2026-01-02T03:04:05Z") == MOMENT.replace(microsecond=0)
    assert parse_time("2026-01-02T03:04:05") == MOMENT.replace(microsecond=0)
