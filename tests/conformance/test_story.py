"""The check of stories can fail: whatever is spoilt in a step is noticed, and the story ends there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import corpus, story

Step = dict[str, Any]


def a_story() -> dict[str, Any]:
    """Return the first story of the sample in which somebody is preempted."""
    path = next(path for path in corpus.files(corpus.SAMPLE) if path.name.startswith("story-"))
    cases = map(corpus.decode, corpus.lines_of(path))
    return next(case for case in cases if "preempted" in case["features"])


def of_a_pod(field: str, value: str) -> Callable[[Step], None]:
    def spoil(step: Step) -> None:
        step["state"][min(step["state"])][field] = value

    return spoil


def lose_a_pod(step: Step) -> None:
    step["state"].pop(min(step["state"]))


def hear_of_more(step: Step) -> None:
    step["events"].append("Normal Scheduled nobody: Successfully assigned default/nobody to nowhere")


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        pytest.param(of_a_pod("node", "elsewhere"), "node", id="the node of a pod"),
        pytest.param(of_a_pod("nominated", "elsewhere"), "nominated", id="its nominated node"),
        pytest.param(of_a_pod("reason", "Tired"), "reason", id="the reason why it waits"),
        pytest.param(of_a_pod("message", "not today"), "message", id="the message"),
        pytest.param(lose_a_pod, "objects", id="a pod that should be gone"),
        pytest.param(hear_of_more, "events", id="an event"),
    ],
)
@pytest.mark.parametrize("check", [story.check, story.check_fresh], ids=["with kept answers", "without"])
def test_a_wrong_step_is_noticed_and_ends_the_story(
    check: Callable[[dict[str, Any]], list[story.Difference]], spoil: Callable[[Step], None], field: str
) -> None:
    case = a_story()
    assert check(case) == []
    spoil(case["steps"][-2])
    spoil(case["steps"][-1])
    where = f"step {len(case['steps']) - 2}"
    assert [(name, list(theirs)) for name, theirs, _ in check(case)] == [(field, [where])]
