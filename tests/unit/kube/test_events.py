"""Which events are written, under which name, and how long their notes may be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from stowplan.kube.events import Occurrence, SeriesBook, shortened
from stowplan.model.meta import ObjectReference

START = datetime(2026, 5, 4, 3, 2, 1, 5, tzinfo=UTC)
WEB = ObjectReference(api_version="v1", kind="Pod", namespace="prod", name="web", uid="u1", resource_version="7")
REFUSED = Occurrence(
    regarding=WEB, type="Warning", reason="FailedScheduling", action="Scheduling", note="no", controller="default"
)


def later(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def test_the_first_is_written_the_second_makes_a_series_the_third_is_counted() -> None:
    book = SeriesBook("machine")
    first, second, third = (book.note(REFUSED, later(minute)) for minute in (0, 1, 2))
    assert first is not None
    assert first.series is None
    assert second is not None
    assert second.series is not None
    assert (second.name, second.series.count) == (first.name, 2)
    assert second.series.last_observed_time == "2026-05-04T03:03:01.000005Z"
    assert third is None


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        pytest.param({"note": "another"}, True, id="another note"),
        pytest.param({"reason": "Scheduled"}, False, id="another reason"),
        pytest.param({"action": "Binding"}, False, id="another action"),
        pytest.param({"type": "Normal"}, False, id="another type"),
        pytest.param({"controller": "second"}, False, id="another reporter"),
        pytest.param({"related": WEB}, False, id="a related object"),
        pytest.param(
            {"regarding": msgspec.structs.replace(WEB, resource_version="8")}, False, id="another version of the pod"
        ),
        pytest.param({"regarding": msgspec.structs.replace(WEB, uid="u2")}, False, id="another pod of the name"),
    ],
)
def test_what_makes_a_series(changes: dict[str, Any], is_same: bool) -> None:
    book = SeriesBook("machine")
    first = book.note(REFUSED, START)
    second = book.note(msgspec.structs.replace(REFUSED, **changes), START)
    assert first is not None
    assert second is not None
    assert (second.name == first.name) is is_same
    assert len(book) == (1 if is_same else 2)


def test_silence_of_more_than_six_minutes_ends_a_series() -> None:
    book = SeriesBook("machine")
    for minute in (0, 1, 2):
        book.note(REFUSED, later(minute))
    assert book.finished(later(8)) == []
    [final] = book.finished(later(8.01))
    assert final.series is not None
    assert final.series.count == 3
    assert len(book) == 0
    anew = book.note(REFUSED, later(9))
    assert anew is not None
    assert anew.series is None


def test_an_event_that_stayed_alone_is_forgotten_without_another_write() -> None:
    book = SeriesBook("machine")
    book.note(REFUSED, START)
    assert book.finished(later(7)) == []
    assert len(book) == 0


def test_running_series_are_refreshed_and_single_events_are_not() -> None:
    book = SeriesBook("machine")
    book.note(msgspec.structs.replace(REFUSED, reason="Alone"), START)
    for _ in range(4):
        book.note(REFUSED, START)
    assert [event.series.count if event.series else 0 for event in book.running()] == [4]


def test_events_live_in_the_namespace_of_their_object_or_in_default() -> None:
    book = SeriesBook("machine")
    node = msgspec.structs.replace(REFUSED, regarding=ObjectReference(kind="Node", name="n1"))
    events = [book.note(REFUSED, START), book.note(node, START)]
    assert [event.namespace for event in events if event is not None] == ["prod", "default"]


def test_names_carry_the_time_and_are_unique() -> None:
    book = SeriesBook("machine")
    others = [msgspec.structs.replace(REFUSED, reason=reason) for reason in ("A", "B", "C")]
    names = [event.name for event in (book.note(other, START) for other in others) if event is not None]
    nanoseconds = 1777863721000005000
    assert names == [f"web.{nanoseconds + more:x}" for more in range(3)]


def test_a_name_is_cut_to_what_the_server_takes() -> None:
    book = SeriesBook("machine")
    long = msgspec.structs.replace(REFUSED, regarding=msgspec.structs.replace(WEB, name="a" * 235 + "." + "b" * 17))
    event = book.note(long, START)
    assert event is not None
    assert event.name == "a" * 235 + ".18ac3da27d426d88"


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        pytest.param("a" * 1024, "a" * 1024, id="what fits is left alone"),
        pytest.param("a" * 1025, "a" * 1020 + " ...", id="what does not is cut"),
        pytest.param("é" * 512, "é" * 512, id="bytes are counted: 1024 fit"),
        pytest.param("é" * 513, "é" * 510 + " ...", id="bytes are counted: 1026 do not"),
        pytest.param("a" + "é" * 600, "a" + "é" * 509 + " ...", id="no letter is cut in two"),
    ],
)
def test_notes_are_cut_at_1024_bytes(note: str, expected: str) -> None:
    assert shortened(note) == expected
    assert len(expected.encode()) <= 1024
