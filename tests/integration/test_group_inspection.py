"""Asking a running scheduler about a group of pods: what it answers, and that nothing is different afterwards."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from stowplan.app.group_inspection import explain_group
from stowplan.app.replica import Replica
from stowplan.observe.metrics import Metrics
from stowplan.serving.debug_pages import UnknownObjectError
from tests.integration.gang_world import GANGS_ON, GangWorld, own_group, own_members, play

PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@dataclasses.dataclass
class Asked:
    """The parts of a replica that are asked, around a world."""

    world: GangWorld
    metrics: Metrics = dataclasses.field(default_factory=lambda: Metrics(lambda: 0, GANGS_ON))

    def __post_init__(self) -> None:
        self.cluster, self.scheduler = self.world.cluster, self.world.scheduler
        self.cluster.handle.measures = self.metrics.series


def replica_of(world: GangWorld) -> Replica:
    asked = Asked(world)
    return asked  # type: ignore[return-value]  # a replica needs a server; these are the parts of it that are asked


def test_a_group_that_waits_is_explained_with_its_place_and_attempts() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("train", 4), *own_members("train", 4))
        await world.after(0.5)
        found = explain_group(replica_of(world), "train")
        assert (found.pending, found.needed, found.attempts, found.place) == (4, 4, 1, "error backoff")
        [placement] = found.placements
        assert (sorted(placement.nodes), placement.missing) == (
            ["default/train-0", "default/train-1", "default/train-2"],
            "default/train-3",
        )

    play(story, PLAIN, GANGS_ON)


def test_asking_places_nobody_and_counts_nothing() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("train", 4), *own_members("train", 4))
        await world.after(0.5)
        places, replica = world.places(), replica_of(world)
        explain_group(replica, "default/train")
        assert (world.counted(), world.places()) == ([], places)
        assert "scheduler_workload_preemption_attempts_total{" not in replica.metrics.text().decode()

    play(story, PLAIN, GANGS_ON)


def test_asking_leaves_a_pod_the_node_that_is_nominated_to_it() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("train", 4), *own_members("train", 4))
        await world.after(0.5)
        pod = world.pod("train-0")
        nominated = replace(pod, status=replace(pod.status, nominated_node_name="n2"))
        nominations = world.cluster.handle.nominations
        nominations.put(nominated, "n2")
        explain_group(replica_of(world), "default/train")
        assert nominations.on("n2") == [nominated]

    play(story, PLAIN, GANGS_ON)


def test_a_group_with_which_nobody_waits_is_not_found() -> None:
    async def story(world: GangWorld) -> None:
        world.create(own_group("train", 4))
        await world.after(0.5)
        with pytest.raises(UnknownObjectError, match='pod group "default/train": no pod waits with it'):
            explain_group(replica_of(world), "train")

    play(story, PLAIN, GANGS_ON)
