"""The queue as it is told: counted whole, described in part."""

import asyncio

from stowplan.testing import make_node, make_pod
from stowplan.web.queue_answers import AT_A_TIME, longest
from tests.unit.web.asked import ask
from tests.unit.web.sources import world

NODE = make_node("n").capacity(cpu="4", memory="8Gi", pods=9).build()


def test_all_are_counted_and_some_are_described() -> None:
    async def story() -> None:
        pods = [make_pod(f"p{number}").requests(cpu="9").build() for number in range(5)]
        async with world(NODE, *pods) as found:
            answer = await ask(found.source, "queue", "?limit=2")
            assert (answer.counts["unschedulable"], answer.total) == (5, 5)
            assert [one.pod for one in answer.pods] == ["default/p0", "default/p1"]

    asyncio.run(story())


def test_the_oldest_of_each_place_is_told_of_those_that_are_wanted() -> None:
    async def story() -> None:
        async with world(NODE, make_pod("first").requests(cpu="9").build()) as found:
            found.pass_seconds(7)
            found.api.create(make_pod("second").requests(cpu="9").build())
            found.api.create(make_pod("gated").gate("later").build())
            await found.rest()
            answer = await ask(found.source, "queue")
            assert answer.oldest == {
                "unschedulable": "2026-01-02T00:00:00.000000Z",
                "gated": "2026-01-02T00:00:07.000000Z",
            }
            wanted = await ask(found.source, "queue", "?q=second")
            assert wanted.oldest == {"unschedulable": "2026-01-02T00:00:07.000000Z"}

    asyncio.run(story())


def test_others_have_their_turn_while_many_are_described() -> None:
    async def story() -> None:
        pods = [make_pod(f"p{number}").requests(cpu="9").build() for number in range(2 * AT_A_TIME + 1)]
        async with world(NODE, *pods) as found:
            turns = 0

            async def others() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(others())
            answer = await ask(found.source, "queue", "?limit=1000")
            task.cancel()
            assert (len(answer.pods), turns) == (2 * AT_A_TIME + 1, 2)

    asyncio.run(story())


def test_a_place_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    async def story() -> None:
        async with world(NODE) as found:
            assert await ask(found.source, "queue", "?place=bed") == (
                "place: Invalid value: 'bed': Invalid enum value 'bed'; known: in flight, active, backoff,"
                " error backoff, unschedulable, gated, incomplete, pending, gone"
            )

    asyncio.run(story())


def test_a_part_of_a_name_may_begin_with_a_capital() -> None:
    async def story() -> None:
        pods = (make_pod(name).requests(cpu="9").build() for name in ("web", "db"))
        async with world(NODE, *pods) as found:
            answer = await ask(found.source, "queue", "?q=Web")
            assert [one.pod for one in answer.pods] == ["default/web"]

    asyncio.run(story())


def test_a_crowd_that_waits_longer_does_not_hide_the_other_places() -> None:
    async def story() -> None:
        crowd = (make_pod(f"p{number}").requests(cpu="9").build() for number in range(5))
        async with world(NODE, *crowd) as found:
            found.pass_seconds(7)
            found.api.create(make_pod("gated").gate("later").build())
            await found.rest()
            answer = longest(found.source.inspection.view(), 3)
            assert [one.pod for one in answer.pods] == ["default/p0", "default/p1", "default/gated"]
            assert answer.total == 6

    asyncio.run(story())
