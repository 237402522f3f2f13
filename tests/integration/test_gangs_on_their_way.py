"""Members of a gang on their way to their nodes: held, refused, deleted or not bound, and what the others do then."""

from __future__ import annotations

from itertools import count

import pytest

from stowplan.framework.contract import Permit, Reserve, Wait, refuse
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.simulate.fake_cluster import Fault
from tests.integration.gang_world import (
    COSCHEDULING,
    GANGS_ON,
    GangWorld,
    group,
    member,
    members,
    play,
)


class Holds(Permit):
    """Holds every pod, for a minute at most."""

    def permit(self, pod: Pod, node_name: str) -> Wait:
        return Wait(60.0)


class RefusesOne(Permit):
    """Refuses one pod at Permit, for good."""

    def permit(self, pod: Pod, node_name: str) -> Rejection | None:
        return refuse("no permit") if pod.name == "train-1" else None


class ReservesTwo(Reserve):
    """Has room for two pods at a time."""

    def __init__(self) -> None:
        self.held: set[str] = set()

    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        if len(self.held) == 2:
            return refuse("no more than two")
        self.held.add(pod.uid)
        return None

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.held.discard(pod.uid)


def test_a_member_refused_by_permit_takes_its_gang_back() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        assert (world.bound(), world.counted()) == ([], [])
        assert world.message("train-0") == (
            'pod group "default/train": 2 of 3 members fit, 3 needed; '
            "member default/train-1: 0/1 nodes are available: 1 no permit."
        )

    play(story, COSCHEDULING, GANGS_ON, RefusesOne())


def test_what_was_reserved_for_a_refused_gang_is_given_back() -> None:
    plugin = ReservesTwo()

    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        assert (world.bound(), world.counted(), plugin.held) == ([], [], set())
        world.create(group("pair", 2), *members("pair", 2))
        await world.after(1)
        assert world.bound() == ["pair-0", "pair-1"]

    play(story, COSCHEDULING, GANGS_ON, plugin)


def test_members_held_by_permit_are_bound_when_the_last_of_them_is_let_go() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        first, second, third = world.scheduler.state.waiting
        first.allow("Holds")
        second.allow("Holds")
        await world.after(5)
        assert world.bound() == []
        third.allow("Holds")
        await world.after(1)
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story, COSCHEDULING, GANGS_ON, Holds())


def test_a_held_member_that_is_refused_takes_its_gang_back() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        first, *_ = world.scheduler.state.waiting
        first.reject("Holds", "not today")
        await world.after(0.1)
        assert (world.bound(), world.went_back()) == ([], ["train-0", "train-1", "train-2"])
        assert world.message("train-2") == (
            '0/1 nodes are available: 1 pod group "default/train": 2 of 3 needed members are left; '
            "member default/train-0 lost its node: 0/1 nodes are available: 1 not today."
        )

    play(story, COSCHEDULING, GANGS_ON, Holds())


def test_an_extra_member_may_be_refused_without_harm() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 2), *members("train", 3))
        await world.after(1)
        first, second, third = world.scheduler.state.waiting
        first.reject("Holds", "not today")
        second.allow("Holds")
        third.allow("Holds")
        await world.after(0.1)
        assert world.bound() == ["train-1", "train-2"]

    play(story, COSCHEDULING, GANGS_ON, Holds())


def test_a_member_that_comes_later_waits_for_those_on_their_way() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 2), *members("train", 2))
        await world.after(1)
        world.create(member("train", 2).build())
        await world.after(1)
        first, second, late = world.scheduler.state.waiting
        late.allow("Holds")
        await world.after(1)
        assert world.bound() == []
        first.reject("Holds", "not today")
        second.reject("Holds", "not today")
        await world.after(0.1)
        assert (world.bound(), world.went_back()) == ([], ["train-0", "train-1", "train-2"])

    play(story, COSCHEDULING, GANGS_ON, Holds())


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [
        pytest.param(20, 20, id="the group's own time-out"),
        pytest.param(None, 60, id="that of the plugin's arguments"),
    ],
)
def test_members_are_held_no_longer_than_the_group_allows(timeout: int | None, seconds: int) -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(group("train", 2, timeout=timeout), *members("train", 2))
        await world.after(seconds - 0.5)
        assert world.counted() == ["train-0", "train-1"]
        held = list(world.scheduler.state.waiting)
        await world.after(1)
        assert all(one.is_decided for one in held)

    play(story, COSCHEDULING, GANGS_ON, Holds())


def test_a_member_deleted_while_held_takes_its_gang_back() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        held = list(world.scheduler.state.waiting)
        world.notebook.delete(world.pod("train-1"))
        for one in held:
            one.allow("Holds")
        await world.after(5)
        assert (world.bound(), world.counted()) == ([], [])

    play(story, COSCHEDULING, GANGS_ON, Holds())


def fails_at(call: int) -> Fault:
    """Let one binding fail, the first or a later one."""
    calls = count(1)

    async def fault(verb: str, key: str) -> None:
        if verb == "bind" and next(calls) == call:
            raise ConnectionError("the server is away")

    return fault


def test_a_binding_that_fails_before_any_is_made_takes_the_gang_back_and_it_is_tried_again() -> None:
    async def story(world: GangWorld) -> None:
        world.notebook.fault = fails_at(1)
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(30)
        first, second, third = world.went_back()
        assert sorted((first, second, third)) == ["train-0", "train-1", "train-2"]
        assert world.message(first) == 'running Bind plugin "DefaultBinder": the server is away'
        assert world.message(second) == (
            'pod group "default/train": 2 of 3 needed members are left; '
            f'member default/{first} lost its node: running Bind plugin "DefaultBinder": the server is away'
        )
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story)


def test_members_bound_before_another_fails_stay_and_the_gang_is_completed() -> None:
    async def story(world: GangWorld) -> None:
        world.notebook.fault = fails_at(3)
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        await world.after(30)
        assert len(world.went_back()) == 1
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story)


def test_a_gang_that_cannot_be_bound_backs_off() -> None:
    calls: list[str] = []

    async def fault(verb: str, key: str) -> None:
        if verb == "bind":
            calls.append(key)
            raise ConnectionError("the server is away")

    async def story(world: GangWorld) -> None:
        world.notebook.fault = fault
        world.nodes(3)
        world.create(group("train", 3), *members("train", 3))
        # Tried at once, then after 1, 2, 4, 8, 10, 10, ... seconds; a wait ends with the second it ends in.
        await world.after(50)
        assert len(calls) == 7

    play(story)
