"""What a notebook shows of a cluster and of what comes back from it: short, escaped, loaded from nowhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from stowplan.app.cluster import Cluster, Placements
from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import own_group, own_members

NOT_HELPFUL = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)
EVIL = "<script>alert('x')</script>"


class Reader(HTMLParser):
    """Reads the texts of cells and lines, and which tags and attributes there are."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(given: Any) -> list[str]:
    """Return the texts that a notebook shows; everything in them is plain text, and nothing is loaded."""
    reader = Reader()
    text = given._repr_html_()
    reader.feed(text)
    reader.close()
    assert reader.tags <= {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert reader.attributes <= {"style"}
    assert not re.search(r"https?:|src=|href=|url\(", text)
    return reader.texts


def cluster_of(*names: str) -> Cluster:
    cluster = Cluster(ties="upstream")
    cluster.add_all(make_node(name).capacity(cpu=4, memory="8Gi", pods=10).build() for name in names)
    return cluster


def pod(name: str, cpu: str = "1") -> Pod:
    return make_pod(name).requests(cpu=cpu).build()


def test_a_cluster_is_shown_with_what_it_has() -> None:
    cluster = cluster_of("a", "b")
    cluster.schedule(pod("web", "2"))
    assert shown(cluster) == [
        *("Cluster (nodes: 2, pods with a node: 1)",),
        *("resource", "allocatable", "requested", "free", "utilisation"),
        *("cpu", "8", "2", "6", "25.0%"),
        *("memory", "16Gi", "0", "16Gi", "0.0%"),
        *("ephemeral-storage", "0", "0", "0"),
        *("pods", "20", "1", "19", "5.0%"),
    ]


def test_a_choice_is_shown_with_its_score() -> None:
    assert shown(cluster_of("a").schedule(pod("web"))) == ["Pod default/web goes to a (feasible nodes: 1)"]
    assert shown(Chosen(pod("web"), "a", 0, 0)) == ["Pod default/web goes to a"]
    assert shown(Chosen(pod("web"), "a", 0, 3, 240)) == ["Pod default/web goes to a (feasible nodes: 3, score: 240)"]


def test_a_refusal_is_shown_with_who_refused_how_many_nodes() -> None:
    cluster = cluster_of("a", "b")
    cluster.add(make_node("c").capacity(cpu=9, pods=1).cordon().build())
    refused = cluster.schedule(pod("big", "5"))
    assert isinstance(refused, Refused)
    by_node = [
        *("0 of 3 nodes are feasible",),
        *("plugin", "reason", "nodes"),
        *("NodeUnschedulable", "node(s) were unschedulable", "1"),
        *("NodeResourcesFit", "Insufficient cpu", "2"),
    ]
    message = (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    assert shown(refused) == [f"Pod default/big is refused: {message}", *by_node]
    assert shown(refused.verdict) == by_node


def test_a_refusal_of_the_pod_as_a_whole_is_one_of_all_nodes() -> None:
    verdict = Verdict(
        np.zeros(2, dtype=np.int32), Vocabulary(), ["a", "b"], pre_filter=Rejection(("no claim",), plugin="Mine")
    )
    assert shown(verdict)[-3:] == ["Mine", "no claim", "2"]


def test_nodes_that_were_not_asked_about_are_shown_with_who_left_them_out() -> None:
    evaluated = np.array([True, False, False])
    verdict = Verdict(np.zeros(3, dtype=np.int32), Vocabulary(), list("abc"), evaluated, narrowed_by=("Mine",))
    assert shown(verdict) == [
        *("1 of 3 nodes are feasible", "plugin", "reason", "nodes"),
        *("Mine", "node(s) didn't satisfy plugin(s)", "2"),
    ]


def test_what_an_extender_says_of_a_node_nobody_knows_is_shown() -> None:
    stranger = Rejection(("too far",), Code.UNSCHEDULABLE, "Extender")
    verdict = Verdict(np.zeros(1, dtype=np.int32), Vocabulary(), ["a"], strangers=(stranger,))
    assert shown(verdict)[-3:] == ["Extender", "too far", "1"]


def test_a_verdict_without_objections_is_one_line() -> None:
    verdict = Verdict(np.zeros(2, dtype=np.int32), Vocabulary(), ["a", "b"])
    assert shown(verdict) == ["2 of 2 nodes are feasible"]


def test_a_pod_that_its_group_keeps_from_going_is_shown_without_nodes() -> None:
    cluster = Cluster(feature_gates="GenericWorkload=true")
    cluster.add(make_node("n0").capacity(cpu="2", pods=9).build())
    cluster.add(own_group("train", 2))
    refused = cluster.schedule_all(own_members("train", 2))[0]
    assert isinstance(refused, Refused)
    assert len(shown(refused)) == 1


def test_a_failure_is_shown_with_its_plugin() -> None:
    assert shown(Cluster().schedule(pod("web"))) == [
        "Pod default/web could not be decided: no nodes available to schedule pods"
    ]
    assert shown(Failed(pod("web"), "it broke", "Mine")) == [
        "Pod default/web could not be decided (plugin Mine): it broke"
    ]


def test_a_pod_that_is_held_back_is_shown_with_who_does_so() -> None:
    gated = cluster_of("a").schedule(make_pod("web").gate("example.com/wait").build())
    assert shown(gated) == [
        "Pod default/web is held back by SchedulingGates: waiting for scheduling gates: [example.com/wait]"
    ]


def test_placements_are_shown_as_a_table() -> None:
    assert shown(cluster_of("a").schedule_all([pod("web"), pod("big", "9")])) == [
        "1 of 2 pods placed, 1 refused",
        *("pod", "result", "node", "message"),
        *("default/web", "placed", "a"),
        *("default/big", "refused", NOT_HELPFUL),
    ]


def test_an_explanation_of_a_pod_that_fits_nowhere_says_what_would_help() -> None:
    assert shown(cluster_of("a").explain(pod("big", "5"))) == [
        f"Pod default/big fits no node. {NOT_HELPFUL}",
        "Who refuses nodes",
        *("plugin", "first", "in all", "reason"),
        *("NodeResourcesFit", "1", "1", "Insufficient cpu"),
        "Nearest misses",
        *("nodes", "would fit", "which"),
        *("1", "with 1 less cpu", "a"),
    ]


def test_an_explanation_of_a_pod_that_fits_shows_the_scores_and_no_remedies() -> None:
    cluster = cluster_of("a", "b")
    cluster.add(make_pod("there").requests(cpu=3).on("b").build())
    texts = shown(cluster.explain(pod("web", "2")))
    assert texts[0] == "Pod default/web fits 1 of 2 nodes and goes to a."
    assert "Nearest misses" not in texts
    texts = shown(cluster.explain(pod("small", "1")))
    start = texts.index("Scores of the best nodes, weighted")
    assert texts[start + 1 : start + 5] == ["plugin", "weight", "a", "b"]
    row = texts.index("NodeResourcesFit")
    # Free of cpu and memory, where each pod without a request counts 200Mi: (75 + 97) / 2 on a, (0 + 95) / 2 on b.
    assert texts[row : row + 4] == ["NodeResourcesFit", "1", "86", "47"]
    assert "total" in texts


def test_an_explanation_of_a_pod_that_waits_for_a_gate_says_so() -> None:
    explanation = cluster_of("a").explain(make_pod("web").gate("example.com/wait").build())
    assert shown(explanation)[0] == (
        "Pod default/web is held back by SchedulingGates: waiting for scheduling gates: [example.com/wait]"
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda cluster, one: cluster.schedule(one), id="chosen"),
        pytest.param(lambda cluster, one: cluster.explain(one), id="explanation"),
        pytest.param(lambda cluster, one: cluster.schedule_all([one]), id="placements"),
        pytest.param(lambda cluster, one: Failed(one, EVIL, EVIL), id="failed"),
        pytest.param(lambda cluster, one: Placements([Failed(one, EVIL)]), id="placements that failed"),
        pytest.param(lambda cluster, one: cluster.nodes_frame(), id="nodes"),
    ],
)
def test_names_are_shown_and_never_run(make: Any) -> None:
    found = make(cluster_of(EVIL), pod(EVIL))
    assert any(EVIL in text for text in shown(found))


def test_the_words_of_a_plugin_are_shown_and_never_run() -> None:
    vocabulary = Vocabulary()
    word = vocabulary.number(Rejection((EVIL,), plugin=EVIL))
    verdict = Verdict(np.array([word], dtype=np.int32), vocabulary, ["a"])
    assert shown(verdict)[-3:] == [EVIL, EVIL, "1"]
    assert EVIL in shown(Refused(pod("web"), EVIL, verdict))[0]


def test_a_resource_is_shown_and_never_run() -> None:
    cluster = Cluster()
    cluster.add(make_node("a").capacity({f"hugepages-{EVIL}": 1}).build())
    assert f"hugepages-{EVIL}" in shown(cluster)
