"""Node affinity and tolerations over rows: the same answer for all rows and for each row alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.model.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Toleration,
)
from stowplan.model.meta import ObjectMeta
from stowplan.model.node import Node, NodeSpec, Taint
from stowplan.model.pod import Pod, PodSpec
from stowplan.table import node_match
from stowplan.table.columns import Coded, Mask
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

NO_SCHEDULE = Taint(key="gpu", effect="NoSchedule")
PREFER = Taint(key="old", effect="PreferNoSchedule")
NODES = {
    "n1": ({"zone": "a", "cores": "8"}, ()),
    "n2": ({"zone": "b", "cores": "16"}, (NO_SCHEDULE,)),
    "n3": ({"zone": "c", "cores": "many"}, (PREFER,)),
    "n4": ({}, (NO_SCHEDULE, PREFER)),
}


@pytest.fixture
def table() -> Table:
    table = Table()
    for name, (labels, taints) in NODES.items():
        table.add_node(Node(metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(taints=taints)))
    return table


def requirement(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def labels(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=requirements)


def fields(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=requirements)


def make_pod(*terms: NodeSelectorTerm, **selector: str) -> Pod:
    required = NodeSelector(node_selector_terms=terms) if terms else None
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    return Pod(spec=PodSpec(node_selector=selector, affinity=Affinity(node_affinity=affinity)))


def names(mask: Mask) -> str:
    return " ".join(np.array(list(NODES))[mask])


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(), "n1 n2 n3 n4", id="nothing asked for"),
        pytest.param(make_pod(zone="a"), "n1", id="nodeSelector"),
        pytest.param(make_pod(zone="nowhere"), "", id="nodeSelector with a value no node has"),
        pytest.param(make_pod(labels(requirement("zone", "In", "a", "c"))), "n1 n3", id="In"),
        pytest.param(make_pod(labels(requirement("zone", "NotIn", "a", "c"))), "n2 n4", id="NotIn, true without label"),
        pytest.param(make_pod(labels(requirement("zone", "Exists"))), "n1 n2 n3", id="Exists"),
        pytest.param(make_pod(labels(requirement("zone", "DoesNotExist"))), "n4", id="DoesNotExist"),
        pytest.param(make_pod(labels(requirement("cores", "Gt", "8"))), "n2", id="Gt, of numbers only"),
        pytest.param(make_pod(labels(requirement("cores", "Lt", "16"))), "n1", id="Lt, of numbers only"),
        pytest.param(
            make_pod(labels(requirement("zone", "Exists"), requirement("cores", "Gt", "8"))), "n2", id="all of a term"
        ),
        pytest.param(
            make_pod(labels(requirement("zone", "In", "a")), labels(requirement("zone", "In", "b"))),
            "n1 n2",
            id="one of several terms",
        ),
        pytest.param(
            make_pod(labels(requirement("zone", "In", "a", "b")), cores="16"), "n2", id="both selector and affinity"
        ),
        pytest.param(make_pod(fields(requirement("metadata.name", "In", "n3"))), "n3", id="the node of a name"),
        pytest.param(make_pod(fields(requirement("metadata.name", "NotIn", "n3"))), "n1 n2 n4", id="all but a name"),
        pytest.param(make_pod(fields(requirement("metadata.uid", "In", "n3"))), "", id="no node has another field"),
        pytest.param(make_pod(NodeSelectorTerm()), "", id="an empty term matches nothing"),
        pytest.param(
            make_pod(labels(requirement("zone", "Near", "a")), labels(requirement("zone", "In", "b"))),
            "n2",
            id="a term that cannot be understood matches nothing",
        ),
    ],
)
def test_required_node_affinity(table: Table, pod: Pod, expected: str) -> None:
    nodes = Nodes(table)
    mask = node_match.required_node_affinity(pod, nodes)
    assert names(mask) == expected
    alone = [node_match.required_node_affinity(pod, nodes.take(np.array([row]))).tolist() for row in range(len(NODES))]
    assert alone == [[admitted] for admitted in mask.tolist()]


def test_labels_are_not_looked_up_when_no_node_is_left(table: Table) -> None:
    asked: list[str] = []

    class Listening(Nodes):
        def label(self, key: str) -> Coded:
            asked.append(key)
            return super().label(key)

    many = {f"k{number}": "v" for number in range(1000)}
    term = labels(*(requirement(key, "In", "v") for key in many))
    assert not node_match.required_node_affinity(make_pod(term, **many), Listening(table)).any()
    assert not node_match.required_node_affinity(make_pod(term), Listening(table)).any()
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(Pod(), False, id="a plain pod"),
        pytest.param(make_pod(), False, id="affinity without required terms"),
        pytest.param(make_pod(zone="a"), True, id="nodeSelector"),
        pytest.param(make_pod(NodeSelectorTerm()), True, id="required terms, even empty ones"),
    ],
)
def test_whether_a_pod_asks_for_certain_nodes(pod: Pod, expected: bool) -> None:
    assert node_match.has_required_node_affinity(pod) is expected


@pytest.mark.parametrize(
    ("toleration", "effects", "expected"),
    [
        pytest.param({}, ("NoSchedule", "NoExecute"), "n1 n3", id="only the effects asked about matter"),
        pytest.param({}, ("PreferNoSchedule",), "n1 n2", id="the other effect"),
        pytest.param({"key": "gpu", "operator": "Exists"}, ("NoSchedule",), "n1 n2 n3 n4", id="covered by key"),
        pytest.param(
            {"operator": "Exists"}, ("NoSchedule", "PreferNoSchedule"), "n1 n2 n3 n4", id="everything covered"
        ),
        pytest.param({"key": "gpu", "value": "no"}, ("NoSchedule",), "n1 n3", id="not covered: another value"),
    ],
)
def test_tolerated(table: Table, toleration: dict[str, Any], effects: tuple[str, ...], expected: str) -> None:
    tolerations = (Toleration(**toleration),) if toleration else ()
    nodes = Nodes(table)
    mask = node_match.tolerated(tolerations, effects, nodes)
    assert names(mask) == expected
    alone = [node_match.tolerated(tolerations, effects, nodes.take(np.array([row]))).tolist() for row in range(4)]
    assert alone == [[admitted] for admitted in mask.tolist()]
