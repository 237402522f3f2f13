"""What extenders say of a pod, in a line for each: also of those that were not asked."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.app.cluster import Cluster
from stowplan.framework.extender import Filtered
from stowplan.framework.handle import ExtenderError
from stowplan.observe.explanation import render, say
from stowplan.observe.extender_reports import ask_extenders
from stowplan.testing import make_node, make_pod
from tests.unit.extender.fakes import FakeExtender, nodes

POD = make_pod("web").requests(cpu="2").build()
BOTH = Filtered(("a", "b"))


@pytest.mark.parametrize(
    ("extenders", "expected"),
    [
        pytest.param([FakeExtender(filtered=BOTH)], "has no objection", id="asked, and content"),
        pytest.param([FakeExtender(bound=True)], "is not asked about nodes", id="it only binds"),
        pytest.param([FakeExtender(agreed=[])], "is not asked about nodes", id="it only preempts"),
        pytest.param([FakeExtender(scores={})], "scores none of the nodes sent", id="no score for what was sent"),
        pytest.param([FakeExtender(scores={"a": 10})], "scores 1 node", id="it scores"),
        pytest.param(
            [FakeExtender("first", filtered=Filtered(())), FakeExtender(filtered=BOTH)],
            "is not asked: no node is left to ask about",
            id="another left none",
        ),
        pytest.param(
            [FakeExtender("first", filtered=Filtered(("a",))), FakeExtender(scores={"a": 1})],
            "is not asked: the one node that is left needs no score",
            id="another left one",
        ),
        pytest.param(
            [FakeExtender("first", filtered=ExtenderError("down")), FakeExtender(filtered=BOTH)],
            "is not asked: another extender failed before",
            id="another failed",
        ),
    ],
)
def test_the_last_extender_says_no_more_than_it_was_asked(extenders: list[FakeExtender], expected: str) -> None:
    hearing = asyncio.run(ask_extenders(extenders, POD, nodes("a", "b")))
    assert say(hearing.reports[-1]) == expected


def explained(extender: FakeExtender) -> str:
    """Explain a pod on a node that is too small and one that fits but for what the extender says."""
    cluster = Cluster()
    cluster.add(make_node("small").capacity(cpu="1", memory="8Gi", pods="9").build())
    cluster.add(make_node("large").capacity(cpu="8", memory="8Gi", pods="9").build())
    cluster.handle.extenders = (extender,)
    return render(cluster.explain(POD))


def test_an_attempt_that_an_extender_ended_is_no_refusal_and_has_no_nearest_misses() -> None:
    said = explained(FakeExtender(filtered=ExtenderError("down")))
    assert said.startswith("Pod default/web could not be decided: down")
    assert "1 of 2 nodes passes the plugins; whether an extender refuses them is not known" in said
    assert "Nearest misses" not in said


def test_where_extenders_refuse_what_plugins_let_pass_no_change_of_the_pod_is_promised_to_help() -> None:
    said = explained(FakeExtender(filtered=Filtered((), {"large": "hot"})))
    assert said.startswith("Pod default/web fits no node.")
    assert "1 of 2 nodes passes the plugins; extenders leave none of them" in said
    assert "Nearest misses" not in said
