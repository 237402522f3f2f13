"""What who watches is told: everything, then what has changed, and nothing that has not."""

import asyncio
import json
from typing import Any

from stowplan.testing import make_node, make_pod
from stowplan.web.live_picture import LivePicture
from tests.unit.web.sources import World, world

NODES = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=9).zone("a").build() for number in range(3)]


def events(lot: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in lot.decode().split("\n\n"):
        if block:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def of(lot: bytes, name: str) -> list[Any]:
    return [data for event, data in events(lot) if event == name]


def ready(found: World) -> LivePicture:
    """Return a picture of which everything has been told."""
    picture = LivePicture(found.source)
    picture.advance(("",))
    return picture


def test_a_full_picture_has_all_there_is() -> None:
    async def story() -> None:
        async with world(*NODES, make_pod("a").requests(cpu="1").build()) as found:
            lot = ready(found).everything("")
            assert [name for name, _ in events(lot)] == ["nodes", "queue", "decisions", "rates", "scheduling"]
            assert of(lot, "nodes")[0]["names"] == ["n0", "n1", "n2"]
            assert [one["pod"] for one in of(lot, "decisions")[0]] == ["default/a"]
            assert of(lot, "scheduling") == [{"isScheduling": True}]

    asyncio.run(story())


def test_while_nothing_happens_nothing_is_told() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            change = ready(found).advance(("",))
            assert (change.common, change.has_new_layout, change.relabelled) == (b"", False, frozenset())

    asyncio.run(story())


def test_a_placement_is_told_as_the_row_that_changed() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            picture = ready(found)
            found.api.create(make_pod("a").requests(cpu="1").build())
            await found.rest()
            change = picture.advance(("",))
            assert not change.has_new_layout
            (rows,) = of(change.common, "rows")
            assert (len(rows["rows"]), rows["requested"]["cpu"], rows["status"]) == (1, [1000], ["Ready"])
            assert [one["outcome"] for one in of(change.common, "decisions")[0]] == ["bound"]
            assert of(picture.advance(("",)).common, "rows") == []

    asyncio.run(story())


def test_nodes_that_come_are_a_new_layout_and_labels_concern_those_who_group_by_them() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            picture = LivePicture(found.source)
            labels = ("", "topology.kubernetes.io/zone", "disk")
            picture.advance(labels)
            moved = make_node("n1").capacity(cpu="4", memory="8Gi", pods=9).zone("b").build()
            found.api.update(moved)
            await found.rest()
            change = picture.advance(labels)
            assert not change.has_new_layout
            assert change.relabelled == {"topology.kubernetes.io/zone"}
            found.api.create(make_node("n9").capacity(cpu="4").build())
            await found.rest()
            assert picture.advance(labels).has_new_layout
            assert of(picture.nodes(""), "nodes")[0]["names"] == ["n0", "n1", "n2", "n9"]

    asyncio.run(story())


def test_who_comes_between_two_ticks_is_told_nothing_twice() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            picture = ready(found)
            found.api.create(make_pod("a").requests(cpu="1").build())
            await found.rest()
            assert of(picture.everything(""), "decisions") == [[]]
            assert len(of(picture.advance(("",)).common, "decisions")[0]) == 1

    asyncio.run(story())


def test_the_queue_is_told_when_it_changes_those_first_that_wait_longest() -> None:
    async def story() -> None:
        async with world(*NODES, make_pod("first").requests(cpu="9").build()) as found:
            picture = ready(found)
            found.pass_seconds(1)
            found.api.create(make_pod("second").requests(cpu="9").build())
            await found.rest()
            (queue,) = of(picture.advance(("",)).common, "queue")
            assert [one["pod"] for one in queue["pods"]] == ["default/first", "default/second"]
            assert queue["counts"]["unschedulable"] == 2
            assert queue["oldest"] == {"unschedulable": queue["pods"][0]["since"]}
            found.pass_seconds(1)
            assert of(picture.advance(("",)).common, "queue") == []

    asyncio.run(story())


def test_a_pod_that_is_tried_again_does_not_wait_a_shorter_time_for_it() -> None:
    async def story() -> None:
        async with world(*NODES, make_pod("first").requests(cpu="9").build()) as found:
            picture = ready(found)
            found.pass_seconds(30)
            found.api.create(make_pod("second").requests(cpu="20").build())
            await found.rest()
            found.pass_seconds(30)
            found.api.create(make_node("kept").capacity(cpu="10", memory="8Gi", pods=9).taint("for", "others").build())
            await found.rest()
            (queue,) = of(picture.advance(("",)).common, "queue")
            told = [(one["pod"], one["attempts"], one["since"], one["waitingSince"]) for one in queue["pods"]]
            assert told == [
                ("default/first", 2, "2026-01-02T00:01:00.000000Z", "2026-01-02T00:00:00.000000Z"),
                ("default/second", 1, "2026-01-02T00:00:30.000000Z", "2026-01-02T00:00:30.000000Z"),
            ]

    asyncio.run(story())


def test_a_second_that_is_over_is_told_once() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            picture = ready(found)
            found.pass_seconds(1)
            assert len(of(picture.advance(("",)).common, "rates")) == 1
            assert of(picture.advance(("",)).common, "rates") == []

    asyncio.run(story())


def test_nodes_are_not_kept_for_those_who_are_gone() -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            picture = ready(found)
            for number in range(20):
                picture.everything(f"label-{number}")
            picture.advance(("label-7",))
            assert list(picture._nodes) == ["label-7"]

    asyncio.run(story())
