"""Every change has its own version, is seen by every feed exactly once, and the past can be listed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.storage.collection import FIRST
from stowplan.embedded.storage.store import Store
from stowplan.simulate import virtual_time
from tests.unit.embedded.given import CONFIG_MAPS, CORE_EVENTS, NEW_EVENTS, NODES, PODS, made


def test_a_new_store_is_at_version_one() -> None:
    assert Store().version == 1


def test_a_write_takes_the_next_version_and_writes_it_into_the_object() -> None:
    store = Store()
    stored = store.write(PODS, made(PODS, "a"))
    assert (store.version, stored.version) == (2, 2)
    assert stored.object["metadata"]["resourceVersion"] == "2"


def test_what_is_written_is_found_by_namespace_and_name() -> None:
    store = Store()
    store.write(PODS, made(PODS, "a"))
    store.write(NODES, made(NODES, "n"))
    found, node = store.get(PODS, "default", "a"), store.get(NODES, "", "n")
    assert found is not None
    assert node is not None
    assert (found.name, node.name) == ("a", "n")
    assert store.get(PODS, "other", "a") is None


def test_an_object_is_decoded_anew_for_each_reader() -> None:
    store = Store()
    stored = store.write(PODS, made(PODS, "a"))
    stored.object["metadata"]["name"] = "changed"
    assert stored.object["metadata"]["name"] == "a"


def test_a_list_is_of_one_namespace_or_of_all() -> None:
    store = Store()
    for namespace, name in (("x", "a"), ("x", "b"), ("y", "c")):
        store.write(PODS, made(PODS, name, namespace))
    assert sorted(stored.name for stored in store.list(PODS, "x")) == ["a", "b"]
    assert sorted(stored.name for stored in store.list(PODS)) == ["a", "b", "c"]
    assert store.list(PODS, "z") == []


def test_a_removed_object_is_gone_and_its_last_form_has_the_version_of_the_removal() -> None:
    store = Store()
    store.write(PODS, made(PODS, "a"))
    gone = store.remove(PODS, "default", "a")
    assert store.get(PODS, "default", "a") is None
    assert (gone.version, gone.object["metadata"]["resourceVersion"]) == (3, "3")


def test_nothing_is_left_of_a_namespace_without_objects() -> None:
    store = Store()
    for number in range(3):
        store.write(PODS, made(PODS, "a", namespace=f"n-{number}"))
        store.remove(PODS, f"n-{number}", "a")
    assert store.collection(PODS)._spaces == {}


def test_removing_what_is_not_there_is_a_fault() -> None:
    with pytest.raises(KeyError, match="pods default/a"):
        Store().remove(PODS, "default", "a")


def test_a_feed_tells_each_change_once_and_in_order() -> None:
    store = Store()
    feed = store.feed(PODS, store.version)
    store.write(PODS, made(PODS, "a"))
    store.write(PODS, made(PODS, "a", spec={}))
    store.remove(PODS, "default", "a")
    assert [(change.kind, change.version) for change in feed.drain()] == [("ADDED", 2), ("MODIFIED", 3), ("DELETED", 4)]
    assert feed.drain() == []


def test_a_change_knows_what_was_before() -> None:
    store = Store()
    first = store.write(PODS, made(PODS, "a"))
    feed = store.feed(PODS, store.version)
    store.write(PODS, made(PODS, "a", spec={}))
    store.remove(PODS, "default", "a")
    modified, deleted = feed.drain()
    assert modified.before == first
    assert deleted.before == modified.stored


def test_a_feed_begins_after_the_version_it_is_given() -> None:
    store = Store()
    for name in "abc":
        store.write(PODS, made(PODS, name))
    assert [change.stored.name for change in store.feed(PODS, 3).drain()] == ["c"]
    assert [change.stored.name for change in store.feed(PODS, 1).drain()] == ["a", "b", "c"]


def test_a_feed_of_a_namespace_leaves_out_the_others() -> None:
    store = Store()
    feed = store.feed(PODS, store.version, "x")
    store.write(PODS, made(PODS, "a", "y"))
    store.write(PODS, made(PODS, "b", "x"))
    assert [change.stored.name for change in feed.drain()] == ["b"]


def test_a_feed_of_one_resource_does_not_hear_of_another() -> None:
    store = Store()
    feed = store.feed(PODS, store.version)
    store.write(NODES, made(NODES, "n"))
    assert feed.drain() == []


def test_a_feed_from_before_what_the_log_keeps_is_expired() -> None:
    store = Store(kept_changes=2)
    for name in "abcd":
        store.write(PODS, made(PODS, name))
    with pytest.raises(StatusError, match=r"too old resource version: 1 \(5\)") as refused:
        store.feed(PODS, 1)
    assert refused.value.code == 410
    assert [change.stored.name for change in store.feed(PODS, 3).drain()] == ["c", "d"]


def test_a_feed_that_falls_behind_the_log_is_expired() -> None:
    store = Store(kept_changes=2)
    feed = store.feed(PODS, store.version)
    for name in "abcd":
        store.write(PODS, made(PODS, name))
    with pytest.raises(StatusError) as refused:
        feed.drain()
    assert refused.value.code == 410


def test_of_resources_that_were_served_once_only_the_latest_keep_their_changes() -> None:
    store = Store()
    things = [replace(PODS, group="example.com", plural=f"things-{number}") for number in range(10)]
    for thing in things:
        store.write(thing, made(thing, "a"))
        store.remove(thing, "default", "a")
        store.retire(thing)
    known = [len(store.collection(thing).log.read(store.collection(thing).log.end - 2)) for thing in things[2:]]
    assert known == [2] * 8
    for thing in things[:2]:
        with pytest.raises(StatusError) as caught:
            store.feed(thing, 1)
        assert caught.value.code == 410


def test_a_resource_that_is_served_again_keeps_its_changes() -> None:
    store = Store()
    things = [replace(PODS, group="example.com", plural=f"things-{number}") for number in range(10)]
    store.retire(things[0])
    store.write(things[0], made(things[0], "a"))
    for thing in things[1:]:
        store.retire(thing)
    assert len(store.feed(things[0], 1).drain()) == 1


def test_a_feed_that_is_awaited_wakes_up_at_a_change() -> None:
    async def watch() -> list[str]:
        store = Store()
        feed = store.feed(PODS, store.version)
        waiting = asyncio.ensure_future(feed.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        store.write(PODS, made(PODS, "a"))
        store.write(PODS, made(PODS, "b"))
        await waiting
        return [change.stored.name for change in feed.drain()]

    assert asyncio.run(watch()) == ["a", "b"]


def test_a_feed_gives_as_many_changes_as_asked_for() -> None:
    async def watch() -> list[str]:
        store = Store()
        feed = store.feed(PODS, store.version)
        for name in "abc":
            store.write(PODS, made(PODS, name))
        (first,) = feed.drain(1)
        return [first.stored.name, *(change.stored.name for change in feed.drain())]

    assert asyncio.run(watch()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(4, [("a", "4"), ("b", "3")], id="as it is"),
        pytest.param(3, [("a", "2"), ("b", "3")], id="before the last change"),
        pytest.param(2, [("a", "2")], id="before b was there"),
        pytest.param(1, [], id="before anything was there"),
    ],
)
def test_the_past_is_listed_as_it_was(version: int, expected: list[tuple[str, str]]) -> None:
    store = Store()
    store.write(PODS, made(PODS, "a"))
    store.write(PODS, made(PODS, "b"))
    store.write(PODS, made(PODS, "a", spec={}))
    listed = store.collection(PODS).was_after(version, FIRST)
    assert [(stored.name, stored.object["metadata"]["resourceVersion"]) for stored in listed] == expected


def test_what_was_removed_since_is_in_the_past_in_its_place() -> None:
    store = Store()
    for name in "abc":
        store.write(PODS, made(PODS, name))
    store.remove(PODS, "default", "b")
    assert [stored.name for stored in store.collection(PODS).was_after(4, FIRST)] == ["a", "b", "c"]
    assert [stored.name for stored in store.collection(PODS).was_after(4, ("default", "a"))] == ["b", "c"]
    assert [stored.name for stored in store.collection(PODS).after(("default", "a"))] == ["c"]


def test_objects_are_listed_by_namespace_then_name() -> None:
    store = Store()
    for namespace, name in (("y", "a"), ("x", "b"), ("x", "a")):
        store.write(PODS, made(PODS, name, namespace))
    assert [stored.key for stored in store.collection(PODS).after(FIRST)] == [("x", "a"), ("x", "b"), ("y", "a")]
    assert [stored.key for stored in store.collection(PODS).after(("x", "a"))] == [("x", "b"), ("y", "a")]


def test_both_forms_of_an_event_are_one_object() -> None:
    store = Store()
    event = made(NEW_EVENTS, "e", regarding={"name": "p"}, note="said", deprecatedCount=3)
    store.write(NEW_EVENTS, event)
    stored = store.get(CORE_EVENTS, "default", "e")
    assert stored is not None
    assert stored.object["involvedObject"] == {"name": "p"}
    assert (stored.object["message"], stored.object["count"]) == ("said", 3)
    assert stored.object["apiVersion"] == "v1"


def test_selectable_fields_are_kept_beside_the_body() -> None:
    store = Store()
    stored = store.write(PODS, made(PODS, "a", spec={"nodeName": "n1"}, status={"phase": "Running"}))
    values = dict(zip(PODS.fields, stored.fields, strict=True))
    assert (values["spec.nodeName"], values["status.phase"], values["spec.hostNetwork"]) == ("n1", "Running", "false")


def test_labels_are_kept_beside_the_body() -> None:
    stored = Store().write(CONFIG_MAPS, made(CONFIG_MAPS, "a", metadata={"labels": {"app": "web"}}))
    assert stored.labels == {"app": "web"}


def test_some_changes_are_told_at_once_and_many_together() -> None:
    async def story() -> list[tuple[int, float]]:
        store, loop = Store(), asyncio.get_running_loop()
        feed, told = store.feed(PODS, store.version), []

        async def listen() -> None:
            while True:
                await feed.wait()
                told.append((len(feed.drain()), round(loop.time(), 4)))

        listening = asyncio.create_task(listen())
        await asyncio.sleep(1)
        for number in range(20):
            store.write(PODS, made(PODS, f"pod-{number}"))
            await asyncio.sleep(0.001)
        await asyncio.sleep(1)
        listening.cancel()
        return told

    # One each millisecond: ten of them as they come, the others by fives.
    at_once = [(1, 1.0), (1, 1.001), (1, 1.002), (1, 1.003), (1, 1.004)]
    at_once += [(1, 1.005), (1, 1.006), (1, 1.007), (1, 1.008), (1, 1.009)]
    assert virtual_time.run(story()) == [*at_once, (5, 1.014), (5, 1.019)]


def test_part_of_what_happened_can_be_taken() -> None:
    store = Store()
    feed = store.feed(PODS, store.version)
    for name in "abc":
        store.write(PODS, made(PODS, name))
    assert [change.stored.name for change in feed.drain(2)] == ["a", "b"]
    assert feed.is_behind
    assert [change.stored.name for change in feed.drain(2)] == ["c"]
    assert not feed.is_behind
