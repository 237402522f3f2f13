"""The text of an explanation: complete, short, and within the width asked for."""

import pytest

from stowplan.app.cluster import Cluster
from stowplan.observe.explanation import Explanation, columns, render, some, summary, wrapped
from stowplan.testing import make_node, make_pod

REFUSED = """\
Pod default/report fits no node.
  0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had
  untolerated taint(s). preemption: 0/3 nodes are available:
  3 Preemption is not helpful for scheduling.

Who refuses
  plugin            first  in all  reason
  TaintToleration       2       2  node(s) had untolerated
                                   taint(s)
  NodeResourcesFit      1       1  Insufficient cpu

Nearest misses
  - 2 nodes would fit if the pod tolerated
    gpu=yes:NoSchedule (gpu-0, gpu-1)
  - 1 node would fit with 2 less cpu (plain)"""

CHOSEN = """\
Pod default/web fits 2 of 3 nodes and goes to roomy.

Scores of the best 2 of 2 nodes, weighted
  plugin                           weight  roomy  tight
  TaintToleration                       3    300    300
  NodeResourcesFit                      1     87     75
  VolumeBinding                         1      0      0
  DynamicResources                      2      0      0
  NodeResourcesBalancedAllocation       1     75     75
  ImageLocality                         1      0      0
  total                                 9    462    450
  roomy leads tight by 12: NodeResourcesFit +12

Who refuses the other node
  plugin             first  in all  reason
  NodeUnschedulable      1       1  node(s) were unschedulable"""


def refused() -> Explanation:
    cluster = Cluster()
    cluster.add(make_node("plain").capacity(cpu="4", memory="8Gi").build())
    for number in range(2):
        cluster.add(make_node(f"gpu-{number}").capacity(cpu="16", memory="8Gi").taint("gpu", "yes").build())
    return cluster.explain(make_pod("report").requests(cpu="6").build())


def test_a_refusal_is_told_with_all_reasons_and_the_nearest_misses() -> None:
    assert render(refused(), width=60) == REFUSED


def test_a_choice_is_told_with_the_scores_and_what_made_the_difference() -> None:
    cluster = Cluster()
    cluster.add(make_node("tight").capacity(cpu="8", memory="8Gi").build())
    cluster.add(make_node("roomy").capacity(cpu="16", memory="16Gi").build())
    cluster.add(make_node("cordoned").cordon().capacity(cpu="8", memory="8Gi").build())
    assert str(cluster.explain(make_pod("web").requests(cpu="2", memory="2Gi").build())) == CHOSEN


def test_thousands_of_nodes_make_no_wall_of_text() -> None:
    cluster = Cluster()
    for number in range(3000):
        node = make_node(f"n{number}").capacity(cpu=number % 5 + 1, memory="8Gi")
        cluster.add((node.taint("t", str(number % 3)) if number % 2 else node).build())
    for cpu in ("2", "7"):
        lines = str(cluster.explain(make_pod().requests(cpu=cpu).build())).splitlines()
        assert len(lines) < 40
        assert max(map(len, lines)) <= 100


def test_a_gate_is_told_first() -> None:
    cluster = Cluster()
    cluster.add(make_node("n").build())
    text = str(cluster.explain(make_pod("p").gate("example.com/x").build()))
    held = "Pod default/p is held back by SchedulingGates: waiting for scheduling gates: [example.com/x]"
    assert text.splitlines()[0] == held


def test_the_same_is_there_as_data() -> None:
    data = summary(refused())
    assert data["message"] == "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)."
    assert data["nearestMisses"][1] == {
        "count": 1,
        "remedies": ["with 2 less cpu"],
        "nodes": ["plain"],
        "checked": True,
    }
    assert data["reasons"][1] == {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "first": 1, "inAll": 1}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["a", "b"], "a, b", id="as many as are shown"),
        pytest.param(["a", "b", "c", "d"], "a, b and 2 more", id="more than are shown"),
    ],
)
def test_names_are_cut_short(names: list[str], expected: str) -> None:
    assert some(names, 2) == expected


def test_numbers_stand_to_the_right_and_the_last_column_is_wrapped() -> None:
    rows = [("who", "n", "why"), ("a", 5, "one two three four five six"), ("bcd", 12, "seven")]
    assert columns(rows, 32) == [
        "  who   n  why",
        "  a     5  one two three four",
        "           five six",
        "  bcd  12  seven",
    ]


def test_a_long_word_is_not_broken() -> None:
    assert wrapped("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 10) == ["  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "  b"]
