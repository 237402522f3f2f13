"""Pod groups, in process: groups of 64 on empty nodes, and one gang of 200 that has to go to one of 100 racks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec

from benchmarks.measure import Row
from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine.scheduler import Scheduler
from stowplan.model import decode
from stowplan.model.pod import SchedulingGroup
from stowplan.model.pod_group import PodGroup
from stowplan.simulate import virtual_time
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.simulate.virtual_time import VirtualTimeLoop
from stowplan.testing import make_node, make_pod

GROUPS, RACKS = "groups of 64", "a gang of 200 in one of 100 racks"
NODES, MEMBERS = 5_000, 64
RACK_NODES, RACK_MEMBERS = 50, 200
#: Members a second; and what a placement over all racks may take, as members a second.
GROUPS_BAR, RACKS_BAR = 1_000, RACK_MEMBERS / 0.3
RACK = "topology.example/rack"
_GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}


def measure_groups(seconds: float) -> Row:
    """Schedule groups of pods that fit, one after the other, and bind their pods."""
    return virtual_time.run(_groups(seconds))


def measure_racks(seconds: float) -> Row:
    """Place one gang after the other in a rack of its own."""
    return virtual_time.run(_racks(seconds))


async def _groups(seconds: float) -> Row:
    api, scheduler = _world({"GenericWorkload": True})
    number, took = 0, 0.0
    await _take(api, scheduler, "warm", MEMBERS, _group("warm", MEMBERS))
    while took < seconds:
        took += await _take(api, scheduler, f"g{number}", MEMBERS, _group(f"g{number}", MEMBERS))
        number += 1
    return Row(GROUPS, NODES, number * MEMBERS, number * MEMBERS / took, GROUPS_BAR)


async def _racks(seconds: float) -> Row:
    api, scheduler = _world(_GATES)
    number, took = 0, 0.0
    constraint = {"schedulingConstraints": {"topology": [{"key": RACK}]}}
    await _take(api, scheduler, "warm", 1, _group("warm", 1))
    while took < seconds and number < 50:
        group = _group(f"g{number}", RACK_MEMBERS, constraint)
        took += await _take(api, scheduler, f"g{number}", RACK_MEMBERS, group)
        number += 1
    return Row(RACKS, NODES, number * RACK_MEMBERS, number * RACK_MEMBERS / took, RACKS_BAR)


def _world(gates: dict[str, bool]) -> tuple[FakeCluster, Scheduler]:
    api, loop = FakeCluster(), asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    scheduler = assemble(Cluster(feature_gates=gates, seed=1), api, loop.now_ns)
    api.connect(scheduler)
    for number in range(NODES):
        node = make_node(f"node-{number}").capacity(cpu="32", memory="64Gi", pods="110")
        api.create(node.label(RACK, f"rack-{number // RACK_NODES}").build())
    scheduler.apply_changes()
    return api, scheduler


async def _take(api: FakeCluster, scheduler: Scheduler, name: str, members: int, group: PodGroup) -> float:
    """Return how long it takes to place and bind a group that has just come, in seconds."""
    api.create(group)
    for number in range(members):
        pod = make_pod(f"{name}-{number}").requests(cpu="2", memory="1Gi").build()
        spec = msgspec.structs.replace(pod.spec, scheduling_group=SchedulingGroup(pod_group_name=name))
        api.create(msgspec.structs.replace(pod, spec=spec))
    scheduler.apply_changes()
    started = time.perf_counter()
    await scheduler.schedule_next()
    await scheduler.settle()
    took = time.perf_counter() - started
    assert sum(key.startswith(f"default/{name}-") for key, _ in api.bindings) == members
    return took


def _group(name: str, members: int, more: Mapping[str, object] | None = None) -> PodGroup:
    spec = {"schedulingPolicy": {"gang": {"minCount": members}}, **(more or {})}
    return decode.convert(PodGroup, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


ROWS = {GROUPS: measure_groups, RACKS: measure_racks}
