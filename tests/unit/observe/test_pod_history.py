"""A pod's way through the queue as text."""

import pytest

from stowplan.framework.changes import ANYTHING, NODE, POD, Action
from stowplan.framework.contract import Awaited
from stowplan.observe.queue_state import PodHistory, Waiting, render_history, span, spell
from stowplan.observe.timeline import Try
from stowplan.queue.places import SECOND

#: 2026-01-01 12:00:00 UTC
NOON_NS = 1_767_268_800 * SECOND


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(0.0021, "2.1 ms", id="milliseconds"),
        pytest.param(45.9, "45 s", id="seconds"),
        pytest.param(185, "3 min 5 s", id="minutes"),
        pytest.param(7800, "2 h 10 min", id="hours"),
        pytest.param(-1, "0 ms", id="a clock that went back"),
    ],
)
def test_a_length_of_time_is_written_in_the_units_that_matter(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("awaited", "texts"),
    [
        pytest.param((Awaited(ANYTHING, Action.ALL),), ("anything",), id="anything"),
        pytest.param((Awaited(NODE, Action.ALL),), ("Node: any change",), id="everything about nodes"),
        pytest.param(
            (Awaited(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),),
            ("Node: added, allocatable changed",),
            id="in particular",
        ),
        pytest.param((Awaited(NODE, Action.ADD | Action.UPDATE),), ("Node: added, changed",), id="any update"),
        pytest.param(
            (Awaited(POD, Action.DELETE), Awaited(NODE, Action.ADD), Awaited(NODE, Action.UPDATE_NODE_LABEL)),
            ("Pod: deleted", "Node: added, labels changed"),
            id="several, put together by resource",
        ),
    ],
)
def test_what_is_awaited_is_said_in_words(awaited: tuple[Awaited, ...], texts: tuple[str, ...]) -> None:
    assert spell(awaited) == texts


def test_a_story_says_where_a_pod_waits_and_what_became_of_its_attempts() -> None:
    waiting = Waiting(
        pod="ns/p",
        profile="default-scheduler",
        priority=0,
        place="unschedulable",
        since_ns=NOON_NS,
        waiting_since_ns=NOON_NS - 60 * SECOND,
        attempts=2,
        rejected_by=("Fit",),
        message="no room",
        nominated_node="",
        next_try="when something it waits for happens",
        next_try_at_ns=NOON_NS + 300 * SECOND,
        woken_by={"Fit": ("Node: added",)},
    )
    tries = (
        Try("refused", NOON_NS - 5 * SECOND, NOON_NS - 5 * SECOND + 2_000_000, "no room", ("Fit",), "n7"),
        Try("error", NOON_NS - SECOND, NOON_NS, "it broke"),
    )
    assert render_history(PodHistory("", waiting, tries, NOON_NS + 60 * SECOND), 100).splitlines() == [
        "In the queue",
        "  place     unschedulable since 12:00:00, 1 min 0 s ago, after 2 attempts; rejected by Fit",
        "  next try  when something it waits for happens, at the latest at 12:05:00, in 4 min 0 s",
        "",
        "What may bring it back",
        "  Fit  Node: added",
        "",
        "Attempts",
        "  at        took  outcome",
        "  11:59:55  2 ms  refused by Fit (makes room on n7): no room",
        "  11:59:59  1 s   failed: it broke",
    ]


def test_a_pod_that_fits_but_not_its_group_is_refused_by_nobody_in_particular() -> None:
    tries = (Try("refused", NOON_NS - SECOND, NOON_NS, "pod group is unschedulable"),)
    lines = render_history(PodHistory("", None, tries, NOON_NS), 100).splitlines()
    assert lines[-1] == "  11:59:59  1 s   refused: pod group is unschedulable"


def test_a_story_for_programs_has_times_as_the_api_writes_them() -> None:
    data = PodHistory("n1", None, (Try("bound", NOON_NS, NOON_NS + 1_500_000, node_name="n1"),), NOON_NS).data()
    assert data == {
        "node": "n1",
        "queue": None,
        "attempts": [
            {
                "outcome": "bound",
                "startedAt": "2026-01-01T12:00:00.000000Z",
                "endedAt": "2026-01-01T12:00:00.001500Z",
                "node": "n1",
                "plugins": [],
                "message": "",
                "extenders": [],
            }
        ],
    }
