"""Extenders have their say when room is sought for a pod group: about every pod, as if the victims were gone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stowplan.framework.extender import Filtered, NodesByName
from stowplan.framework.handle import ExtenderError
from stowplan.model.pod import Pod
from stowplan.testing import make_pod
from tests.integration.gang_world import GANGS_ON, GangWorld, own_group, own_members, play
from tests.unit.extender.fakes import FakeExtender

PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FULL = "0/2 nodes are available: 2 Insufficient cpu."


def crowd(world: GangWorld, extender: FakeExtender) -> None:
    """Fill both nodes with unimportant pods, let an extender have a say, and bring a more important group of one."""
    world.cluster.handle.extenders = (extender,)
    world.scheduler.policy.extenders = world.cluster.extenders_in_flow()
    world.nodes(2)
    for name in ("n0", "n1"):
        world.create(make_pod(f"on-{name}").requests(cpu="2").on(name).build())
    world.create(own_group("train", 1, priority=10), *own_members("train", 1, priority=10))


def test_room_is_made_where_extenders_let_the_group_go_and_they_are_not_asked_to_preempt() -> None:
    extender = FakeExtender(filtered=Filtered(("n1",)), agreed=[])

    async def story(world: GangWorld) -> None:
        crowd(world, extender)
        await world.after(0.5)
        assert world.notebook.evicted == ["default/on-n1"]
        # Nobody is feasible in the attempt itself, so this is about the cluster without its pods.
        assert sorted(extender.asked[0]) == ["filter", "n0", "n1"]
        assert not any(verb == "preempt" for verb, *_ in extender.asked)

    play(story, PLAIN, GANGS_ON)


def test_nobody_is_evicted_for_a_group_that_extenders_let_go_nowhere() -> None:
    async def story(world: GangWorld) -> None:
        crowd(world, FakeExtender(filtered=Filtered((), failed={"n0": "not here", "n1": "not here"})))
        await world.after(0.5)
        assert world.notebook.evicted == []
        short = "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"
        assert world.condition("train")[2].endswith(f", pod group preemption: {short}")
        assert world.message("train-0") == FULL

    play(story, PLAIN, GANGS_ON)


def test_an_extender_that_fails_meanwhile_is_an_error_of_making_room() -> None:
    async def story(world: GangWorld) -> None:
        crowd(world, FakeExtender(filtered=ExtenderError("http://fake: refused")))
        await world.after(0.5)
        assert world.notebook.evicted == []
        assert "http://fake: refused" in world.condition("train")[2]

    play(story, PLAIN, GANGS_ON)


@dataclass
class SlowExtender(FakeExtender):
    """Takes its time."""

    async def filter(self, pod: Pod, nodes: NodesByName) -> Filtered:
        await asyncio.sleep(8)
        return await super().filter(pod, nodes)


def test_waiting_for_an_extender_is_not_the_plugins_fault() -> None:
    async def story(world: GangWorld) -> None:
        crowd(world, SlowExtender(filtered=Filtered(("n1",))))
        await world.after(10)
        assert world.notebook.evicted == ["default/on-n1"]

    play(story, PLAIN, GANGS_ON)
