"""Plugins that answer for one node: asked only about nodes that still matter, and again only where they looked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stowplan.framework.contract import Filter, FilterNode, Reject, ScoreNode, refuse, reject
from stowplan.framework.per_node import NodeRow
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.framework.stand import Stand, nodes

POD = make_pod("web").build()


class NotHere(Filter):
    """Refuses one node, before anybody else is asked."""

    def __init__(self, name: str) -> None:
        self.refused = name

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(nodes.with_names(frozenset((self.refused,))), "not here")


class Curious(FilterNode, ScoreNode):
    """Remembers whom it was asked about; wants room and prefers large nodes."""

    def __init__(self) -> None:
        self.filtered: list[str] = []
        self.scored: list[str] = []

    def filter_node(self, pod: Pod, node: NodeRow, state: Any) -> str | Rejection | None:
        self.filtered.append(node.name)
        if node.labels.get("old"):
            return refuse("too old", unresolvable=True)
        return "full" if node.free("cpu") < 1000 else None

    def score_node(self, pod: Pod, node: NodeRow, state: Any) -> int:
        self.scored.append(node.name)
        return node.allocatable("cpu") // 1000


def test_a_node_that_is_refused_already_is_not_asked_about() -> None:
    curious = Curious()
    stand = Stand(nodes("a", "b", "c"), NotHere("b"), curious)
    assert stand.totals(POD) == {"a": 4, "c": 4}
    assert curious.filtered == ["a", "c"]
    assert curious.scored == ["a", "c"]


def test_a_node_is_asked_about_again_only_if_something_there_changed() -> None:
    curious = Curious()
    stand = Stand(nodes("a", "b", "c"), curious)
    stand.totals(POD)
    curious.filtered.clear()
    curious.scored.clear()
    assert stand.totals(POD) == {"a": 4, "b": 4, "c": 4}
    assert (curious.filtered, curious.scored) == ([], [])
    stand.cache.add_node(make_node("b").capacity(cpu=6).build())
    assert stand.totals(POD) == {"a": 4, "b": 6, "c": 4}
    assert (curious.filtered, curious.scored) == (["b"], ["b"])


def test_a_node_that_becomes_feasible_is_scored() -> None:
    curious = Curious()
    stand = Stand(nodes("a", "b"), curious)
    stand.cache.add_pod(make_pod("big").requests(cpu="3500m").on("b").build())
    assert stand.totals(POD) == {"a": 4}
    assert curious.scored == ["a"]
    stand.cache.remove_pod(make_pod("big").build())
    assert stand.totals(POD) == {"a": 4, "b": 4}
    assert curious.scored == ["a", "b"]


def test_reasons_and_codes_reach_the_verdict() -> None:
    stand = Stand([make_node("old").label("old", "yes").build(), make_node("full").build()], Curious())
    verdict = stand.verdict(POD)
    assert verdict.rejected == {
        "old": Rejection(("too old",), Code.UNRESOLVABLE, "Curious"),
        "full": Rejection(("full",), Code.UNSCHEDULABLE, "Curious"),
    }
    assert verdict.fit_error() == "0/2 nodes are available: 1 full, 1 too old."


class Everybody:
    def amount(self, pod: Pod) -> int:
        return 1


def test_a_row_shows_what_the_columns_hold() -> None:
    stand = Stand(nodes("a", "b"))
    stand.cache.table.facts.declare("letters", lambda node: len(node.name))
    stand.cache.add_pod(make_pod("one").requests(cpu="1", memory="1Gi").on("b").build())
    row = NodeRow(Nodes(stand.cache.table).take(np.array([1])), 0)
    assert row.name == "b"
    assert row.labels == {"kubernetes.io/hostname": "b"}
    assert (row.allocatable("cpu"), row.requested("cpu"), row.free("cpu")) == (4000, 1000, 3000)
    assert row.free("memory") == 7 * 1024**3
    assert row.allocatable("example.com/gpu") == 0
    assert row.count(Everybody()) == 1
    assert row.column("letters") == 1
