"""TaintToleration: whom taints repel, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.config import feature_gates
from stowplan.framework.contract import SKIP
from stowplan.plugins.tainttoleration import TaintToleration
from stowplan.testing import LocalHandle
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

UNTOLERATED = ("node(s) had untolerated taint(s)", "unresolvable")


def taint(key: str, effect: str, value: str = "") -> dict[str, str]:
    return {"key": key, "value": value, "effect": effect}


def tainted(name: str, *taints: dict[str, str]) -> Any:
    return make_node(name, spec={"taints": list(taints)})


FILTERED = (
    tainted("clean"),
    tainted("gpu", taint("gpu", "NoSchedule", "a100")),
    tainted("evicting", taint("down", "NoExecute")),
    tainted("shy", taint("busy", "PreferNoSchedule")),
    tainted("both", taint("gpu", "NoSchedule", "a100"), taint("down", "NoExecute")),
)


@pytest.mark.parametrize(
    ("tolerations", "refused"),
    [
        pytest.param([], ["gpu", "evicting", "both"], id="NoSchedule and NoExecute repel, PreferNoSchedule does not"),
        pytest.param([{"key": "gpu", "value": "a100"}], ["evicting", "both"], id="every taint must be tolerated"),
        pytest.param([{"key": "gpu", "value": "h100"}], ["gpu", "evicting", "both"], id="another value does not count"),
        pytest.param([{"key": "gpu", "operator": "Exists"}], ["evicting", "both"], id="Exists covers every value"),
        pytest.param(
            [{"key": "down", "operator": "Exists", "effect": "NoSchedule"}],
            ["gpu", "evicting", "both"],
            id="another effect does not count",
        ),
        pytest.param([{"operator": "Exists"}], [], id="a toleration of everything lets the pod go anywhere"),
        pytest.param(
            [{"key": "gpu", "operator": "Gt", "value": "1"}],
            ["gpu", "evicting", "both"],
            id="comparison operators never match",
        ),
    ],
)
def test_untolerated_taints_repel(tolerations: list[dict[str, str]], refused: list[str]) -> None:
    said = SmallCluster(*FILTERED).refusals(TaintToleration(LocalHandle()), make_pod(tolerations=tolerations))
    assert said == dict.fromkeys(refused, UNTOLERATED)


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], {"none": 0, "one": 1, "two": 2, "hard": 0}, id="untolerated preferences are counted"),
        pytest.param(
            [{"key": "x", "operator": "Exists"}],
            {"none": 0, "one": 0, "two": 1, "hard": 0},
            id="tolerated ones are not",
        ),
        pytest.param(
            [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}],
            {"none": 0, "one": 1, "two": 2, "hard": 0},
            id="a toleration of another effect does not help",
        ),
    ],
)
def test_raw_score_counts_aversions(tolerations: list[dict[str, str]], expected: dict[str, int]) -> None:
    cluster = SmallCluster(
        tainted("none"),
        tainted("one", taint("x", "PreferNoSchedule")),
        tainted("two", taint("x", "PreferNoSchedule"), taint("y", "PreferNoSchedule")),
        tainted("hard", taint("x", "NoSchedule")),
    )
    assert cluster.scores(TaintToleration(LocalHandle()), make_pod(tolerations=tolerations)) == expected


@pytest.mark.parametrize(
    ("raw", "high", "expected"),
    [
        pytest.param([0, 0], 0, [100, 100], id="without aversions all nodes are perfect"),
        pytest.param([0, 1, 3], 3, [100, 67, 0], id="the share is cut off before it is taken from 100"),
    ],
)
def test_fewer_aversions_are_better(raw: list[int], high: int, expected: list[int]) -> None:
    assert TaintToleration(LocalHandle()).normalize(np.array(raw), 0, high, None).tolist() == expected


def test_scoring_is_never_skipped() -> None:
    cluster = SmallCluster(tainted("clean"))
    prepared: object = TaintToleration(LocalHandle()).pre_score(make_pod(), cluster.nodes)
    assert prepared is not SKIP


@pytest.mark.parametrize(
    ("gates", "refused", "scores"),
    [
        pytest.param("", ["fast", "slow"], {"fast": 0, "slow": 0, "rather not": 1}, id="off, they cover nothing"),
        pytest.param(
            "TaintTolerationComparisonOperators=true",
            ["fast"],
            {"fast": 0, "slow": 0, "rather not": 0},
            id="on, they cover what compares",
        ),
    ],
)
def test_comparing_tolerations_need_a_gate(gates: str, refused: list[str], scores: dict[str, int]) -> None:
    handle = LocalHandle()
    handle.feature_gates = feature_gates.parse(gates)
    cluster = SmallCluster(
        tainted("fast", taint("latency", "NoSchedule", "10")),
        tainted("slow", taint("latency", "NoSchedule", "90")),
        tainted("rather not", taint("latency", "PreferNoSchedule", "90")),
    )
    pod = make_pod(tolerations=[{"key": "latency", "operator": "Gt", "value": "50"}])
    assert list(cluster.refusals(TaintToleration(handle), pod)) == refused
    assert cluster.scores(TaintToleration(handle), pod) == scores
