"""What is counted of groups of pods, and of pods that preempt: searches for victims, who has to go, placements."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from stowplan.config.feature_gates import FeatureGates, parse
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.model.pod import Pod
from stowplan.observe.metrics import Metrics
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import GANGS_ON, GangWorld, on_node, own_group, own_members, play, whole
from tests.unit.extender.fakes import FakeExtender

PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RACK = "example.com/rack"
RACKS_ON = parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
ATTEMPTS = "scheduler_workload_preemption_attempts_total"
EVALUATIONS = "scheduler_preemption_evaluation_duration_seconds_count"
EXECUTIONS = "scheduler_preemption_execution_duration_seconds_count"
GENERATED = 'scheduler_generated_placements_total{profile="default-scheduler"}'
PLACEMENTS = "scheduler_placement_evaluations_total"


class Counts:
    """The metrics of a world, from now on."""

    def __init__(self, world: GangWorld, gates: FeatureGates = GANGS_ON) -> None:
        self._metrics = Metrics(world.scheduler.environment.now_ns, gates)
        world.scheduler.environment.tell = self._metrics
        world.cluster.handle.measures = self._metrics.series

    def __getitem__(self, name: str) -> float:
        """Return a value by name and labels; 0 if nothing was counted."""
        lines = self._metrics.text().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))


def placed(gang: str, count: int) -> list[Pod]:
    return [on_node(pod, f"n{number}") for number, pod in enumerate(own_members(gang, count))]


def test_a_search_that_finds_victims_is_a_success_with_a_duration() -> None:
    async def story(world: GangWorld) -> None:
        counts = Counts(world)
        world.nodes(2)
        world.create(own_group("low", 2), *placed("low", 2))
        await world.after(0.1)
        world.create(own_group("high", 2, priority=9), *own_members("high", 2, priority=9))
        await world.after(0.5)
        assert counts[f'{ATTEMPTS}{{result="Success"}}'] == 1
        assert counts[f'{EVALUATIONS}{{preemptor="podgroup",result="Success"}}'] == 1

    play(story, PLAIN, GANGS_ON)


def test_a_search_in_vain_is_counted_by_its_status() -> None:
    async def story(world: GangWorld) -> None:
        counts = Counts(world)
        world.nodes(1)
        world.create(own_group("train", 2), *own_members("train", 2))
        await world.after(0.5)
        assert counts[f'{ATTEMPTS}{{result="UnschedulableAndUnresolvable"}}'] == 1
        assert counts[f'{EVALUATIONS}{{preemptor="podgroup",result="UnschedulableAndUnresolvable"}}'] == 1

    play(story, PLAIN, GANGS_ON)


def test_a_group_that_may_not_preempt_is_an_attempt_without_a_search() -> None:
    async def story(world: GangWorld) -> None:
        counts = Counts(world)
        world.nodes(1)
        never = [make_never(pod) for pod in own_members("train", 2)]
        world.create(own_group("train", 2), *never)
        await world.after(0.5)
        assert counts[f'{ATTEMPTS}{{result="Unschedulable"}}'] == 1
        assert counts[f'{EVALUATIONS}{{preemptor="podgroup",result="Unschedulable"}}'] == 0

    play(story, PLAIN, GANGS_ON)


def test_a_group_that_goes_as_a_whole_is_one_disruption_of_many_victims() -> None:
    async def story(world: GangWorld) -> None:
        counts = Counts(world)
        world.nodes(2)
        world.create(whole(own_group("low", 2)), *placed("low", 2))
        await world.after(0.1)
        world.create(own_group("high", 1, priority=9), *own_members("high", 1, priority=9))
        await world.after(0.5)
        assert counts["scheduler_workload_preemption_victims_sum"] == 2
        assert counts['scheduler_preemption_workload_disruptions_sum{preemptor="podgroup"}'] == 1
        assert (
            counts['scheduler_preemption_execution_duration_seconds_count{preemptor="podgroup",result="success"}'] == 1
        )

    play(story, PLAIN, GANGS_ON)


def test_every_placement_is_counted_by_whether_the_group_fits_there() -> None:
    async def story(world: GangWorld) -> None:
        counts = Counts(world, RACKS_ON)
        for name, rack in (("n0", "a"), ("n1", "b"), ("n2", "b")):
            node = make_node(name).capacity(cpu="2", memory="64Gi", pods=110).label(RACK, rack)
            world.create(node.build())
        world.create(own_group("train", 2, topology=RACK), *own_members("train", 2))
        await world.after(0.5)
        assert counts[GENERATED] == 2
        assert counts[f'{PLACEMENTS}{{profile="default-scheduler",result="feasible"}}'] == 1
        assert counts[f'{PLACEMENTS}{{profile="default-scheduler",result="infeasible"}}'] == 1

    play(story, PLAIN, RACKS_ON)


def test_the_placements_of_a_search_for_victims_are_counted_too() -> None:
    async def story(world: GangWorld) -> None:
        counts = Counts(world, RACKS_ON)
        for number in range(2):
            world.create(make_node(f"n{number}").capacity(cpu="2", memory="64Gi", pods=110).label(RACK, "a").build())
        world.create(own_group("low", 2), *placed("low", 2))
        await world.after(0.1)
        world.create(own_group("high", 2, priority=9, topology=RACK), *own_members("high", 2, priority=9))
        await world.after(0.01)
        assert counts[f'{PLACEMENTS}{{profile="default-scheduler",result="infeasible"}}'] == 1
        assert counts[f'{PLACEMENTS}{{profile="default-scheduler",result="feasible"}}'] == 1
        assert counts[GENERATED] == 2

    play(story, PLAIN, RACKS_ON)


# Single pods


@dataclass
class SlowExtender(FakeExtender):
    """Takes eight seconds to agree, or to fail."""

    async def preempt(self, pod: Pod, candidates: Sequence[Preemption], pods_on: PodsOn) -> list[Preemption]:
        await asyncio.sleep(8)
        await super().preempt(pod, candidates, pods_on)
        return list(candidates)


def evaluated(*extenders: FakeExtender, config: str = PLAIN, policy: str = "PreemptLowerPriority") -> dict[str, float]:
    """Let a pod look for room on a node that is full; return how often, by result, and for how long it did."""
    found: dict[str, float] = {}

    async def story(world: GangWorld) -> None:
        counts = Counts(world)
        world.cluster.handle.extenders = extenders
        world.scheduler.policy.extenders = world.cluster.extenders_in_flow()
        world.nodes(1)
        world.create(make_pod("low").requests(cpu="2").on("n0").build())
        high = make_pod("high").requests(cpu="2").priority(9).build()
        world.create(replace(high, spec=replace(high.spec, preemption_policy=policy)))
        await world.after(8.5 if extenders else 0.5)
        for result in ("Success", "Unschedulable", "Error"):
            found[result] = counts[f'{EVALUATIONS}{{preemptor="pod",result="{result}"}}']
        took = EVALUATIONS.replace("_count", "_sum")
        found["seconds"] = sum(counts[f'{took}{{preemptor="pod",result="{result}"}}'] for result in found)

    play(story, config, GANGS_ON)
    return found


def test_a_pod_that_finds_victims_is_a_success() -> None:
    assert evaluated() == {"Success": 1, "Unschedulable": 0, "Error": 0, "seconds": 0}


def test_a_pod_that_may_not_preempt_is_looked_at_all_the_same() -> None:
    assert evaluated(policy="Never") == {"Success": 0, "Unschedulable": 1, "Error": 0, "seconds": 0}


def test_without_the_plugin_that_preempts_nothing_is_evaluated_whoever_else_is_asked() -> None:
    config = f"{PLAIN}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: DefaultPreemption}}]}}}}}}]\n"
    assert evaluated(config=config) == {"Success": 0, "Unschedulable": 0, "Error": 0, "seconds": 0}


def test_asking_extenders_is_a_part_of_it() -> None:
    assert evaluated(SlowExtender(agreed=[])) == {"Success": 1, "Unschedulable": 0, "Error": 0, "seconds": 8}


def test_an_extender_that_fails_is_an_error() -> None:
    failing = SlowExtender(agreed=ExtenderError("http://fake: refused"))
    assert evaluated(failing) == {"Success": 0, "Unschedulable": 0, "Error": 1, "seconds": 8}


def make_never(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, preemption_policy="Never"))
