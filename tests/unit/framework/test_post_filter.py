"""PostFilter: whose word counts when several plugins are asked."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import Arranged, Nominated, PostFilter, Proposed, Withdrawn
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.post_filter import PostFiltered, run_post_filter, settled
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import make_pod

Answer = Nominated | Proposed | Withdrawn | Arranged | Rejection

POD = make_pod("pod").build()
ATTEMPT = Attempt(
    Verdict(np.zeros(0, dtype=np.int32), Vocabulary(), []), Nodes(Table()), lambda _: np.zeros(0, np.int32)
)


class First(PostFilter):
    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def post_filter(self, pod: Pod, attempt: Attempt) -> Answer:
        return self.answer


class Second(First):
    """Comes after."""


class Broken(PostFilter):
    def post_filter(self, pod: Pod, attempt: Attempt) -> Answer:
        raise ValueError("no such victim")


def run(*plugins: PostFilter) -> PostFiltered:
    return run_post_filter(Profile("p", post_filter=plugins), POD, ATTEMPT)


NO = Rejection(("no",))
NEITHER = Rejection(("nor I",))
NODE = Nominated("node")


async def errand() -> None:
    """Do nothing: nobody does it here."""


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param((NODE, NO), PostFiltered(NODE), id="the first node ends it"),
        pytest.param((NO, NODE), PostFiltered(NODE), id="a refusal is forgotten when a node is found"),
        pytest.param(
            (NO, NEITHER),
            PostFiltered(None, Rejection(("no", "nor I"), Code.UNSCHEDULABLE, "First")),
            id="refusals add up, under the name of the first",
        ),
        pytest.param(
            (Rejection(("never",), Code.UNRESOLVABLE), NODE),
            PostFiltered(None, Rejection(("never",), Code.UNRESOLVABLE, "First")),
            id="a refusal for good ends it",
        ),
        pytest.param(
            (NO, Rejection(("not found",), Code.ERROR)),
            PostFiltered(None, Rejection(("not found",), Code.ERROR, "Second")),
            id="an error stands alone, under its own name",
        ),
        pytest.param(
            (Withdrawn(NO), NEITHER),
            PostFiltered(None, Rejection(("no", "nor I"), Code.UNSCHEDULABLE, "First"), withdraws=True),
            id="one that withdraws is enough",
        ),
        pytest.param(
            (Arranged(NO, errand), NEITHER),
            PostFiltered(None, Rejection(("no", "nor I"), Code.UNSCHEDULABLE, "First"), errands=(errand,)),
            id="what is arranged is a refusal too, and others are asked",
        ),
        pytest.param(
            (Arranged(NO, errand), NODE), PostFiltered(NODE, errands=(errand,)), id="it is done whatever others find"
        ),
        pytest.param(
            (Arranged(NO, errand), Rejection(("not found",), Code.ERROR)),
            PostFiltered(None, Rejection(("not found",), Code.ERROR, "Second"), errands=(errand,)),
            id="even if they fail",
        ),
    ],
)
def test_plugins_are_asked_in_order(answers: tuple[Answer, Answer], expected: PostFiltered) -> None:
    assert run(First(answers[0]), Second(answers[1])) == expected


def test_what_is_arranged_is_done_whatever_becomes_of_a_proposal() -> None:
    for proposed in (Proposed((), lambda _: NODE), Proposed((), lambda _: NEITHER)):
        made = run(First(Arranged(NO, errand)), Second(proposed))
        assert settled(made, ()).errands == (errand,)


def test_messages_are_joined() -> None:
    assert run(First(NO), Second(NEITHER)).message == "no, nor I"


def test_nobody_to_ask_is_no_refusal() -> None:
    assert run() == PostFiltered(None, None)


def test_a_plugin_that_fails_is_named() -> None:
    with pytest.raises(
        PluginError, match="plugin 'Broken' failed in PostFilter for pod 'default/pod': ValueError: no such"
    ):
        run(Broken())


def test_a_plugin_that_wants_to_end_the_program_is_named() -> None:
    class Ends(PostFilter):
        def post_filter(self, pod: Pod, attempt: Attempt) -> Answer:
            raise SystemExit(3)

    with pytest.raises(PluginError, match="plugin 'Ends' failed in PostFilter for pod 'default/pod': SystemExit: 3"):
        run(Ends())
