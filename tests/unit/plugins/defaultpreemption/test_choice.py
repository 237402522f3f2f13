"""Where evictions do the least harm."""

from __future__ import annotations

import pytest

from stowplan.framework.contract import Preemption
from stowplan.plugins.defaultpreemption import candidate_nodes
from tests.unit.plugins.defaultpreemption.crowded import placed


def on(name: str, *victims: tuple[int, int | None], violations: int = 0) -> Preemption:
    """Make a candidate of victims given as priority and start."""
    pods = [
        placed(f"{name}{index}", name, priority=priority, started=started)
        for index, (priority, started) in enumerate(victims)
    ]
    return Preemption(name, tuple(pods), violations)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        pytest.param([on("a", (0, 0))], "a", id="the only one"),
        pytest.param(
            [on("a", (0, 0), violations=1), on("b", (9, 0), (9, 0))], "b", id="fewer budgets violated, above all"
        ),
        pytest.param([on("a", (5, 0)), on("b", (4, 0), (4, 0), (4, 0))], "b", id="a less important first victim"),
        pytest.param([on("a", (5, 0), (4, 0)), on("b", (5, 0), (3, 0))], "b", id="a smaller sum of priorities"),
        pytest.param([on("a", (-5, 0), (-5, 0)), on("b", (-5, 0))], "b", id="fewer victims, also of negative priority"),
        pytest.param([on("a", (5, 10)), on("b", (5, 20))], "b", id="a victim that started later"),
        pytest.param([on("a", (5, 10)), on("b", (5, None))], "b", id="a victim that has not started"),
        pytest.param(
            [on("a", (5, 10), (1, 90)), on("b", (5, 20), (1, 0))], "b", id="only the most important count by age"
        ),
        pytest.param(
            [on("a", (5, 30), (5, 10)), on("b", (5, 20), (5, 20))], "b", id="the oldest of the most important counts"
        ),
        pytest.param([on("a", (5, 10)), on("b", (5, 10))], "a", id="the first of equals"),
    ],
)
def test_the_node_is_chosen_where_evictions_do_least_harm(candidates: list[Preemption], expected: str) -> None:
    assert candidate_nodes.pick(candidates).node_name == expected
