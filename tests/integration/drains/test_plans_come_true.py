"""A plan of a drain comes true: whom it places finds a node, whom it lets go may go, and no budget is violated.

The plan is asked for between two cycles; then the nodes are cordoned batch by batch, the pods evicted by the eviction
API in the order of the plan, controllers make others, and the engine places them.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from stowplan.app import what_if
from stowplan.embedded.objects.resource import Object
from stowplan.simulate import virtual_time
from stowplan.whatif import requests
from tests.examples import PROFILE
from tests.integration.drains.scheduled_cluster import ScheduledCluster
from tests.unit.embedded.controllers.small_cluster import BUDGETS, DAEMON_SETS, DEPLOYMENTS, STATEFUL_SETS
from tests.unit.embedded.given import NODES, PODS

SEEDS = range(100) if PROFILE == "new" else range(6)
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
#: Longer than any pod backs off, and than controllers take.
SETTLE_SECONDS = 30.0


@pytest.mark.at_length
@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_is_carried_out_as_it_says(seed: int) -> None:
    virtual_time.run(carry_out(seed))


async def carry_out(seed: int) -> None:
    rng = Random(seed)
    world = ScheduledCluster(seed)
    await world.start(0)
    try:
        draw_cluster(rng, world)
        await world.pass_time(SETTLE_SECONDS)
        names = sorted(node["metadata"]["name"] for node in world.api.list(NODES))
        drained = rng.sample(names, rng.randint(1, len(names) - 1))
        plan = ask(world, drained, rng.randint(1, len(drained)))
        await Carrier(world, is_rolling=len(plan["batches"]) > 1).carry_out(plan)
    finally:
        world.scheduler.stop()
        await world.stop()


def ask(world: ScheduledCluster, nodes: list[str], batches: int) -> dict[str, Any]:
    asked = requests.read(msgspec.json.encode({"question": {"drain": {"names": nodes, "batches": batches}}}))
    answer: dict[str, Any] = what_if.ask(world.cluster, asked, world.waiting())["drain"]
    return answer


class Carrier:
    """Carries out a plan, and finds fault with it."""

    def __init__(self, world: ScheduledCluster, *, is_rolling: bool) -> None:
        self._world, self._is_rolling = world, is_rolling
        #: By the name in the plan, that of the pod which is there now.
        self._name_of = {name: name for name in world.by_name()}
        #: Budgets that had what they ask for in the beginning.
        self._kept = [budget["metadata"]["name"] for budget in world.api.list(BUDGETS) if is_kept(budget)]

    async def carry_out(self, plan: dict[str, Any]) -> None:
        for batch in plan["batches"]:
            for name in batch["nodes"]:
                self._world.cordon(name, is_cordoned=True)
            await self._world.pass_time(1.0)
            for moved in batch["moved"]:
                await self._move(moved)
            for moved in batch["moved"]:
                assert self._node_of(moved["pod"]), moved
            if self._is_rolling:
                for name in batch["nodes"]:
                    self._world.cordon(name, is_cordoned=False)
                    await self._world.pass_time(SETTLE_SECONDS)

    async def _move(self, moved: dict[str, Any]) -> None:
        key, before = moved["pod"].removeprefix("default/"), self._world.by_name()
        name = self._name_of[key]
        if not moved["to"]:
            return
        # Refused, if the plan is wrong about a budget.
        self._world.evict(name)
        if moved["unmanaged"]:
            await self._world.pass_time(1.0)
            remade(self._world, before[name])
        await self._world.pass_time(SETTLE_SECONDS)
        uids = {pod["metadata"]["uid"] for pod in before.values()}
        made = [each for each, pod in self._world.by_name().items() if pod["metadata"]["uid"] not in uids]
        if name not in made and not is_of_stateful_set(before[name]):
            (self._name_of[key],) = [each for each in made if each not in before]
        assert all(is_kept(self._world.get(BUDGETS, name)) for name in self._kept), moved

    def _node_of(self, key: str) -> str:
        pod = self._world.by_name().get(self._name_of[key.removeprefix("default/")])
        return str(pod["spec"].get("nodeName", "")) if pod is not None else ""


def is_of_stateful_set(pod: Object) -> bool:
    """Say whether a pod is made under the same name again, at once or when another of its set is ready."""
    return any(owner["kind"] == "StatefulSet" for owner in pod["metadata"].get("ownerReferences", ()))


def is_kept(budget: Object) -> bool:
    return bool(budget["status"]["currentHealthy"] >= budget["status"]["desiredHealthy"])


def remade(world: ScheduledCluster, pod: Object) -> None:
    """Make a pod again that no controller makes."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    world.create(PODS, pod["metadata"]["name"], spec, labels=pod["metadata"]["labels"])


# Clusters


def draw_cluster(rng: Random, world: ScheduledCluster) -> None:
    for number in range(rng.randint(3, 7)):
        amounts = {"cpu": rng.choice(("2", "4", "8")), "memory": "16Gi", "pods": rng.choice(("4", "110"))}
        labels = {ZONE: rng.choice("abc"), HOST: f"node-{number}", "disk": rng.choice(("ssd", "hdd"))}
        metadata = {"name": f"node-{number}", "labels": labels}
        world.api.create(NODES, "", {"metadata": metadata, "status": {"capacity": amounts, "allocatable": amounts}})
    for number in range(rng.randint(2, 6)):
        draw_workload(rng, world, f"app-{number}")
    world.create(DAEMON_SETS, "agent", of_template(template(rng, "agent", {"cpu": "100m"})))
    if rng.random() < 0.5:
        alone = template(rng, "alone", {"cpu": "500m"})
        world.create(PODS, "alone", alone["spec"], labels=alone["metadata"]["labels"])


def draw_workload(rng: Random, world: ScheduledCluster, name: str) -> None:
    made = template(rng, name, {"cpu": rng.choice(("100m", "500m", "1", "1500m"))})
    made["spec"].update(dict(draw_rules(rng, name)))
    replicas = rng.randint(1, 4)
    spec = {**of_template(made), "replicas": replicas}
    if rng.random() < 0.3:
        world.create(STATEFUL_SETS, name, {**spec, "serviceName": name})
    else:
        world.create(DEPLOYMENTS, name, spec)
    rule = rng.choice(({"maxUnavailable": 1}, {"minAvailable": 1}, {"maxUnavailable": "50%"}, {"minAvailable": "60%"}))
    if rng.random() < 0.6:
        world.create(BUDGETS, name, {**rule, "selector": {"matchLabels": {"app": name}}})
        if rng.random() < 0.1:
            world.create(BUDGETS, f"{name}-too", {"minAvailable": 0, "selector": {"matchLabels": {"app": name}}})


def draw_rules(rng: Random, name: str) -> Iterator[tuple[str, Any]]:
    selector = {"matchLabels": {"app": name}}
    match rng.choice(("plain", "plain", "apart", "hard spread", "soft spread", "ssd", "near")):
        case "apart":
            term = {"topologyKey": HOST, "labelSelector": selector}
            yield "affinity", {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        case "near":
            term = {"topologyKey": ZONE, "labelSelector": selector}
            yield "affinity", {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        case "hard spread" | "soft spread" as how:
            otherwise = "DoNotSchedule" if how == "hard spread" else "ScheduleAnyway"
            spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": otherwise, "labelSelector": selector}
            yield "topologySpreadConstraints", [spread]
        case "ssd":
            yield "nodeSelector", {"disk": "ssd"}


def template(rng: Random, name: str, amounts: dict[str, str]) -> Object:
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": amounts}}]
    spec = {"containers": containers, "terminationGracePeriodSeconds": rng.choice((0, 30))}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def of_template(made: Object) -> Object:
    return {"selector": {"matchLabels": made["metadata"]["labels"]}, "template": made}
