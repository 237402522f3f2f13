"""Claims of pod groups through the whole flow: one claim for all pods of a gang, from the first to the last."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.config.feature_gates import parse
from stowplan.model.dra import ResourceClaim
from stowplan.model.pod import Pod, PodResourceClaim
from stowplan.model.pod_group import PodGroup
from tests.integration.gang_world import GangWorld, own_group, own_members, play
from tests.unit.plugins.dynamicresources.claim_objects import claim, device_class, slice_of

PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
ENTRY = PodResourceClaim(name="gpu", resource_claim_name="claim")
GATES = "GenericWorkload=true,DRAWorkloadResourceClaims=true"
TOO_LATE = 'running PreBind plugin "DynamicResources": claim default/claim got allocated elsewhere in the meantime'


def with_claim(group: PodGroup) -> PodGroup:
    return replace(group, spec=replace(group.spec, resource_claims=(ENTRY,)))


def members(count: int, cpu: str = "1") -> list[Pod]:
    pods = own_members("train", count, cpu)
    return [replace(pod, spec=replace(pod.spec, resource_claims=(ENTRY,))) for pod in pods]


def claim_of(world: GangWorld) -> ResourceClaim:
    found: ResourceClaim = world.notebook.objects["ResourceClaim", "default/claim"]
    return found


def consumers(world: GangWorld) -> list[tuple[str, str]]:
    return [(one.resource, one.name) for one in claim_of(world).status.reserved_for]


def device(world: GangWorld) -> str:
    allocation = claim_of(world).status.allocation
    return "/".join(f"{one.pool} {one.device}" for one in allocation.devices.results) if allocation is not None else ""


def furnish(world: GangWorld, *objects: Any, cpu: str = "4") -> None:
    """Make nodes `n0` and `n1`, of which the second has a device, and whatever else there is."""
    world.nodes(2, cpu)
    world.create(device_class("gpu"), slice_of("n1", "d1"), *objects)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_a_gang_shares_the_claim_of_its_group(release: str) -> None:
    async def story(world: GangWorld) -> None:
        furnish(world, claim(), with_claim(own_group("train", 3)), *members(3))
        await world.after(5)
        assert {pod.name: pod.node_name for pod in world.notebook.pods.values()} == {
            "train-0": "n1",
            "train-1": "n1",
            "train-2": "n1",
        }
        assert consumers(world) == [("podgroups", "train")]
        assert device(world) == "n1 d1"

    gates = f"{GATES},GangScheduling=true" if release == "1.36" else GATES
    play(story, PLAIN, parse(gates, release=release))


def test_whoever_comes_too_late_to_write_what_is_shared_is_tried_again() -> None:
    async def story(world: GangWorld) -> None:
        furnish(world, claim(), with_claim(own_group("train", 2)), *members(2))
        await world.after(3)
        assert world.went_back() == ["train-1"]
        assert world.message("train-1") == TOO_LATE
        assert world.bound() == ["train-0", "train-1"]

    play(story, PLAIN, parse(GATES))


def test_without_the_feature_pods_of_a_gang_share_a_claim_each_for_itself() -> None:
    async def story(world: GangWorld) -> None:
        furnish(world, claim(), with_claim(own_group("train", 2)), *members(2))
        await world.after(5)
        assert world.bound() == ["train-0", "train-1"]
        assert consumers(world) == [("pods", "train-0"), ("pods", "train-1")]

    play(story, PLAIN, parse("GenericWorkload=true"))


def test_a_pod_that_joins_later_uses_what_its_group_has() -> None:
    async def story(world: GangWorld) -> None:
        furnish(world, claim(), with_claim(own_group("train", 1)), *members(1))
        await world.after(2)
        world.create(members(2)[1])
        await world.after(2)
        assert world.bound() == ["train-0", "train-1"]
        assert consumers(world) == [("podgroups", "train")]

    play(story, PLAIN, parse(GATES))


def test_a_gang_that_does_not_fit_around_its_claim_leaves_nothing_behind() -> None:
    async def story(world: GangWorld) -> None:
        furnish(world, claim(), with_claim(own_group("train", 3)), *members(3, cpu="2"))
        await world.after(0.5)
        assert world.bound() == []
        assert device(world) == ""
        assert world.message("train-2") == (
            "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."
        )
        tracker = world.cluster.handle.claims
        assert tracker.allocated.state.devices == set()

    play(story, PLAIN, parse(GATES))
