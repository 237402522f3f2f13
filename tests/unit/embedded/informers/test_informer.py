"""A informer knows what the store knows, also after it fell behind."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from stowplan.embedded.storage.stored import Stored
from stowplan.simulate import virtual_time
from tests.unit.embedded.given import CONFIG_MAPS, CORE_EVENTS, NAMESPACES, made


def read(stored: Stored) -> str | None:
    """The value of a config map; those called hidden-* are of no interest."""
    return None if stored.name.startswith("hidden") else str(stored.object["data"]["value"])


def informed(kept_changes: int = 50_000) -> tuple[Store, SharedInformer[str], list[tuple[str | None, str | None]]]:
    store = Store(kept_changes=kept_changes)
    api = Api(store, Catalogue(), lambda: datetime(2026, 1, 1, tzinfo=UTC), random.Random(1).getrandbits)
    informer = SharedInformer(api, CONFIG_MAPS, read)
    told: list[tuple[str | None, str | None]] = []
    informer.add_event_handler(lambda before, after: told.append((before, after)))
    return store, informer, told


def put(store: Store, name: str, value: str) -> None:
    store.write(CONFIG_MAPS, made(CONFIG_MAPS, name, data={"value": value}))


def in_loop(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    virtual_time.run(story())


def test_changes_are_told_with_what_was_before() -> None:
    async def story() -> None:
        store, informer, told = informed()
        put(store, "a", "1")
        informer.catch_up()
        put(store, "a", "2")
        put(store, "hidden-b", "3")
        store.remove(CONFIG_MAPS, "default", "a")
        informer.catch_up()
        assert told == [(None, "1"), ("1", "2"), ("2", None)]
        assert informer.known == {}

    in_loop(story)


def test_who_listens_later_is_told_what_is_there() -> None:
    async def story() -> None:
        store, informer, _ = informed()
        put(store, "a", "1")
        informer.catch_up()
        late: list[tuple[str | None, str | None]] = []
        informer.add_event_handler(lambda before, after: late.append((before, after)))
        assert late == [(None, "1")]

    in_loop(story)


def test_running_takes_in_changes_as_they_come() -> None:
    async def story() -> None:
        store, informer, _ = informed()
        task = asyncio.create_task(informer.run())
        await asyncio.sleep(1)
        put(store, "a", "1")
        await asyncio.sleep(1)
        assert informer.known == {("default", "a"): "1"}
        task.cancel()

    in_loop(story)


def test_a_follower_that_fell_behind_lists_everything_again() -> None:
    async def story() -> None:
        store, informer, told = informed(kept_changes=4)
        put(store, "gone", "1")
        put(store, "kept", "1")
        informer.catch_up()
        store.remove(CONFIG_MAPS, "default", "gone")
        for number in range(20):
            put(store, "kept", str(number))
        informer.catch_up()
        informer.catch_up()
        assert informer.known == {("default", "kept"): "19"}
        assert told[2:] == [("1", None), ("1", "19")]

    in_loop(story)


def events_in(store: Store) -> list[tuple[str, str, str, str]]:
    events = [stored.object for stored in store.list(CORE_EVENTS)]
    return [(e["involvedObject"]["name"], e["type"], e["reason"], e["message"]) for e in events]


def test_an_object_that_cannot_be_read_is_left_alone_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        store, informer, _ = informed()
        store.write(NAMESPACES, made(NAMESPACES, "default"))
        store.write(CONFIG_MAPS, made(CONFIG_MAPS, "odd"))
        put(store, "a", "1")
        informer.catch_up()
        store.write(CONFIG_MAPS, made(CONFIG_MAPS, "odd"))
        informer.catch_up()
        assert informer.known == {("default", "a"): "1"}
        assert events_in(store) == [("odd", "Warning", "FailedSync", "KeyError: 'data'")]

    in_loop(story)
    assert caplog.messages == [
        "controllermanager: configmaps default/odd failed and is left alone until it is corrected: KeyError: 'data'"
    ]


def test_who_fails_at_one_object_hears_of_the_others_and_others_hear_of_it() -> None:
    async def story() -> None:
        store, informer, told = informed()
        store.write(NAMESPACES, made(NAMESPACES, "default"))
        heard: list[int] = []
        informer.add_event_handler(lambda before, after: heard.append(int(after or "")))
        informer.add_event_handler(lambda before, after: told.append((before, after)))
        for name, value in (("odd", "x"), ("a", "1")):
            put(store, name, value)
        informer.catch_up()
        assert heard == [1]
        assert told == [(None, "x"), (None, "x"), (None, "1"), (None, "1")]
        ((name, kind, reason, message),) = events_in(store)
        assert (name, kind, reason) == ("odd", "Warning", "FailedSync")
        assert message == "ValueError: invalid literal for int() with base 10: 'x'"

    in_loop(story)


class Piece(Extract, frozen=True):
    """An extract that is found by the words of its value."""

    words: tuple[str, ...]


def test_an_index_finds_extracts_by_what_they_are_now() -> None:
    index = Index[Piece](lambda piece: piece.words)
    before, after, other = (
        Piece("ns", "a", ("red", "big")),
        Piece("ns", "a", ("big", "blue")),
        Piece("ns", "b", ("big",)),
    )
    index.update(None, before)
    index.update(None, other)
    assert (index.find("red"), index.find("big"), index.count("blue")) == ([before], [before, other], 0)
    index.update(before, after)
    assert (index.find("red"), index.find("big"), index.find("blue")) == ([], [other, after], [after])
    index.update(after, None)
    assert (list(index.collection("big")), index.count("blue")) == ([other], 0)


def test_an_index_follows_its_informer() -> None:
    async def story() -> None:
        store = Store()
        api = Api(store, Catalogue(), lambda: datetime(2026, 1, 1, tzinfo=UTC), random.Random(1).getrandbits)
        pieces = SharedInformer(
            api, CONFIG_MAPS, lambda stored: Piece(stored.namespace, stored.name, tuple(stored.object["data"]))
        )
        index = Index[Piece](lambda piece: piece.words, pieces)
        put(store, "a", "1")
        pieces.catch_up()
        assert [piece.key for piece in index.find("value")] == [("default", "a")]
        store.remove(CONFIG_MAPS, "default", "a")
        pieces.catch_up()
        assert index.find("value") == []

    in_loop(story)
