"""Nodes as they are scored after an extender sent them back whole."""

from __future__ import annotations

from stowplan.cache.cache import Cache
from stowplan.table.empty_nodes import EmptyNodes
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod


def test_nothing_is_on_an_empty_node() -> None:
    cache = Cache()
    cache.add_node(make_node("a").capacity(cpu=4).image("app:1", 100_000_000).build())
    cache.add_pod(make_pod("there").requests(cpu="3").on("a").build())
    real, empty = Nodes(cache.table), EmptyNodes(cache.table)
    cpu = real.resource("cpu")
    assert (real.requested[cpu].tolist(), empty.requested[cpu].tolist()) == ([3000], [0])
    assert (real.free(cpu).tolist(), empty.free(cpu).tolist()) == ([1000], [4000])
    assert (real.allocatable[cpu].tolist(), empty.allocatable[cpu].tolist()) == ([4000], [4000])
    assert (real.images.holders("app:1"), empty.images.holders("app:1")) == (1, 0)
