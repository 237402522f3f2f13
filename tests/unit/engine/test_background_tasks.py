"""What plugins leave to be done: it is done, and what goes wrong is told."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine.background_tasks import carry_out
from stowplan.engine.ports import Report, Trouble
from stowplan.engine.timeouts import Patience
from stowplan.framework.contract import Errand
from stowplan.simulate.notebook import Notebook
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

    assert _reports_of(errand, Patience()) == told
    assert done == ["errand"]


def test_an_errand_that_takes_too_long_is_given_up() -> None:
    async def errand() -> None:
        await asyncio.Event().wait()

    assert _reports_of(errand, Patience(write_seconds=0)) == [Trouble(f"{HEAD}TimeoutError")]


def _reports_of(errand: Errand, patience: Patience) -> list[Report]:
    reports: list[Report] = []
    _, parts = assemble(Cluster(), Notebook(), lambda: 0, patience)
    parts.tell = lambda report: reports.append(report)
    asyncio.run(carry_out(parts, make_pod("pod").build(), errand))
    return reports
