"""Writes to the status of pods: in order for each pod, beside each other for several."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from stowplan.engine.ports import Report, Trouble
from stowplan.engine.statuses import Statuses
from stowplan.engine.timeouts import Patience
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.simulate import virtual_time
from stowplan.simulate.notebook import Notebook
from stowplan.testing import make_pod

A, B = make_pod("a").build(), make_pod("b").build()


class SlowWriter(Notebook):
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

        statuses = Statuses(writer, tell, Patience(write_seconds=30))
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
