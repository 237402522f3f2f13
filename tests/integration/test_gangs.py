"""Gangs through the whole flow under virtual time: all or nothing, whatever happens meanwhile."""

from __future__ import annotations

import msgspec

from stowplan.model.meta import NamespacedMeta
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import (
    BACKING_OFF,
    GangWorld,
    group,
    member,
    members,
    play,
)

DEFAULT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


# All or nothing


def test_a_gang_waits_at_the_gate_until_all_its_pods_exist() -> None:
    async def story(world: GangWorld) -> None:
        first, second, third = members("train", 3)
        world.nodes(3)
        world.create(first, second)
        await world.after(1)
        assert world.cluster.choose(first).rejection.reasons == (  # type: ignore[union-attr]
            'waiting for pod group "default/train" to be created',
        )
        world.create(group("train", 3))
        await world.after(1)
        assert world.places() == {"train-0": "gated", "train-1": "gated"}
        assert world.cluster.choose(first).rejection.reasons == (  # type: ignore[union-attr]
            'waiting for 1 more pod of pod group "default/train" (2 of 3 created)',
        )
        world.create(third)
        await world.after(1)
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story)


def test_a_gang_larger_than_the_cluster_is_not_placed_at_all() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(4)
        world.create(group("train", 5), *members("train", 5))
        await world.after(60)
        assert (world.bound(), world.counted()) == ([], [])
        assert world.message("train-0") == (
            'pod group "default/train": 4 of 5 members fit, 5 needed; '
            "member default/train-4: 0/4 nodes are available: 4 Insufficient cpu."
        )
        world.create(make_node("more").capacity(cpu="2", pods=110).build())
        await world.after(15)
        assert world.bound() == ["train-0", "train-1", "train-2", "train-3", "train-4"]

    play(story)


def test_of_two_gangs_that_want_the_same_nodes_one_is_placed_whole() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(4)
        ours = [member("a", number).build() for number in range(3)]
        theirs = [member("b", number).build() for number in range(3)]
        world.create(group("a", 3), group("b", 3))
        for pair in zip(ours, theirs, strict=True):
            world.create(*pair)
        await world.after(30)
        assert world.bound() == ["a-0", "a-1", "a-2"]
        assert world.message("b-0") == (
            'pod group "default/b": 1 of 3 members fit, 3 needed; '
            "member default/b-1: 0/4 nodes are available: 4 Insufficient cpu."
        )
        for pod in ours:
            world.notebook.delete(pod)
        await world.after(30)
        assert world.bound() == ["b-0", "b-1", "b-2"]

    play(story)


def test_the_gang_of_higher_priority_goes_first() -> None:
    async def story(world: GangWorld) -> None:
        world.create(group("low", 2), group("high", 2), *members("low", 2))
        world.create(*(member("high", number).priority(10).build() for number in range(2)))
        world.nodes(3)
        await world.after(30)
        assert world.bound() == ["high-0", "high-1"]

    play(story)


def test_the_older_group_goes_first_among_equals() -> None:
    def aged(name: str, created: str) -> object:
        meta = msgspec.convert({"name": name, "creationTimestamp": created}, NamespacedMeta)
        return msgspec.structs.replace(group(name, 2), metadata=meta)

    async def story(world: GangWorld) -> None:
        world.create(aged("young", "2026-05-02T00:00:00Z"), aged("old", "2026-05-01T00:00:00Z"))
        world.create(*members("young", 2), *members("old", 2))
        world.nodes(3)
        await world.after(30)
        assert world.bound() == ["old-0", "old-1"]

    play(story)


def test_ordinary_pods_take_what_a_refused_gang_does_not_hold() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 4), *members("train", 4))
        world.create(*(make_pod(f"web-{number}").requests(cpu="2").build() for number in range(3)))
        await world.after(30)
        assert world.bound() == ["web-0", "web-1", "web-2"]

    play(story)


def test_a_replacement_is_scheduled_alone_while_the_gang_has_its_number() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(4)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        world.create(member("train", 3).build())
        await world.after(1)
        assert world.bound() == ["train-0", "train-1", "train-2", "train-3"]

    play(story)


# What changes meanwhile


def test_a_gang_waits_for_a_member_with_scheduling_gates() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("train", 3), *members("train", 2), member("train", 2).gate("quota").build())
        await world.after(30)
        assert world.bound() == []
        world.notebook.update(member("train", 2).build())
        await world.after(1)
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story)


def test_a_deleted_member_sends_the_rest_back_to_the_gate() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        world.notebook.delete(world.pod("train-2"))
        world.create(make_node("more").capacity(cpu="2", pods=110).build())
        await world.after(30)
        assert world.bound() == []
        assert set(world.places().values()) <= {"gated", "unschedulable"}
        world.create(member("train", 7).build())
        await world.after(30)
        assert world.bound() == ["train-0", "train-1", "train-7"]

    play(story)


def test_pods_that_are_being_deleted_do_not_make_up_the_number() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(4)
        world.create(group("train", 2), *members("train", 2))
        await world.after(1)
        for name in ("train-0", "train-1"):
            world.notebook.terminate(world.pod(name))
        world.create(member("train", 2).build())
        await world.after(5)
        assert world.places() == {"train-2": "gated"}

    play(story)


def test_without_its_group_a_refused_gang_waits_for_it_to_come_again() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        world.notebook.delete(group("train", 3))
        world.create(make_node("more").capacity(cpu="2", pods=110).build())
        await world.after(30)
        assert world.bound() == []
        world.create(group("train", 3))
        await world.after(30)
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story)


def test_a_lowered_number_lets_those_go_that_fit() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        assert world.bound() == []
        world.notebook.update(group("train", 2))
        await world.after(15)
        assert world.bound() == ["train-0", "train-1"]
        assert world.places() == {"train-2": "unschedulable"}

    play(story)


def test_min_resources_hold_a_gang_back_until_there_is_room() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(group("train", 1, {"cpu": "6"}), *members("train", 1))
        await world.after(5)
        assert world.message("train-0") == (
            'pod group "default/train": minResources asks for cpu 6, the cluster has 4 free'
        )
        world.create(make_node("more").capacity(cpu="2", pods=110).build())
        await world.after(15)
        assert world.bound() == ["train-0"]

    play(story)


def test_a_refused_gang_is_left_alone_for_as_long_as_configured() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(group("train", 3), *members("train", 3))
        await world.after(1)
        world.create(make_node("more").capacity(cpu="2", pods=110).build())
        await world.after(30)
        assert world.bound() == []
        assert world.message("train-2") == (
            'pod group "default/train" failed recently; it is tried again 40 seconds after that'
        )
        await world.after(15)
        assert world.bound() == ["train-0", "train-1", "train-2"]

    play(story, BACKING_OFF)


def test_without_the_plugin_the_label_means_nothing() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(group("big", 4), *members("big", 4))
        await world.after(30)
        assert world.bound() == ["big-0", "big-1", "big-2"]

    play(story, DEFAULT)
