"""A pod that runs, and whose resize is deferred, goes through the queue: room is made for it where it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.app.configuration import read_configuration
from stowplan.config.feature_gates import FeatureGates, default_gates, parse
from stowplan.engine.ports import GivenBack
from stowplan.simulate import virtual_time
from stowplan.testing import make_node, make_pod
from tests.scenarios.stage import Stage
from tests.unit.plugins.test_deferredpodscheduling import deferred

ON = parse("InPlacePodVerticalScalingSchedulerPreemption=true")
NODE = make_node("n").capacity(cpu=4).build()
GROWING = make_pod("growing").priority(9).on("n").requests(cpu=3)
LOW = make_pod("low").priority(1).on("n").requests(cpu=2).build()


def staged(gates: FeatureGates = ON) -> Stage:
    stage = Stage(read_configuration(None, gates), gates=gates)
    stage.start()
    stage.book.create(NODE)
    return stage


def ends(stage: Stage) -> list[str]:
    return [report.message for _, report in stage.reports if isinstance(report, GivenBack)]


def test_room_is_made_on_its_node_and_it_waits_for_the_kubelet() -> None:
    async def main() -> None:
        stage = staged()
        stage.book.create(LOW)
        stage.book.create(deferred(GROWING))
        await stage.wait(5)
        assert stage.book.evicted == ["default/low"]
        assert ends(stage) == [
            "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n,"
            " preempting 1 victims",
            "0/1 nodes are available: 1 pod resize fits, waiting for Kubelet actuation.",
        ]
        assert stage.places() == {"default/growing": "unschedulable"}
        await stage.finish()

    virtual_time.run(main())


def test_neither_its_status_nor_its_user_is_told() -> None:
    async def main() -> None:
        stage = staged()
        stage.book.create(deferred(GROWING))
        await stage.wait(5)
        pod = stage.book.pods["default/growing"]
        assert (pod.node_name, pod.status.nominated_node_name) == ("n", "")
        assert pod.status.condition("PodScheduled") is None
        assert stage.book.notes == []
        await stage.finish()

    virtual_time.run(main())


def test_it_is_queued_only_while_its_resize_is_deferred() -> None:
    async def main() -> None:
        stage = staged()
        created = stage.book.create(GROWING.build())
        await stage.wait(1)
        seen = [stage.places()]
        for version in (deferred(GROWING), created):
            stage.book.update(replace(stage.book.pods["default/growing"], status=version.status))
            await stage.wait(1)
            seen.append(stage.places())
        assert seen == [{}, {"default/growing": "unschedulable"}, {}]
        await stage.finish()

    virtual_time.run(main())


def test_a_pod_that_is_deleted_leaves_the_queue() -> None:
    async def main() -> None:
        stage = staged()
        stage.book.create(deferred(GROWING))
        await stage.wait(1)
        stage.book.delete(stage.book.pods["default/growing"])
        await stage.wait(1)
        assert stage.places() == {}
        await stage.finish()

    virtual_time.run(main())


@pytest.mark.parametrize("gates", [default_gates("1.36"), default_gates("1.37")], ids=["1.36", "1.37"])
def test_without_the_gate_it_is_none_of_our_business(gates: FeatureGates) -> None:
    async def main() -> None:
        stage = staged(gates)
        stage.book.create(LOW)
        stage.book.create(deferred(GROWING))
        await stage.wait(5)
        assert (stage.places(), stage.book.evicted) == ({}, [])
        await stage.finish()

    virtual_time.run(main())
