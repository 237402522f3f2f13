"""The loop around the flow: it sleeps, wakes, stops in good order, and survives what it is given.

What becomes of pods is in `tests/scenarios`.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stowplan.engine.ports import Bound, Dropped, Placed, Report
from stowplan.simulate import virtual_time
from stowplan.testing import make_node, make_pod
from tests.scenarios.stage import Fault, Stage, configuration

NODE = make_node("n").capacity(cpu=4).build()
POD = make_pod("p").build()


def staged(*objects: Any) -> Stage:
    stage = Stage(configuration())
    for found in objects:
        stage.book.create(found)
    stage.start()
    return stage


def test_a_pod_is_scheduled_the_moment_it_comes() -> None:
    async def main() -> dict[str, list[float]]:
        stage = staged(NODE)
        await stage.wait(0.25)
        stage.book.create(POD)
        await stage.wait(0.5)
        await stage.finish()
        return {"tried": stage.tried("default/p")}

    assert virtual_time.run(main()) == {"tried": [0.25]}


def test_a_change_that_cannot_be_taken_in_is_told_and_the_next_is() -> None:
    async def main() -> None:
        stage = staged(NODE)

        def broken(now_ns: int) -> None:
            raise KeyError("row 7")

        stage.scheduler.submit(broken)
        stage.book.create(POD)
        await stage.wait(0)
        assert stage.book.bindings == [("default/p", "n")]
        assert stage.troubles() == ["a change of the cluster could not be taken in: KeyError('row 7')"]
        await stage.finish()

    virtual_time.run(main())


def test_an_attempt_that_breaks_off_by_our_own_fault_gives_the_pod_back() -> None:
    async def main() -> None:
        stage = staged(NODE)
        listen = stage.scheduler.environment.tell

        def broken(report: Report) -> None:
            listen(report)
            if isinstance(report, Placed) and len(stage.tried("default/p")) == 1:
                raise KeyError("row 7")

        stage.scheduler.environment.tell = broken
        stage.book.create(POD)
        await stage.wait(0)
        assert stage.places() == {"default/p": "error backoff"}
        condition = stage.book.pods["default/p"].status.condition("PodScheduled")
        assert condition is not None
        assert condition.message == "the attempt broke off: KeyError('row 7')"
        await stage.wait(5)
        assert stage.book.bindings == [("default/p", "n")]
        await stage.finish()

    virtual_time.run(main())


def test_the_cluster_hears_where_a_pod_will_go_before_it_is_there() -> None:
    async def main() -> None:
        stage = Stage(configuration([{"PreBinder": {"does": {"p": ["hang 1"]}}}]))
        stage.faults.append(Fault("update_status", hang=5))
        stage.book.create(NODE)
        stage.book.create(POD)
        stage.start()
        await stage.wait(4)
        assert stage.book.bindings == []
        await stage.wait(6)
        assert stage.book.bindings == [("default/p", "n")]
        assert stage.book.pods["default/p"].status.nominated_node_name == ""
        assert stage.troubles() == []
        await stage.finish()

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [pytest.param(0, 32, id="after so many pods"), pytest.param(0.0004, 3, id="after a millisecond")],
)
def test_bindings_get_their_turn_while_pods_wait(seconds: float, expected: int) -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual_time.VirtualTimeLoop)
        stage = staged(NODE, *(make_pod(f"p{number}").build() for number in range(100)))
        told: list[type] = []

        def listen(report: Report) -> None:
            told.append(type(report))
            if isinstance(report, Placed):
                loop.jump(seconds)

        stage.scheduler.environment.tell = listen
        await stage.wait(1)
        await stage.finish()
        assert (told.count(Placed), told.count(Bound)) == (100, 100)
        return told.index(Bound)

    assert virtual_time.run(main()) == expected


def test_it_stops_at_once_if_told_so_while_a_pod_is_tried() -> None:
    async def main() -> float:
        stage = staged(NODE)

        def listen(report: Report) -> None:
            # Nothing is left to be done for such a pod: no task ends that would wake the loop.
            if isinstance(report, Dropped):
                stage.scheduler.stop()

        stage.scheduler.environment.tell = listen
        gone = msgspec.structs.replace(POD.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
        stage.book.create(msgspec.structs.replace(POD, metadata=gone))
        await stage.cycles
        stopped_at = asyncio.get_running_loop().time()
        await stage.finish()
        return stopped_at

    assert virtual_time.run(main()) == 0


def test_what_is_being_bound_is_seen_to_its_end_before_it_stops() -> None:
    async def main() -> None:
        stage = staged(NODE, POD)
        stage.faults.append(Fault("bind", hang=20))
        await stage.wait(1)
        stage.book.create(make_pod("late").build())
        stage.scheduler.stop()
        await stage.finish()
        assert asyncio.get_running_loop().time() == 20
        assert stage.book.bindings == [("default/p", "n")]

    virtual_time.run(main())


def test_a_binding_that_fails_while_it_stops_is_undone() -> None:
    async def main() -> None:
        stage = staged(NODE, POD)
        stage.faults.append(Fault("bind", hang=20, text="no quorum"))
        await stage.wait(1)
        await stage.finish()
        assert stage.places() == {"default/p": "error backoff"}
        condition = stage.book.pods["default/p"].status.condition("PodScheduled")
        assert condition is not None
        assert condition.message == 'running Bind plugin "DefaultBinder": no quorum'

    virtual_time.run(main())


def test_a_pod_that_comes_again_while_it_is_bound_is_dropped() -> None:
    async def main() -> None:
        stage = staged(NODE, POD)
        stage.faults.append(Fault("bind", hang=5))
        await stage.wait(1)
        stage.scheduler.submit(lambda now_ns: stage.scheduler.event_handlers.add(POD, now_ns))
        await stage.wait(10)
        await stage.finish()
        kinds = [type(report) for _, report in stage.reports]
        assert kinds == [Placed, Dropped, Bound]
        assert stage.book.bindings == [("default/p", "n")]

    virtual_time.run(main())


def test_the_listeners_hear_of_every_step() -> None:
    async def main() -> None:
        stage = staged(NODE, POD)
        await stage.wait(0)
        await stage.finish()
        [(_, placed), (_, bound)] = stage.reports
        assert isinstance(placed, Placed)
        assert isinstance(bound, Bound)
        assert (bound.pod.name, bound.node_name, bound.attempts) == ("p", "n", 1)

    virtual_time.run(main())
