"""Which of many things each node can reach, the first by rank."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm
from stowplan.model.selectors import Requirement
from stowplan.plugins.volumebinding.node_affinity import NOTHING, NodeIndex
from stowplan.table.nodes import Nodes
from tests.unit.plugins.small_cluster import SmallCluster, make_node


def needs(*conditions: str) -> CompiledNodeSelector:
    """Write a selector with one term of conditions such as `zone in east west` and `disk exists`."""
    requirements = []
    for condition in conditions:
        key, operator, *values = condition.split()
        requirements.append(Requirement(key, operator, tuple(values)))
    return CompiledNodeSelector((CompiledTerm(labels=tuple(requirements)),))


def either(*selectors: CompiledNodeSelector) -> CompiledNodeSelector:
    return CompiledNodeSelector(tuple(term for selector in selectors for term in selector.terms))


CLUSTER = SmallCluster(
    make_node("n1", labels={"host": "n1", "zone": "east"}),
    make_node("n2", labels={"host": "n2", "zone": "east", "disk": "ssd"}),
    make_node("n3", labels={"host": "n3", "zone": "west"}),
    make_node("bare"),
)
HOSTS = [needs("host in n1"), needs("host in n2"), needs("host in n1 n3"), needs("host in n3 n3")]


def found(wanted: list[CompiledNodeSelector | None], among: str = "", taken: tuple[str, ...] = ()) -> str:
    """Return the rank by node, `-` where there is none; `among` and `taken` are written alike."""
    is_in = np.array([not among or str(rank) in among for rank in range(len(wanted))])
    others = [np.array([NOTHING if rank == "-" else int(rank) for rank in each]) for each in taken]
    ranks = NodeIndex(wanted).first(CLUSTER.nodes, is_in, others)
    return "".join("-" if rank == NOTHING else str(rank) for rank in ranks.tolist())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param([], "----", id="nothing"),
        pytest.param([None], "0000", id="what everybody reaches"),
        pytest.param([None, needs("host in n1")], "0000", id="the first counts, not the nearest"),
        pytest.param([needs("host in n1"), None], "0111", id="a thing of one node before one of all"),
        pytest.param([*HOSTS], "012-", id="things of some nodes"),
        pytest.param([needs("zone in west"), needs("host in n2"), needs("zone in east")], "210-", id="by two labels"),
        pytest.param([needs("host in n1 n2 n3", "zone in east")], "00--", id="by one label and another"),
        pytest.param([needs("host in n1", "zone in west")], "----", id="conditions that contradict each other"),
        pytest.param([needs("disk exists")], "-0--", id="a condition without a value"),
        pytest.param([needs("disk !")], "0-00", id="a label that must not be there"),
        pytest.param([needs("zone notin east")], "--00", id="values that must not be there"),
        pytest.param([either(needs("host in n1"), needs("zone in west"))], "0-0-", id="one of two terms"),
        pytest.param([CompiledNodeSelector()], "----", id="what nobody reaches"),
        pytest.param([needs()], "0000", id="a term without conditions"),
        pytest.param(
            [CompiledNodeSelector((CompiledTerm(errors=("?",)),))], "----", id="a term that nobody understands"
        ),
        pytest.param([needs("host in elsewhere")], "----", id="a value that no node has"),
    ],
)
def test_the_first_that_a_node_reaches(wanted: list[CompiledNodeSelector | None], expected: str) -> None:
    assert found(wanted) == expected


def test_only_some_are_asked_about() -> None:
    assert found([*HOSTS], among="13") == "-13-"
    assert found([needs("zone in east"), needs("zone in east"), None], among="12") == "1122"


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        pytest.param(("012-",), "2-3-", id="the second of each node"),
        pytest.param(("012-", "2-3-"), "----", id="the third of each node"),
        pytest.param(("2---",), "012-", id="what is not the first does not matter"),
        pytest.param(("-0--", "--1-"), "012-", id="what is taken elsewhere does not matter"),
    ],
)
def test_what_is_taken_on_a_node_is_passed_over_there(taken: tuple[str, ...], expected: str) -> None:
    assert found([*HOSTS], taken=taken) == expected


def test_nodes_that_come_later_are_found() -> None:
    cluster = SmallCluster(make_node("n1", labels={"host": "n1"}))
    reach = NodeIndex([needs("host in n2"), needs("host in n1")])
    everything = np.ones(2, dtype=bool)
    assert reach.first(cluster.nodes, everything).tolist() == [1]
    cluster.table.add_node(make_node("n2", labels={"host": "n2"}))
    assert reach.first(cluster.nodes, everything).tolist() == [1, 0]
    assert reach.first(Nodes(cluster.table, np.array([1])), everything).tolist() == [0]
