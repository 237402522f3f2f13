"""Pods that are to be on every node: for which nodes one is made, and that each goes there or nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from stowplan.whatif.world import QuestionError
from tests.unit.whatif.questions import ask, cluster_of, data, node, pod


def on_every_node(cluster: Cluster, template: Pod, *steps: dict[str, Any]) -> dict[str, str | None]:
    found = ask(cluster, "fits", *steps, everyNode=[data(template)])
    return {one["pod"].removeprefix("default/"): one["node"] for one in found["pods"]}


AGENT = make_pod("agent").requests(cpu=1).build()


def test_there_is_one_for_every_node_and_each_goes_to_its_own() -> None:
    assert on_every_node(cluster_of(node("a"), node("b")), AGENT) == {"agent-a": "a", "agent-b": "b"}


def test_nodes_that_are_supposed_have_one_too() -> None:
    found = on_every_node(cluster_of(node("a")), AGENT, {"addNodes": {"like": "a"}})
    assert found == {"agent-a": "a", "agent-a-supposed-1": "a-supposed-1"}


def test_where_there_is_no_room_it_is_refused() -> None:
    assert on_every_node(cluster_of(node("a"), node("b"), pod("full", cpu=4, on="b")), AGENT) == {
        "agent-a": "a",
        "agent-b": None,
    }


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(AGENT, id="for a taint that it does not tolerate"),
        pytest.param(make_pod("agent").tolerate("gpu").node_selector("disk", "ssd").build(), id="by its selector"),
        pytest.param(
            make_pod("agent").tolerate("gpu").node_affinity("disk", "In", "ssd").build(), id="by its affinity"
        ),
    ],
)
def test_nodes_that_are_not_meant_have_none(template: Pod) -> None:
    meant = make_node("a").capacity(cpu=4, pods=9).label("disk", "ssd").build()
    cluster = cluster_of(meant, make_node("b").capacity(cpu=4, pods=9).taint("gpu").build())
    assert on_every_node(cluster, template) == {"agent-a": "a"}


def test_one_that_is_for_no_node_is_refused() -> None:
    template = make_pod("agent").node_selector("disk", "tape").build()
    problem = "pod 'default/agent': it is for none of the nodes: its selector, affinity and tolerations leave none"
    with pytest.raises(QuestionError, match=f"{problem}; correct them, or leave it out"):
        on_every_node(cluster_of(node("a")), template)
