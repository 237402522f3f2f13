"""NodePorts: when two pods get in each other's way."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.framework.contract import SKIP
from stowplan.model.pod import Pod
from stowplan.plugins.nodeports import NodePorts
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

TAKEN = {"node": ("node(s) didn't have free ports for the requested pod ports", "resolvable")}


def port(number: int, protocol: str = "TCP", ip: str = "") -> dict[str, Any]:
    return {"containerPort": 1, "hostPort": number, "protocol": protocol, "hostIP": ip}


def asks(*ports: dict[str, Any], priority: int = 0) -> Pod:
    return make_pod(priority=priority, containers=[{"name": "c", "ports": list(ports)}])


def sidecar(restart_policy: str, *ports: dict[str, Any]) -> Pod:
    init = {"name": "i", "ports": list(ports)} | ({"restartPolicy": restart_policy} if restart_policy else {})
    return make_pod(initContainers=[init], containers=[{"name": "c"}])


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        pytest.param(asks(port(80)), asks(port(80)), TAKEN, id="the same port"),
        pytest.param(asks(port(80)), asks(port(81)), {}, id="another port"),
        pytest.param(asks(port(80)), asks(port(80, "UDP")), {}, id="another protocol"),
        pytest.param(asks(port(80)), asks(port(81), port(80)), TAKEN, id="one of several ports"),
        pytest.param(asks(port(80, ip="10.0.0.1")), asks(port(80, ip="10.0.0.2")), {}, id="two addresses"),
        pytest.param(asks(port(80, ip="10.0.0.1")), asks(port(80, ip="10.0.0.1")), TAKEN, id="the same address"),
        pytest.param(asks(port(80, ip="10.0.0.1")), asks(port(80)), TAKEN, id="every address asks for a held one"),
        pytest.param(asks(port(80, ip="0.0.0.0")), asks(port(80, ip="10.0.0.1")), TAKEN, id="every address is held"),
        pytest.param(asks(port(80, ip="::")), asks(port(80, ip="10.0.0.1")), {}, id=":: is an address like others"),
        pytest.param(sidecar("Always", port(80)), asks(port(80)), TAKEN, id="a sidecar holds its ports"),
        pytest.param(sidecar("", port(80)), asks(port(80)), {}, id="an init container gives its ports back"),
        pytest.param(asks(port(80)), sidecar("Always", port(80)), TAKEN, id="a sidecar asks for its ports"),
    ],
)
def test_conflicts(held: Pod, wanted: Pod, expected: dict[str, Any]) -> None:
    cluster = SmallCluster(make_node("node"), make_node("empty"))
    cluster.place("node", held)
    assert cluster.refusals(NodePorts(), wanted) == expected


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="no containers' ports"),
        pytest.param(asks(port(0)), id="container ports without a host port"),
        pytest.param(sidecar("", port(80)), id="ports of an init container alone"),
    ],
)
def test_pods_without_host_ports_are_skipped(pod: Pod) -> None:
    assert NodePorts().pre_filter(pod, SmallCluster(make_node("node")).nodes) is SKIP


LOW, HIGH = asks(port(80), priority=1), asks(port(80), priority=100)
LOW_ELSEWHERE = asks(port(80, ip="10.0.0.1"), priority=1)
PREEMPTOR = asks(port(80), priority=50)


@pytest.mark.parametrize(
    ("placed", "gone", "added", "expected"),
    [
        pytest.param([LOW], [LOW], [], {}, id="the only holder gone"),
        pytest.param([], [], [LOW], TAKEN, id="a holder to come"),
        pytest.param([LOW, LOW], [LOW, LOW], [], {}, id="both holders gone"),
        pytest.param([LOW, LOW], [LOW], [], TAKEN, id="one of two evictable holders stays or was put back"),
        pytest.param([LOW, LOW], [LOW, LOW], [LOW], TAKEN, id="one of two was put back after both had gone"),
        pytest.param([LOW, HIGH], [LOW], [], {}, id="upstream forgets the holder it cannot evict"),
        pytest.param([LOW, HIGH], [], [], TAKEN, id="nobody gone, nothing forgotten"),
        pytest.param([LOW, HIGH], [LOW], [HIGH], TAKEN, id="a nominated holder is remembered"),
        pytest.param([LOW_ELSEWHERE, HIGH], [LOW_ELSEWHERE], [], TAKEN, id="only the very same port is forgotten"),
    ],
)
def test_hypothetical_rows(placed: list[Pod], gone: list[Pod], added: list[Pod], expected: dict[str, Any]) -> None:
    cluster = SmallCluster(make_node("other"), make_node("node"))
    cluster.place("node", *placed)
    supposed = cluster.suppose("node", added=tuple(added), gone=tuple(gone))
    assert cluster.refusals(NodePorts(), PREEMPTOR, supposed) == expected


def test_pods_that_want_every_port_there_is_are_compared_at_once() -> None:
    # If each port were held against each other one, this would take an hour.
    tcp, udp = ([port(number, protocol) for number in range(1, 65536)] for protocol in ("TCP", "UDP"))
    cluster = SmallCluster(make_node("node"), make_node("empty"))
    cluster.place("node", asks(*tcp))
    assert cluster.refusals(NodePorts(), asks(*udp)) == {}
    assert cluster.refusals(NodePorts(), asks(*udp, *tcp)) == TAKEN


def test_thousands_of_ports_that_are_freed_are_counted_together() -> None:
    # One by one, this would take minutes.
    many = [port(number) for number in range(1, 10_001)]
    cluster = SmallCluster(make_node("other"), make_node("node"))
    low = asks(*many, priority=1)
    cluster.place("node", low, asks(*many, priority=100))
    supposed = cluster.suppose("node", gone=(low,))
    assert cluster.refusals(NodePorts(), asks(*many, priority=50), supposed) == {}
