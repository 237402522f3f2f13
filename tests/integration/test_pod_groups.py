"""Kubernetes' own pod groups through the whole flow: what becomes of the pods, and what pods and groups are told."""

from __future__ import annotations

from msgspec.structs import replace

from stowplan.config.feature_gates import parse
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod_group import (
    CompositeGangPolicy,
    CompositePodGroup,
    CompositePodGroupSpec,
    CompositeSchedulingPolicy,
    PodGroup,
)
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import GANGS_ON, GangWorld, own_group, own_members, play, whole

PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RACK = "example.com/rack"
RACKS_ON = parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
TOO_FEW = "minCount (4) cannot be satisfied: 3 scheduled, 0 remaining"
NO_VICTIMS = "pod group preemption: No preemption victims found for incoming preemptor"


def test_a_gang_that_fits_is_bound_as_a_whole_and_its_group_says_so() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("train", 3), *own_members("train", 3))
        await world.after(1)
        assert world.bound() == ["train-0", "train-1", "train-2"]
        assert world.condition("train") == ("True", "Scheduled", "")

    play(story, PLAIN, GANGS_ON)


def test_a_gang_that_does_not_fit_holds_nothing_and_each_pod_hears_why() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("train", 4), *own_members("train", 4))
        await world.after(0.5)
        assert world.counted() == []
        assert world.message("train-0") == f"pod group is unschedulable, {TOO_FEW}, {NO_VICTIMS}"
        assert world.message("train-3") == "0/3 nodes are available: 3 Insufficient cpu."
        assert world.condition("train") == ("False", "Unschedulable", f"{TOO_FEW}, {NO_VICTIMS}")

    play(story, PLAIN, GANGS_ON)


def test_pods_that_are_not_tried_any_more_hear_of_the_group() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(1)
        world.create(own_group("train", 4), *own_members("train", 4))
        await world.after(0.5)
        assert world.message("train-2") == "minCount (4) cannot be satisfied: 1 scheduled, 2 remaining"

    play(story, PLAIN, GANGS_ON)


def test_a_refused_gang_is_tried_again_when_its_wait_is_over() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("train", 4), *own_members("train", 4))
        await world.after(0.5)
        world.create(make_node("more").capacity(cpu="2", memory="64Gi", pods=110).build())
        await world.after(0.1)
        assert world.bound() == []
        await world.after(3)
        assert world.bound() == ["train-0", "train-1", "train-2", "train-3"]

    play(story, PLAIN, GANGS_ON)


def test_that_a_group_was_scheduled_is_not_taken_back() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(own_group("train", 2), *own_members("train", 3))
        await world.after(10)
        assert world.bound() == ["train-0", "train-1"]
        assert world.message("train-2") == "0/2 nodes are available: 2 Insufficient cpu."
        assert world.condition("train") == ("True", "Scheduled", "")

    play(story, PLAIN, GANGS_ON)


def test_pods_of_another_priority_than_their_group_are_an_error() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(own_group("train", 2, priority=7), *own_members("train", 2))
        await world.after(0.5)
        said = "all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 7"
        assert world.message("train-0") == said
        assert world.condition("train") == ("False", "SchedulerError", said)

    play(story, PLAIN, GANGS_ON)


def test_pods_for_two_schedulers_are_an_error() -> None:
    async def story(world: GangWorld) -> None:
        first, second = own_members("train", 2)
        other = replace(second, spec=replace(second.spec, scheduler_name="another", node_name="n0"))
        world.nodes(2)
        world.create(own_group("train", 2), other, first)
        await world.after(0.5)
        assert world.message("train-0") == (
            "all pods in a single pod group should have the same .spec.schedulerName set, "
            'got: "another" and "default-scheduler"'
        )

    play(story, PLAIN, GANGS_ON)


def test_a_group_evicts_less_important_pods_and_those_that_can_stay_stay() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(*(make_pod(f"low-{number}").requests(cpu="2").on(f"n{number}").build() for number in range(3)))
        world.create(own_group("train", 2, priority=5), *own_members("train", 2, priority=5))
        await world.after(0.9)
        assert len(world.notebook.evicted) == 2
        found = "pod group preemption: found a placement for podgroup, preempting 2 victims"
        head = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
        assert world.condition("train") == ("False", "Unschedulable", f"{head}, {found}")
        assert {pod.status.nominated_node_name for pod in map(world.pod, ("train-0", "train-1"))} < {"n0", "n1", "n2"}
        await world.after(3)
        assert world.bound("train") == ["train-0", "train-1"]
        texts = {note.text for note in world.notebook.notes if note.reason == "Preempted"}
        assert texts == {"Preempted by podgroup group-train on node cluster"}

    play(story, PLAIN, GANGS_ON)


def test_a_group_that_goes_as_a_whole_is_evicted_as_a_whole() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(2)
        world.create(whole(own_group("batch", 2)), *own_members("batch", 2))
        await world.after(1)
        assert world.bound() == ["batch-0", "batch-1"]
        world.create(make_pod("urgent").requests(cpu="2").priority(9).build())
        await world.after(4)
        assert sorted(world.notebook.evicted) == ["default/batch-0", "default/batch-1"]
        assert world.bound() == ["urgent"]

    play(story, PLAIN, GANGS_ON)


def test_a_group_whose_pods_never_preempt_says_so() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(1)
        pods = [replace(pod, spec=replace(pod.spec, preemption_policy="Never")) for pod in own_members("train", 2)]
        world.create(own_group("train", 2), *pods)
        await world.after(0.5)
        text = "pod group preemption: not eligible due to preemptionPolicy=Never."
        assert world.condition("train")[2].endswith(text)

    play(story, PLAIN, GANGS_ON)


def _racks(world: GangWorld) -> None:
    for number in range(4):
        node = make_node(f"n{number}").capacity(cpu="2", memory="64Gi", pods=110)
        world.create(node.label(RACK, f"rack-{number // 2}").build())


def test_a_group_with_a_topology_constraint_goes_to_one_value_of_the_label() -> None:
    async def story(world: GangWorld) -> None:
        _racks(world)
        world.create(make_pod("other").requests(cpu="1").on("n0").build())
        world.create(own_group("train", 2, topology=RACK), *own_members("train", 2))
        await world.after(1)
        assert {world.pod("train-0").node_name, world.pod("train-1").node_name} == {"n2", "n3"}

    play(story, PLAIN, RACKS_ON)


def test_a_group_that_no_placement_takes_is_told_how_many_there_are() -> None:
    async def story(world: GangWorld) -> None:
        _racks(world)
        world.create(own_group("train", 3, topology=RACK), *own_members("train", 3))
        await world.after(0.5)
        head = "pod group is unschedulable, 0/2 placements are available, first placement status: "
        first = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
        assert world.condition("train")[2] == f"{head}{first}, {NO_VICTIMS}"
        assert world.message("train-2") == "0/2 nodes are available: 2 Insufficient cpu."

    play(story, PLAIN, RACKS_ON)


def test_pods_that_come_later_go_where_their_group_is() -> None:
    async def story(world: GangWorld) -> None:
        _racks(world)
        first, second = own_members("train", 2, cpu="1")
        world.create(own_group("train", 1, topology=RACK), first)
        await world.after(1)
        rack = world.pod("train-0").node_name in ("n0", "n1")
        world.create(second)
        await world.after(1)
        assert (world.pod("train-1").node_name in ("n0", "n1")) is rack

    play(story, PLAIN, RACKS_ON)


def test_a_group_that_is_deleted_leaves_its_pods_waiting_for_it() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(1)
        group: PodGroup = own_group("train", 2)
        world.create(group, *own_members("train", 2))
        await world.after(0.5)
        world.notebook.delete(group)
        await world.after(5)
        assert set(world.places().values()) == {"incomplete"}

    play(story, PLAIN, GANGS_ON)


def test_without_the_feature_gate_pods_go_one_by_one() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(1)
        world.create(own_group("train", 2), *own_members("train", 2))
        await world.after(1)
        assert len(world.bound()) == 1

    play(story, PLAIN)


def test_of_a_group_with_a_basic_policy_all_pods_go_that_fit() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(own_group("big", None), *own_members("big", 4))
        await world.after(5)
        assert world.bound() == ["big-0", "big-1", "big-2"]

    play(story, PLAIN, GANGS_ON)


TREES_ON = parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true")


def _tree(name: str, needed: int) -> CompositePodGroup:
    policy = CompositeSchedulingPolicy(gang=CompositeGangPolicy(min_group_count=needed))
    return CompositePodGroup(metadata=NamespacedMeta(name=name), spec=CompositePodGroupSpec(scheduling_policy=policy))


def test_a_tree_of_groups_is_placed_if_enough_of_its_groups_fit() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(_tree("job", 1), own_group("big", 4, parent="job"), own_group("small", 2, parent="job"))
        world.create(*own_members("big", 4), *own_members("small", 2))
        await world.after(1)
        assert world.bound() == ["small-0", "small-1"]
        assert world.condition("small")[0] == "True"
        assert world.condition("big")[0] == "False"

    play(story, PLAIN, TREES_ON)


def test_a_tree_of_which_too_few_groups_fit_is_not_placed_at_all() -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(3)
        world.create(_tree("job", 2), own_group("big", 4, parent="job"), own_group("small", 2, parent="job"))
        world.create(*own_members("big", 4), *own_members("small", 2))
        await world.after(1)
        assert (world.bound(), world.counted()) == ([], [])

    play(story, PLAIN, TREES_ON)
