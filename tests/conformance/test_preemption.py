"""The check of preemption cases can fail, in every field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import corpus, preemption
from tests.conformance.answers import Answer


def nominated_case() -> dict[str, Any]:
    path = next(path for path in corpus.files(corpus.SAMPLE) if corpus.kind_of(path) == "preemption")
    cases = (corpus.decode(line) for line in corpus.lines_of(path))
    return next(case for case in cases if len(case["expect"]["candidates"]) > 1 and "pdb" in case["features"])


def lose_a_candidate(expect: Answer) -> None:
    expect["candidates"].popitem()


def count_a_violation_more(expect: Answer) -> None:
    expect["candidates"][min(expect["candidates"])]["pdbViolations"] += 1


def swap_victims(expect: Answer) -> None:
    most = max(expect["candidates"].values(), key=lambda candidate: len(candidate["victims"]))
    most["victimsInOrder"].insert(0, "nobody")


def swap_every_victim(expect: Answer) -> None:
    for candidate in expect["candidates"].values():
        candidate["victimsInOrder"].insert(0, "nobody")


def test_a_library_that_evicts_nobody_is_noticed() -> None:
    case = nominated_case()
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    case["config"] = {**head, "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}}]}
    assert [field for field, _, _ in preemption.check_library(case)] == ["choose"]


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        pytest.param(lose_a_candidate, "candidates", id="a candidate"),
        pytest.param(count_a_violation_more, "candidates", id="the budgets violated"),
        pytest.param(swap_victims, "candidates", id="the order of victims"),
        pytest.param(swap_every_victim, "choose", id="the order of victims, in a library"),
        pytest.param(swap_every_victim, "whatif", id="the order of victims, in what would be"),
        pytest.param(lose_a_candidate, "whatif", id="a candidate of what would be"),
        pytest.param(lambda expect: expect.update(nominatedNode="elsewhere"), "nominatedNode", id="the node"),
        pytest.param(lambda expect: expect.update(victims=[]), "victims", id="the victims"),
        pytest.param(lambda expect: expect["status"].update(code="Error"), "status", id="the status"),
        pytest.param(lambda expect: expect.update(message="No."), "message", id="the message"),
        pytest.param(lambda expect: expect["filter"].popitem(), "filter", id="the refusal of a node"),
        pytest.param(lambda expect: expect.update(outcome="schedulable"), "outcome", id="the outcome"),
    ],
)
def test_a_wrong_expectation_is_noticed(spoil: Callable[[Answer], None], field: str) -> None:
    case = nominated_case()
    assert preemption.check(case) == []
    spoil(case["expect"])
    assert field in [name for name, _, _ in preemption.check(case)]


def test_on_a_tie_any_of_the_equally_best_nodes_is_right_but_all_of_them_are_named() -> None:
    status = {"code": "Success", "plugin": "", "message": "preemption: on node a, preempting 1 victims"}
    ours = {"outcome": "nominated", "nominatedNode": "a", "nominatedNodes": ["a"], "victims": ["v"], "status": status}
    ours |= {"message": f"0/2. {status['message']}", "equals": ["a", "b"]}
    tied = {**ours, "outcome": "tie", "nominatedNode": None, "victims": None, "nominatedNodes": ["a", "b"]}
    tied |= {"message": "0/2. preemption: on node b, preempting 2 victims"}
    assert list(preemption.compare(tied, ours)) == []
    assert [field for field, *_ in preemption.compare({**tied, "nominatedNodes": ["b"]}, ours)] == ["nominatedNodes"]
