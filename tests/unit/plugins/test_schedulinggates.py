"""SchedulingGates: who may enter the queue."""

from __future__ import annotations

import pytest

from stowplan.framework.verdict import Code, Rejection
from stowplan.plugins.schedulinggates import SchedulingGates
from tests.unit.plugins.small_cluster import make_pod


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param([], None, id="a pod without gates may enter"),
        pytest.param(["quota"], "waiting for scheduling gates: [quota]", id="one gate holds a pod back"),
        pytest.param(["b", "a"], "waiting for scheduling gates: [b a]", id="gates are told in the order written"),
    ],
)
def test_gates_hold_a_pod_back(gates: list[str], expected: str | None) -> None:
    said = SchedulingGates().pre_enqueue(make_pod(schedulingGates=[{"name": name} for name in gates]))
    assert said == (None if expected is None else Rejection((expected,), Code.UNRESOLVABLE))
