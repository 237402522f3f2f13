"""A cluster with gangs under virtual time: what a test does to it, and what became of the pods."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.cache.validate import validate_cache
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates, parse
from stowplan.engine.ports import GivenBack, Report
from stowplan.framework.contract import Permit, Plugin, Reserve
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod, SchedulingGroup
from stowplan.model.pod_group import (
    COMMUNITY_LABEL,
    CommunityPodGroup,
    CommunityPodGroupSpec,
    DisruptionMode,
    GangPolicy,
    PodGroup,
    PodGroupSpec,
    SchedulingConstraints,
    SchedulingPolicy,
    TopologyConstraint,
    WholeDisruption,
)
from stowplan.model.quantity import Quantity
from stowplan.queue.validate import contents, validate_queue
from stowplan.simulate.fake_cluster import FakeCluster, no_fault
from stowplan.simulate.virtual_time import VirtualTimeLoop
from stowplan.testing import PodBuilder, make_node, make_pod

COSCHEDULING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Coscheduling}]
    queueSort:
      enabled: [{name: Coscheduling}]
      disabled: [{name: "*"}]
"""
BACKING_OFF = f"{COSCHEDULING}  pluginConfig: [{{name: Coscheduling, args: {{podGroupBackoffSeconds: 40}}}}]\n"
GANGS_ON = parse("GenericWorkload=true")

Story = Callable[["GangWorld"], Awaitable[None]]


class GangWorld:
    """A scheduler that runs, the cluster it writes to, and everything it said."""

    def __init__(self, config: str = COSCHEDULING, gates: FeatureGates = DEFAULT_GATES, *extra: Plugin) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.notebook = FakeCluster(no_fault)
        self.cluster = Cluster(read_configuration(config, gates), feature_gates=gates)
        self._add_plugins(extra)
        self.scheduler = assemble(self.cluster, self.notebook, loop.now_ns)
        self.notebook.connect(self.scheduler)
        self.reports: list[Report] = []
        self.scheduler.environment.tell = lambda report: self.reports.append(report)
        work = (self.scheduler.run(), self.scheduler.run_timers())
        self._tasks = [asyncio.create_task(each) for each in work]

    def nodes(self, count: int, cpu: str = "2") -> None:
        for number in range(count):
            self.notebook.create(make_node(f"n{number}").capacity(cpu=cpu, memory="64Gi", pods=110).build())

    def create(self, *objects: Any) -> None:
        for found in objects:
            self.notebook.create(found)

    async def after(self, seconds: float) -> None:
        """Let time pass, then check every invariant."""
        await asyncio.sleep(seconds)
        self.check()

    def check(self) -> None:
        validate_cache(self.scheduler.state.cache)
        validate_queue(self.scheduler.state.queue)

    # What became of the pods

    def bound(self, prefix: str = "") -> list[str]:
        """Return the names of the bound pods."""
        return sorted(pod.name for pod in self.notebook.pods.values() if pod.node_name and pod.name.startswith(prefix))

    def counted(self) -> list[str]:
        """Return the names of the pods that the table counts."""
        return sorted(placed.pod.name for placed in self.scheduler.state.cache.pods())

    def message(self, name: str) -> str:
        """Return what was last said about a pod that went back."""
        said = [one.message for one in self.reports if isinstance(one, GivenBack) and one.pod.name == name]
        return said[-1] if said else ""

    def went_back(self) -> list[str]:
        """Return the names of the pods that went back, in order."""
        return [one.pod.name for one in self.reports if isinstance(one, GivenBack)]

    def places(self) -> dict[str, str]:
        """Return where the pods that wait are."""
        found = contents(self.scheduler.state.queue)
        return {entry.pod.name: place.value for place, entries in found.items() for entry in entries}

    def condition(self, name: str) -> tuple[str, str, str]:
        """Return what the condition of a pod group says: status, reason and message."""
        group = self.notebook.objects["PodGroup", f"default/{name}"]
        said = [one for one in group.status.conditions if one.type == "PodGroupInitiallyScheduled"]
        return (said[0].status, said[0].reason, said[0].message) if said else ("", "", "")

    def pod(self, name: str) -> Pod:
        return self.notebook.pods[f"default/{name}"]

    async def stop(self) -> None:
        """Stop scheduling; what is on its way is seen to its end."""
        running, timers = self._tasks
        self.scheduler.stop()
        timers.cancel()
        await running
        with suppress(asyncio.CancelledError):
            await timers

    def _add_plugins(self, extra: Collection[Plugin]) -> None:
        for name, profile in dict(self.cluster.profiles).items():
            permit = tuple(plugin for plugin in extra if isinstance(plugin, Permit))
            reserve = tuple(plugin for plugin in extra if isinstance(plugin, Reserve))
            changed = dataclasses.replace(profile, permit=profile.permit + permit, reserve=profile.reserve + reserve)
            self.cluster.profiles = {**self.cluster.profiles, name: changed}


def play(story: Story, config: str = COSCHEDULING, gates: FeatureGates = DEFAULT_GATES, *extra: Plugin) -> None:
    """Run a story in a world of its own, to its end."""

    async def tell() -> None:
        world = GangWorld(config, gates, *extra)
        await story(world)
        world.check()
        await world.stop()

    loop = VirtualTimeLoop()
    try:
        loop.run_until_complete(tell())
    finally:
        loop.close()


def group(
    name: str, needed: int, resources: dict[str, str] | None = None, timeout: int | None = None
) -> CommunityPodGroup:
    """Make a group of the community's flavour."""
    amounts = {key: Quantity.parse(value) for key, value in (resources or {}).items()}
    spec = CommunityPodGroupSpec(min_member=needed, min_resources=amounts, schedule_timeout_seconds=timeout)
    return CommunityPodGroup(metadata=NamespacedMeta(name=name), spec=spec)


def own_group(name: str, needed: int | None, priority: int = 0, topology: str = "", parent: str = "") -> PodGroup:
    """Make a group of Kubernetes' own flavour: a gang of so many, or one with a basic policy."""
    policy = SchedulingPolicy(gang=GangPolicy(min_count=needed)) if needed is not None else SchedulingPolicy()
    constraints = SchedulingConstraints(topology=(TopologyConstraint(key=topology),)) if topology else None
    spec = PodGroupSpec(
        scheduling_policy=policy,
        priority=priority,
        scheduling_constraints=constraints,
        parent_composite_pod_group_name=parent,
    )
    return PodGroup(metadata=NamespacedMeta(name=name, uid=f"group-{name}"), spec=spec)


def whole(group: PodGroup) -> PodGroup:
    """Return a group whose pods are preempted together or not at all."""
    return replace(group, spec=replace(group.spec, disruption_mode=DisruptionMode(all=WholeDisruption())))


def member(gang: str, number: int, cpu: str = "2") -> PodBuilder:
    return make_pod(f"{gang}-{number}").label(COMMUNITY_LABEL, gang).requests(cpu=cpu)


def members(gang: str, count: int, cpu: str = "2") -> list[Pod]:
    return [member(gang, number, cpu).build() for number in range(count)]


def own_members(gang: str, count: int, cpu: str = "2", priority: int = 0) -> list[Pod]:
    pods = [make_pod(f"{gang}-{number}").requests(cpu=cpu).priority(priority).build() for number in range(count)]
    named = SchedulingGroup(pod_group_name=gang)
    return [replace(pod, spec=replace(pod.spec, scheduling_group=named)) for pod in pods]


def on_node(pod: Pod, node_name: str) -> Pod:
    """Return a pod as the cluster has it once it is bound."""
    return replace(pod, spec=replace(pod.spec, node_name=node_name))
