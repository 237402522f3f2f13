"""What operations make: nodes whose names are all different, however often chance says the same."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from stowplan.bench import operations as ops
from stowplan.bench.creating import Creator
from stowplan.bench.parameters import Parameters
from stowplan.bench.virtual_api import VirtualApi
from stowplan.bench.workloads import PerfWorkload, Selected, TestCase

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_name_that_is_drawn_again_is_drawn_once_more() -> None:
    # Five letters make a name: "bbbbb" twice, then "ccccc".
    letters = itertools.chain([0] * 10, itertools.repeat(1))
    api = VirtualApi(lambda: NOW, lambda below: next(letters))
    case = TestCase(name="case", workload_template=[], workloads=[])
    selected = Selected(Path("performance-config.yaml"), case, PerfWorkload(name="workload"))
    step = msgspec.convert({"opcode": "createNodes", "count": 2}, ops.CreateNodes)
    first, second = Creator(api, selected, Parameters({}), {}).create_nodes(step, 0)
    assert (first.name, second.name) == ("node-0-bbbbb", "node-0-ccccc")
