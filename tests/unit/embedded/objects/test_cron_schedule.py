"""Cron schedules name moments."""

import re
from datetime import UTC, datetime

import pytest

from stowplan.embedded.controllers.cronjob import latest_between
from stowplan.embedded.objects.cron_schedule import ScheduleError, parse

# A Thursday.
NOON = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("* * * * *", "2026-01-01T12:01", id="every minute"),
        pytest.param("*/15 * * * *", "2026-01-01T12:15", id="every quarter of an hour"),
        pytest.param("5 3 * * *", "2026-01-02T03:05", id="every night"),
        pytest.param("0 9 * * mon-fri", "2026-01-02T09:00", id="on working days by name"),
        pytest.param("0 9 * * 6,0", "2026-01-03T09:00", id="on weekends"),
        pytest.param("0 0 29 2 *", "2028-02-29T00:00", id="on a leap day"),
        pytest.param("30 8 15 * 1", "2026-01-05T08:30", id="of two kinds of day one suffices"),
        pytest.param("0 0 * JAN,jul ?", "2026-01-02T00:00", id="months by name"),
        pytest.param("10-20/5 12 1 * *", "2026-01-01T12:10", id="a range with steps"),
        pytest.param("@hourly", "2026-01-01T13:00", id="a macro"),
        pytest.param("@every 1h30m", "2026-01-01T13:30:30", id="a fixed interval"),
        pytest.param("0 0 31 2 *", None, id="a day that never comes"),
    ],
)
def test_the_next_moment(text: str, expected: str | None) -> None:
    found = parse(text).next_after(NOON)
    assert found == (None if expected is None else datetime.fromisoformat(expected).replace(tzinfo=UTC))


def test_a_time_zone_moves_the_moment() -> None:
    assert parse("0 9 * * *", "Europe/Berlin").next_after(NOON) == datetime(2026, 1, 2, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0 9 * * *", "0 0 1 1 *", "@every 48h"])
def test_where_dates_end_there_is_no_next_moment(text: str) -> None:
    assert parse(text).next_after(datetime(9999, 12, 31, 12, tzinfo=UTC)) is None


def test_the_hour_that_a_change_of_clocks_leaves_out_does_not_come() -> None:
    before = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
    # On March 29th the clocks of Berlin go from two to three.
    assert parse("30 2 * * *", "Europe/Berlin").next_after(before) == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "problem"),
    [
        pytest.param("* * * *", "", "expected exactly 5 fields, found 4: [* * * *]", id="too few fields"),
        pytest.param("60 * * * *", "", "end of range (60) above maximum (59): 60", id="above the range"),
        pytest.param("* * 0 * *", "", "beginning of range (0) below minimum (1): 0", id="below the range"),
        pytest.param("* * * * 7", "", "end of range (7) above maximum (6): 7", id="Sunday as seven"),
        pytest.param(
            "* * * * fry",
            "",
            'failed to parse int from fry: strconv.Atoi: parsing "fry": invalid syntax',
            id="no such day",
        ),
        pytest.param("5-1 * * * *", "", "beginning of range (5) beyond end of range (1): 5-1", id="a range backwards"),
        pytest.param("*/0 * * * *", "", "step of range should be a positive number: */0", id="steps of nothing"),
        pytest.param("@often", "", "unrecognized descriptor: @often", id="no such macro"),
        pytest.param(
            "@every day",
            "",
            'failed to parse duration @every day: time: invalid duration "day"',
            id="an interval that is none",
        ),
        pytest.param(
            "TZ=UTC * * * * *",
            "",
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            id="a time zone in the schedule",
        ),
        pytest.param("* * * * *", "Mars/Base", "unknown time zone Mars/Base", id="no such time zone"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, zone: str, problem: str) -> None:
    with pytest.raises(ScheduleError, match=f"^{re.escape(problem)}$"):
        parse(text, zone)


@pytest.mark.parametrize(
    ("text", "since", "expected"),
    [
        pytest.param("* * * * *", datetime(2025, 1, 1, tzinfo=UTC), "2026-01-01T12:00", id="of a year of minutes"),
        pytest.param("0 4 1 * *", datetime(2025, 1, 1, tzinfo=UTC), "2026-01-01T04:00", id="of twelve months"),
        pytest.param("* 3 2 1 *", datetime(2025, 1, 1, tzinfo=UTC), "2025-01-02T03:59", id="of one busy hour long ago"),
        pytest.param("0 0 1 1 *", datetime(2026, 1, 1, 1, tzinfo=UTC), None, id="of none"),
    ],
)
def test_the_latest_moment_that_passed(text: str, since: datetime, expected: str | None) -> None:
    found = latest_between(parse(text), since, NOON)
    assert found == (None if expected is None else datetime.fromisoformat(expected).replace(tzinfo=UTC))
