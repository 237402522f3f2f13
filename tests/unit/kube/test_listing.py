"""The text of lists and watches."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.kube import listing
from stowplan.kube.listing import BrokenText, Lines, WatchedObjects
from stowplan.model.meta import NamespacedMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod


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
    event = listing.read_as(listing.WatchEvent, b'{"type":"ADDED","object":{"kind":7},"other":1}', "watch event")
    assert (event.type, bytes(event.object)) == ("ADDED", b'{"kind":7}')


def test_a_page_says_where_the_next_begins() -> None:
    page = listing.read_as(
        listing.ListPage, b'{"metadata":{"resourceVersion":"9","continue":"tok"},"items":[{"a":1},{"b":2}]}', "list"
    )
    assert (page.metadata.resource_version, page.metadata.next_page) == ("9", "tok")
    assert [bytes(item) for item in page.items or ()] == [b'{"a":1}', b'{"b":2}']


def test_a_list_of_nothing_may_be_null() -> None:
    assert listing.read_as(listing.ListPage, b'{"metadata":{"resourceVersion":"9"},"items":null}', "list").items is None


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
        listing.read_as(listing.WatchEvent, text, "watch event")
    assert str(caught.value).startswith(message)


def test_long_garbage_is_not_shown_whole() -> None:
    with pytest.raises(BrokenText) as caught:
        listing.read_as(listing.ListPage, b"x" * 100_000, "list")
    assert len(str(caught.value)) < 250


def pod(name: str, version: str) -> Pod:
    return Pod(metadata=NamespacedMeta(name=name, namespace="ns", resource_version=version))


class Told:
    def __init__(self) -> None:
        self.changes: list[tuple[str | None, str | None]] = []

    def __call__(self, old: Any | None, new: Any | None) -> None:
        self.changes.append((self._text(old), self._text(new)))

    def _text(self, found: Any | None) -> str | None:
        return None if found is None else f"{found.metadata.name}@{found.metadata.resource_version}"


def test_changes_carry_what_was_known_before() -> None:
    told = Told()
    store = WatchedObjects(told)
    store.put(pod("a", "1"))
    store.put(pod("a", "2"))
    store.remove(pod("a", "3"))
    assert told.changes == [(None, "a@1"), ("a@1", "a@2"), ("a@2", None)]
    assert store.objects == {}


def test_the_same_version_again_is_no_change() -> None:
    told = Told()
    store = WatchedObjects(told)
    store.put(pod("a", "1"))
    store.put(pod("a", "1"))
    assert told.changes == [(None, "a@1")]


def test_the_end_of_an_unknown_object_is_no_change() -> None:
    told = Told()
    WatchedObjects(told).remove(pod("a", "1"))
    assert told.changes == []


def test_a_list_tells_what_differs_and_ends_with_what_is_gone() -> None:
    told = Told()
    store = WatchedObjects(told)
    for name in ("a", "b", "c"):
        store.put(pod(name, "1"))
    told.changes.clear()
    store.replace({"ns/b": pod("b", "2"), "ns/c": pod("c", "1"), "ns/d": pod("d", "3")})
    assert told.changes == [("b@1", "b@2"), (None, "d@3"), ("a@1", None)]
    assert list(store.objects) == ["ns/b", "ns/c", "ns/d"]


def test_objects_without_a_namespace_go_by_name() -> None:
    store = WatchedObjects(Told())
    store.put(Node())
    assert list(store.objects) == [""]
