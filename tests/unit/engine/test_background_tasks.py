"""What plugins leave to be done: it is done, and what goes wrong is told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine.background_tasks import ClusterChanges, StatusWrites, flush_regularly, run_errand
from stowplan.engine.ports import Environment, Report, Timeouts, Trouble
from stowplan.framework.contract import Errand
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.simulate import virtual_time
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.simulate.virtual_time import VirtualTimeLoop
from stowplan.testing import make_pod

HEAD = "pod 'default/pod': what a plugin left to be done failed: "


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(None, [], id="done"),
        pytest.param(RuntimeError("no"), [Trouble(f"{HEAD}no")], id="it fails"),
        pytest.param(RuntimeError(), [Trouble(f"{HEAD}RuntimeError")], id="it fails without a word"),
    ],
)
def test_an_errand(error: Exception | None, told: list[Report]) -> None:
    done: list[str] = []

    async def errand() -> None:
        done.append("errand")
        if error is not None:
            raise error

    assert _reports_of(errand, Timeouts()) == told
    assert done == ["errand"]


def test_an_errand_that_takes_too_long_is_given_up() -> None:
    async def errand() -> None:
        await asyncio.Event().wait()

    assert _reports_of(errand, Timeouts(write_seconds=0)) == [Trouble(f"{HEAD}TimeoutError")]


def _reports_of(errand: Errand, timeouts: Timeouts) -> list[Report]:
    reports: list[Report] = []
    scheduler = assemble(Cluster(), FakeCluster(), lambda: 0, timeouts)
    scheduler.environment.tell = lambda report: reports.append(report)
    asyncio.run(run_errand(scheduler.environment, make_pod("pod").build(), errand))
    return reports


A, B = make_pod("a").build(), make_pod("b").build()


class SlowWriter(FakeCluster):
    """Takes as long for a write as the node's name says."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        super().__init__()
        self.written: list[tuple[float, str, str | None]] = []
        self._seconds = seconds

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        await asyncio.sleep(self._seconds[nominated_node_name or ""])
        if nominated_node_name == "bad":
            raise RuntimeError("no quorum")
        self.written.append((asyncio.get_running_loop().time(), pod.name, nominated_node_name))


def write(*said: tuple[Pod, str]) -> tuple[list[tuple[float, str, str | None]], list[str], int]:
    """Write all at once; return what was written when, the troubles, and what is left over."""

    async def main() -> tuple[list[tuple[float, str, str | None]], list[str], int]:
        writer = SlowWriter({"slow": 10, "quick": 1, "bad": 1, "stuck": 1000})
        troubles: list[str] = []

        def tell(report: Report) -> None:
            assert isinstance(report, Trouble)
            troubles.append(report.text)

        statuses = StatusWrites(Environment(writer, lambda: 0, Timeouts(write_seconds=30), tell))
        await asyncio.gather(*(statuses.write(pod, None, node_name) for pod, node_name in said))
        return writer.written, troubles, len(statuses)

    return virtual_time.run(main())


def test_what_was_said_last_is_written_last() -> None:
    assert write((A, "slow"), (A, "quick")) == ([(10, "a", "slow"), (11, "a", "quick")], [], 0)


def test_pods_do_not_wait_for_each_other() -> None:
    assert write((A, "slow"), (B, "quick")) == ([(1, "b", "quick"), (10, "a", "slow")], [], 0)


def test_a_failure_is_told_and_the_next_write_goes_on() -> None:
    troubles = ["pod 'default/a': its status could not be updated: no quorum"]
    assert write((A, "bad"), (A, "quick")) == ([(2, "a", "quick")], troubles, 0)


def test_a_write_that_is_stuck_is_given_up() -> None:
    troubles = ["pod 'default/a': its status could not be updated: TimeoutError"]
    assert write((A, "stuck"), (A, "quick")) == ([(31, "a", "quick")], troubles, 0)


def test_what_holds_already_is_not_waited_for() -> None:
    assert virtual_time.run(ClusterChanges().until(lambda: True, 0)) is True


def test_a_change_lets_those_who_wait_look_again() -> None:
    async def work() -> tuple[bool, float]:
        changes, bound = ClusterChanges(), False
        waiting = asyncio.create_task(changes.until(lambda: bound, 600))
        loop = asyncio.get_running_loop()
        loop.call_later(1, changes.tell)
        await asyncio.sleep(2)
        assert not waiting.done()
        bound = True
        loop.call_later(3, changes.tell)
        return await waiting, loop.time()

    assert virtual_time.run(work()) == (True, 5.0)


def test_waiting_ends_when_the_time_is_over() -> None:
    async def work() -> tuple[bool, float]:
        return await ClusterChanges().until(lambda: False, 600), asyncio.get_running_loop().time()

    assert virtual_time.run(work()) == (False, 600.0)


@pytest.mark.parametrize("fault", [LookupError("the volume is gone"), TimeoutError("the server is slow")])
def test_what_a_look_raises_is_raised(fault: Exception) -> None:
    def look() -> bool:
        raise fault

    with pytest.raises(type(fault), match=str(fault)):
        virtual_time.run(ClusterChanges().until(look, 600))


@pytest.mark.parametrize(
    ("start", "backoff", "leftovers"),
    [
        pytest.param(0, [1, 2, 3], [30, 60], id="started on a whole second"),
        pytest.param(0.4, [1, 2, 3], [31, 61], id="started in between: on whole seconds all the same"),
    ],
)
def test_when_the_queue_is_looked_at(start: float, backoff: list[float], leftovers: list[float]) -> None:
    async def main() -> dict[str, list[float]]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        await asyncio.sleep(start)
        heard: defaultdict[str, list[float]] = defaultdict(list)

        def submit(flush: Callable[[int], None]) -> None:
            heard[flush.__name__].append(round(loop.time(), 6))

        scheduler = assemble(Cluster(), FakeCluster(), loop.now_ns)
        timers = loop.create_task(flush_regularly(scheduler.state.queue, loop.now_ns, submit))
        await asyncio.sleep(65)
        timers.cancel()
        return heard

    heard = virtual_time.run(main())
    assert heard["flush_backoff"][:3] == backoff
    assert heard["flush_unschedulable"] == leftovers
