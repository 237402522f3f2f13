"""Where the real scheduler may give one of several reasons, ours may be another of them, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import either

A = "a.example CSI driver is not installed on the node"
B = "b.example CSI driver is not installed on the node"
C = "c.example CSI driver is not installed on the node"


def said(reason: str) -> dict[str, Any]:
    return {"plugin": "NodeVolumeLimits", "code": "Unschedulable", "reasons": [reason]}


def driver(name: str, *, keeps_off: bool) -> dict[str, Any]:
    return {"kind": "CSIDriver", "metadata": {"name": name}, "spec": {"preventPodSchedulingIfMissing": keeps_off}}


CASE = {
    "objects": [
        driver("a.example", keeps_off=True),
        driver("b.example", keeps_off=True),
        driver("c.example", keeps_off=False),
        {"kind": "CSINode", "metadata": {"name": "n2"}, "spec": {"drivers": [{"name": "b.example"}]}},
    ],
    "expect": {
        "filter": {"n1": said(A), "n2": said(A)},
        "fitError": f"0/2 nodes are available: 2 {A}.",
    },
}


def test_either_of_two_drivers_that_are_not_there_may_be_named() -> None:
    found = either.settled(CASE, {"filter": {"n1": said(B), "n2": said(A)}})
    assert found["filter"] == {"n1": said(B), "n2": said(A)}
    assert found["fitError"] == f"0/2 nodes are available: 1 {A}, 1 {B}."


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        pytest.param("n2", B, id="a driver that is installed there"),
        pytest.param("n1", C, id="a driver that keeps nobody off"),
        pytest.param("n1", "node(s) exceed max volume count", id="another reason"),
    ],
)
def test_nothing_else_may_be_said(node: str, reason: str) -> None:
    assert either.settled(CASE, {"filter": {"n1": said(A), "n2": said(A), node: said(reason)}}) == CASE["expect"]
