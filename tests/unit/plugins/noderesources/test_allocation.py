"""Whatever a rule comes to, a score is from 0 to 100, in each of the ways in which rows are scored."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.plugins.noderesources.allocation import Arithmetic, CountedResources, Numeric, ResourceShare, score_served
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU
from tests.unit.plugins.noderesources.resource_cluster import node_of
from tests.unit.plugins.small_cluster import SmallCluster


def without_limit(
    arithmetic: Arithmetic, counted: tuple[ResourceShare, ...], allocatable: Numeric, requested: Numeric
) -> Numeric:
    """Score the cores of a node beyond 100, whether integers or arrays of them are given."""
    return (allocatable[CPU] - 100_000) // 1000


def the_same_everywhere(
    arithmetic: Arithmetic, counted: tuple[ResourceShare, ...], allocatable: Numeric, requested: Numeric
) -> Numeric:
    return 101


@pytest.fixture
def nodes() -> Nodes:
    return SmallCluster(node_of("small", cpu="60"), node_of("middle", cpu="150"), node_of("large", cpu="350")).nodes


def test_one_row_is_limited(nodes: Nodes) -> None:
    counted = CountedResources(without_limit, (ResourceShare(CPU, 0, 1),))
    assert [counted.score_of(has, taken) for has, taken in nodes.amounts()] == [0, 50, 100]


def test_many_rows_are_limited(nodes: Nodes) -> None:
    counted = CountedResources(without_limit, (ResourceShare(CPU, 0, 1),))
    assert counted.score_each(nodes.allocatable, nodes.requested).tolist() == [0, 50, 100]


def test_rows_with_devices_are_limited(nodes: Nodes) -> None:
    gpu = nodes.resource("example.com/gpu")
    counted = CountedResources(without_limit, (ResourceShare(CPU, 0, 1),), ((gpu, "example.com/gpu"),))
    none = np.zeros(3, dtype=np.int64)
    assert score_served(counted, nodes, lambda name, rows: (none, none)).tolist() == [0, 50, 100]


def test_a_rule_that_looks_at_no_row_is_limited(nodes: Nodes) -> None:
    counted = CountedResources(the_same_everywhere, ())
    assert counted.score_each(nodes.allocatable, nodes.requested).tolist() == [100, 100, 100]
