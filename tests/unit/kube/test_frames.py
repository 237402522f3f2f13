"""The text of lists and watches."""

from __future__ import annotations

import pytest

from stowplan.kube import frames
from stowplan.kube.frames import BrokenText, Lines


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([b"a\nb\n"], [[b"a", b"b"]], id="whole lines"),
        pytest.param([b"a\nb", b"c\n"], [[b"a"], [b"bc"]], id="a line in two pieces"),
        pytest.param([b"a", b"b", b"c", b"\n"], [[], [], [], [b"abc"]], id="a line in many pieces"),
        pytest.param([b"a\n", b"\n\n", b"b\n"], [[b"a"], [], [b"b"]], id="empty lines are nothing"),
        pytest.param([b"a\r\n"], [[b"a\r"]], id="a carriage return is white space to JSON"),
        pytest.param([b"\n", b"a\nb\nc"], [[], [b"a", b"b"]], id="what is not ended is kept"),
    ],
)
def test_pieces_become_lines(pieces: list[bytes], expected: list[list[bytes]]) -> None:
    lines = Lines()
    assert [lines.feed(piece) for piece in pieces] == expected


def test_lines_are_the_same_wherever_they_are_cut() -> None:
    text = b'{"type":"ADDED"}\n{"type":"MODIFIED"}\n\n{"type":"DELETED"}\n'
    for size in range(1, len(text) + 1):
        lines = Lines()
        got = [line for start in range(0, len(text), size) for line in lines.feed(text[start : start + size])]
        assert got == [b'{"type":"ADDED"}', b'{"type":"MODIFIED"}', b'{"type":"DELETED"}']


def test_an_event_keeps_its_object_unread() -> None:
    event = frames.read_event(b'{"type":"ADDED","object":{"kind":7},"other":1}')
    assert (event.type, bytes(event.object)) == ("ADDED", b'{"kind":7}')


def test_a_page_says_where_the_next_begins() -> None:
    page = frames.read_page(b'{"metadata":{"resourceVersion":"9","continue":"tok"},"items":[{"a":1},{"b":2}]}')
    assert (page.metadata.resource_version, page.metadata.next_page) == ("9", "tok")
    assert [bytes(item) for item in page.items or ()] == [b'{"a":1}', b'{"b":2}']


def test_a_list_of_nothing_may_be_null() -> None:
    assert frames.read_page(b'{"metadata":{"resourceVersion":"9"},"items":null}').items is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(b"<html>", "no watch event but '<html>' (", id="no JSON"),
        pytest.param(b'{"type":"ADDED"', "no watch event but ", id="half an event"),
        pytest.param(b'{"type":"ADDED"}', "no watch event but ", id="without an object"),
        pytest.param(b"\xff\xfe", "no watch event but ", id="no text"),
    ],
)
def test_what_is_no_event_is_shown(text: bytes, message: str) -> None:
    with pytest.raises(BrokenText) as caught:
        frames.read_event(text)
    assert str(caught.value).startswith(message)


def test_long_garbage_is_not_shown_whole() -> None:
    with pytest.raises(BrokenText) as caught:
        frames.read_page(b"x" * 100_000)
    assert len(str(caught.value)) < 250
