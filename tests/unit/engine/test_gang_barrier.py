"""Members of a gang on their way: who waits for whom, who is turned back when one is lost, and what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine.failure import Failure
from stowplan.engine.gang_barrier import GangBarriers, Point
from stowplan.framework.gangs import Gang
from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.model.pod import Pod
from stowplan.model.pod_group import COMMUNITY_GROUP, GroupKey
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import member

FULL = Failure("0/1 nodes are available: 1 full.", plugins=("Picky",))
FAULT = Failure("binding broke off")


class Road:
    """Members of gangs that are counted on a node, and where each of them has got to."""

    def __init__(self, **gangs: int) -> None:
        """Let gangs set out; `train=3` is one of three members, of whom three are needed."""
        self.scheduler = assemble(Cluster(), FakeCluster(), lambda: 0)
        self.scheduler.event_handlers.add(make_node("n").capacity(cpu=99, pods=99).build(), 0)
        self.barriers = GangBarriers(self.scheduler.state.cache, self.scheduler.state.waiting)
        self.pods: dict[str, Pod] = {}
        self.going: dict[str, asyncio.Task[Failure | None]] = {}
        for name, count in gangs.items():
            self.set_out(gang(name, count), *range(count))

    def set_out(self, which: Gang, *numbers: int) -> None:
        pods = [self.place(which.key.name, number) for number in numbers]
        self.barriers.set_out(which, pods)

    def place(self, name: str, number: int) -> Pod:
        pod = self.pods[f"{name}-{number}"] = member(name, number, cpu="1").build()
        self.scheduler.event_handlers.add(pod, 0)
        self.scheduler.state.cache.assume(pod, "n")
        return pod

    def take_off(self, name: str) -> None:
        """Take a pod off its node."""
        self.scheduler.state.cache.forget(self.pods[name])

    async def arrive(self, point: Point, *names: str) -> None:
        """Let members come to a point, and everybody go on who can."""
        for name in names:
            self.going[name] = asyncio.create_task(self.barriers.meet(self.pods[name], point))
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    def waiting(self) -> set[str]:
        """Return who waits for the others."""
        return {name for name, task in self.going.items() if not task.done()}

    def told(self, name: str) -> Failure | None:
        """Return what one that does not wait any more was told: None to go on."""
        return self.going[name].result()

    def placed(self, name: str = "train") -> int:
        return self.barriers.placed(gang(name, 1))


def gang(name: str, needed: int) -> Gang:
    return Gang(GroupKey(COMMUNITY_GROUP, "default", name), "Coscheduling", needed)


def on_the_road(story: Callable[[Road], Awaitable[None]], **gangs: int) -> None:
    async def tell() -> None:
        road = Road(**gangs)
        await story(road)
        for task in road.going.values():
            task.cancel()

    asyncio.run(tell())


# Waiting for each other


@pytest.mark.parametrize("point", Point)
def test_members_go_on_from_a_point_when_the_last_of_them_is_there(point: Point) -> None:
    async def story(road: Road) -> None:
        await road.arrive(point, "train-0", "train-2")
        assert road.waiting() == {"train-0", "train-2"}
        await road.arrive(point, "train-1")
        assert road.waiting() == set()
        assert [road.told(name) for name in road.pods] == [None, None, None]

    on_the_road(story, train=3)


def test_each_point_is_waited_at_anew() -> None:
    async def story(road: Road) -> None:
        await road.arrive(Point.PERMITTED, "train-0", "train-1")
        await road.arrive(Point.PREPARED, "train-0")
        assert road.waiting() == {"train-0"}
        await road.arrive(Point.PREPARED, "train-1")
        assert road.waiting() == set()

    on_the_road(story, train=2)


def test_one_gang_does_not_wait_for_another() -> None:
    async def story(road: Road) -> None:
        await road.arrive(Point.PERMITTED, "train-0", "bus-0", "bus-1")
        assert road.waiting() == {"train-0"}

    on_the_road(story, train=2, bus=2)


def test_a_pod_that_belongs_to_no_party_passes_every_point() -> None:
    async def story(road: Road) -> None:
        alone = make_pod("alone").build()
        assert not road.barriers.has(alone)
        assert [await road.barriers.meet(alone, point) for point in Point] == [None, None]
        road.barriers.part(alone)
        road.barriers.lose(alone, FULL)
        assert road.placed() == 2

    on_the_road(story, train=2)


def test_a_member_that_sets_out_later_is_waited_for() -> None:
    async def story(road: Road) -> None:
        await road.arrive(Point.PERMITTED, "train-0")
        road.set_out(gang("train", 2), 2)
        await road.arrive(Point.PERMITTED, "train-1")
        assert road.waiting() == {"train-0", "train-1"}
        await road.arrive(Point.PERMITTED, "train-2")
        assert road.waiting() == set()

    on_the_road(story, train=2)


# Being lost


@pytest.mark.parametrize(
    ("point", "why", "message", "plugins"),
    [
        pytest.param(
            Point.PERMITTED,
            FULL,
            'pod group "default/train": 2 of 3 needed members are left; member default/train-0 lost its node: '
            "0/1 nodes are available: 1 full",
            ("Coscheduling",),
            id="refused by plugins before all are permitted: the gang may wait for events",
        ),
        pytest.param(
            Point.PREPARED,
            FULL,
            'pod group "default/train": 2 of 3 needed members are left; member default/train-0 lost its node: '
            "0/1 nodes are available: 1 full",
            (),
            id="refused by plugins later: nobody kept events",
        ),
        pytest.param(
            Point.PERMITTED,
            FAULT,
            'pod group "default/train": 2 of 3 needed members are left; member default/train-0 lost its node: '
            "binding broke off",
            (),
            id="by a fault: no event helps",
        ),
    ],
)
def test_too_few_are_left_so_the_others_turn_back(
    point: Point, why: Failure, message: str, plugins: tuple[str, ...]
) -> None:
    async def story(road: Road) -> None:
        await road.arrive(point, "train-1")
        road.barriers.lose(road.pods["train-0"], why)
        await road.arrive(point, "train-2")
        expected = Failure(message, plugins, nominated_node_name="", reason="Unschedulable")
        assert (road.told("train-1"), road.told("train-2")) == (expected, expected)

    on_the_road(story, train=3)


def test_enough_are_left_so_the_others_do_not_wait_for_the_lost_one() -> None:
    async def story(road: Road) -> None:
        road.set_out(gang("train", 2), 0, 1, 2)
        await road.arrive(Point.PERMITTED, "train-1", "train-2")
        assert road.waiting() == {"train-1", "train-2"}
        road.barriers.lose(road.pods["train-0"], FULL)
        await road.settle()
        assert (road.told("train-1"), road.told("train-2")) == (None, None)

    on_the_road(story)


def test_once_one_is_bound_the_others_go_on_though_too_few_are_left() -> None:
    async def story(road: Road) -> None:
        road.barriers.part(road.pods["train-0"])
        await road.arrive(Point.PREPARED, "train-1")
        road.barriers.lose(road.pods["train-2"], FULL)
        await road.settle()
        assert road.told("train-1") is None

    on_the_road(story, train=3)


def test_once_one_is_bound_the_others_go_on_though_it_is_deleted() -> None:
    async def story(road: Road) -> None:
        road.barriers.part(road.pods["train-0"])
        road.take_off("train-0")
        assert road.placed() == 1
        await road.arrive(Point.PREPARED, "train-1")
        assert road.told("train-1") is None

    on_the_road(story, train=2)


def test_a_member_that_is_deleted_meanwhile_leaves_too_few() -> None:
    async def story(road: Road) -> None:
        await road.arrive(Point.PERMITTED, "train-0")
        road.take_off("train-1")
        await road.arrive(Point.PERMITTED, "train-1")
        expected = Failure(
            'pod group "default/train": 1 of 2 needed members are left',
            ("Coscheduling",),
            nominated_node_name="",
            reason="Unschedulable",
        )
        assert (road.told("train-0"), road.told("train-1")) == (expected, expected)

    on_the_road(story, train=2)


def test_the_first_objection_stands() -> None:
    async def story(road: Road) -> None:
        road.barriers.lose(road.pods["train-0"], FAULT)
        road.barriers.lose(road.pods["train-1"], FULL)
        await road.arrive(Point.PERMITTED, "train-2")
        told = road.told("train-2")
        assert told is not None
        assert told.message.endswith("member default/train-0 lost its node: binding broke off")
        assert told.plugins == ()

    on_the_road(story, train=3)


def test_held_members_are_refused_in_the_name_of_their_gang_and_others_are_not() -> None:
    async def story(road: Road) -> None:
        decided: dict[str, Rejection | None] = {}
        for name in ("train-1", "bus-0"):
            held = WaitingPod(road.pods[name], "n", {"Holds": 60.0})
            held.when_decided(partial(decided.__setitem__, name))
            road.scheduler.state.waiting.add(held)
        road.barriers.lose(road.pods["train-0"], FULL)
        message = (
            'pod group "default/train": 1 of 2 needed members are left; member default/train-0 lost its node: '
            "0/1 nodes are available: 1 full"
        )
        assert decided == {"train-1": Rejection((message,), Code.UNSCHEDULABLE, "Coscheduling")}

    on_the_road(story, train=2, bus=2)


# Who counts


def test_members_that_give_their_node_back_do_not_count_until_they_are_off_it() -> None:
    async def story(road: Road) -> None:
        road.set_out(gang("train", 1), 0, 1, 2)
        assert road.placed() == 3
        road.barriers.lose(road.pods["train-0"], FULL)
        assert road.placed() == 2
        road.take_off("train-0")
        road.barriers.forget(road.pods["train-0"])
        assert road.placed() == 2
        road.place("train", 0)
        assert road.placed() == 3

    on_the_road(story)


def test_nobody_of_a_party_that_turns_back_counts() -> None:
    async def story(road: Road) -> None:
        road.barriers.lose(road.pods["train-0"], FULL)
        assert (road.placed("train"), road.placed("bus")) == (0, 2)

    on_the_road(story, train=3, bus=2)


def test_members_that_wait_for_a_node_do_not_count() -> None:
    async def story(road: Road) -> None:
        road.scheduler.event_handlers.add(member("train", 7).build(), 0)
        assert road.placed() == 2

    on_the_road(story, train=2)


# Who is under way


def test_a_gang_is_under_way_until_its_last_member_is_bound_or_lost() -> None:
    async def story(road: Road) -> None:
        train = gang("train", 2)
        seen = [road.barriers.is_under_way(train), road.barriers.is_under_way(gang("bus", 1))]
        road.barriers.part(road.pods["train-0"])
        seen.append(road.barriers.is_under_way(train))
        assert not road.barriers.has(road.pods["train-0"])
        assert road.barriers.has(road.pods["train-1"])
        road.barriers.lose(road.pods["train-1"], FULL)
        assert [*seen, road.barriers.is_under_way(train)] == [True, False, True, False]

    on_the_road(story, train=2)


def test_those_who_set_out_after_a_gang_turned_back_are_a_party_of_their_own() -> None:
    async def story(road: Road) -> None:
        road.barriers.lose(road.pods["train-0"], FULL)
        road.set_out(gang("train", 2), 2, 3)
        await road.arrive(Point.PERMITTED, "train-2")
        assert road.waiting() == {"train-2"}
        # The one that is still turning back leaves its own party, not theirs.
        road.barriers.lose(road.pods["train-1"], FULL)
        assert road.barriers.is_under_way(gang("train", 2))
        await road.arrive(Point.PERMITTED, "train-3")
        assert (road.told("train-2"), road.told("train-3")) == (None, None)

    on_the_road(story, train=2)
