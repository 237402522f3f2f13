"""Our decisions are kube-scheduler's, on a sample of the corpus; `make conformance` compares all of it.

The rest shows that the check can fail.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import Filter, Reject, reject
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from tests.conformance import corpus, cycle, report, running, sample
from tests.conformance.answers import Answer, answer
from tests.conformance.corpus import Line, Selection

Case = dict[str, Any]


def test_every_case_agrees_in_every_field() -> None:
    tallies = running.run(corpus.select(corpus.SAMPLE, Selection()))
    for tally in tallies.values():
        assert tally.is_clean, "\n".join(
            (*report.summary(tally), *report.clusters(tally, 10), *report.differences(tally, 10))
        )


def small_cases() -> Iterator[Case]:
    path = next(path for path in corpus.files(corpus.SAMPLE) if path.name.startswith("cycle-seed"))
    return (corpus.decode(line) for line in corpus.lines_of(path))


def scored_case() -> Case:
    return next(case for case in small_cases() if case["expect"]["scores"] and "mixed" in case["features"])


def refused_case() -> Case:
    return next(case for case in small_cases() if case["expect"]["fitError"] and "taint-filter" in case["features"])


def raise_a_score(expect: Answer, part: str) -> None:
    node = min(expect["scores"])
    expect["scores"][node]["NodeResourcesFit"][part] += 1


def lose_a_feasible_node(expect: Answer) -> None:
    expect["feasible"].pop()


def prefer_another_node(expect: Answer) -> None:
    expect["best"] = [min(expect["scores"], key=lambda node: int(expect["totals"][node]))]


def raise_a_total(expect: Answer) -> None:
    expect["totals"][min(expect["totals"])] += 1


def reword_a_reason(expect: Answer) -> None:
    expect["filter"][min(expect["filter"])]["reasons"] = ["too warm"]


def blame_another_plugin(expect: Answer) -> None:
    expect["filter"][min(expect["filter"])]["plugin"] = "NodeAffinity"


def reword_the_fit_error(expect: Answer) -> None:
    expect["fitError"] += " Sorry."


def skip_another_filter(expect: Answer) -> None:
    expect["filterSkipped"].append("TaintToleration")


@pytest.mark.parametrize(
    ("find", "spoil", "field"),
    [
        pytest.param(scored_case, lambda e: raise_a_score(e, "raw"), "scores NodeResourcesFit", id="a raw score"),
        pytest.param(
            scored_case, lambda e: raise_a_score(e, "normalized"), "scores NodeResourcesFit", id="a normal score"
        ),
        pytest.param(
            scored_case, lambda e: raise_a_score(e, "weighted"), "scores NodeResourcesFit", id="a weighted score"
        ),
        pytest.param(scored_case, raise_a_total, "totals", id="a total"),
        pytest.param(scored_case, prefer_another_node, "best", id="the best node"),
        pytest.param(scored_case, lose_a_feasible_node, "feasible", id="the feasible nodes"),
        pytest.param(refused_case, reword_a_reason, "filter", id="the reason for a node"),
        pytest.param(refused_case, blame_another_plugin, "filter", id="the plugin that refused a node"),
        pytest.param(refused_case, reword_the_fit_error, "fitError", id="the message"),
        pytest.param(refused_case, skip_another_filter, "filterSkipped", id="the filters skipped"),
    ],
)
def test_a_wrong_expectation_is_noticed(find: Callable[[], Case], spoil: Callable[[Answer], None], field: str) -> None:
    case = find()
    assert cycle.check(case) == []
    spoil(case["expect"])
    assert field in [name for name, _, _ in cycle.check(case)]


def allocated_case() -> Case:
    path = next(path for path in corpus.files(corpus.SAMPLE) if corpus.kind_of(path) == "gates")
    cases = (corpus.decode(line) for line in corpus.lines_of(path))
    return next(case for case in cases if case["expect"].get("allocations") and not case.get("gates"))


def give_another_device(case: Case) -> None:
    allocations = case["expect"]["allocations"]
    allocations[min(allocations)]["claims"][0]["results"][0]["device"] = "another"


def allocate_on_one_node_less(case: Case) -> None:
    case["expect"]["allocations"].popitem()


def reach_every_node(case: Case) -> None:
    allocations = case["expect"]["allocations"]
    allocations[min(allocations)]["claims"][0]["nodeSelector"] = {}


@pytest.mark.parametrize("spoil", [give_another_device, allocate_on_one_node_less, reach_every_node])
def test_a_wrong_allocation_is_noticed(spoil: Callable[[Case], None]) -> None:
    case = allocated_case()
    assert cycle.check_with_allocations(case) == []
    spoil(case)
    assert [name for name, _, _ in cycle.check_with_allocations(case)] == ["allocations"]


def test_a_gate_of_a_case_is_switched_and_an_unknown_one_left_out() -> None:
    case = {**allocated_case(), "gates": {"DRADeviceTaints": False, "KubeletInUserNamespace": True}}
    cluster, _ = cycle.build(case)
    assert not cluster.feature_gates.enabled("DRADeviceTaints")


def test_of_several_nodes_that_fail_any_may_end_the_attempt() -> None:
    refused = {"a": {"code": "Error", "reasons": ["one"]}, "b": {"code": "Error", "reasons": ["another"]}}
    case = refused_case()
    expect = {**case["expect"], "error": "one", "filter": refused}
    assert list(cycle.compare(expect, {"error": "another"})) == []
    assert list(cycle.compare(expect, {"error": "a third"})) == [("error", "one", "a third")]


class Fickle(Filter):
    """Breaks the contract: what it says depends on how often it was asked, which is not noted as a read."""

    def __init__(self) -> None:
        self.times = 0

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        self.times += 1
        yield reject(np.ones(len(nodes), dtype=bool), f"asked {self.times} times")


def test_a_kept_answer_that_differs_from_a_new_one_is_noticed() -> None:
    cluster, question = cycle.build(scored_case())
    question = replace(question, profile=replace(question.profile, filter=(Fickle(),)))
    fresh = answer(cycle.without_memo(cluster), question)
    assert [name for name, _, _ in cycle.check_memo(cluster, question, fresh)][:2] == ["memo", "memo"]


def test_a_failed_check_is_a_difference() -> None:
    outcome = running.check_line(
        Line("primitives", b'{"id": "broken", "table": "no such table", "input": "", "expect": {}}')
    )
    assert [name for name, _, _ in outcome.differences] == ["fault"]
    assert not outcome.agrees


def test_a_kind_without_a_checker_is_no_agreement() -> None:
    tally = running.run([Line("novel", b'{"id": "a", "features": ["new"]}')], processes=1)["1.36"]
    assert tally.kinds == {}
    assert not tally.is_clean
    assert next(report.summary(tally)) == "novel not compared: 1 cases"


def test_a_sample_is_small_and_always_the_same() -> None:
    packed = [path.read_bytes() for path in corpus.files(corpus.SAMPLE)]
    again = [sample.pack(corpus.lines_of(path)) for path in corpus.files(corpus.SAMPLE)]
    assert sum(map(len, packed)) <= sample.MAX_BYTES
    assert again == packed


@pytest.mark.skipif(not corpus.WHOLE.is_dir(), reason="the whole corpus is not beside the repository")
def test_the_sample_has_every_tag_of_the_corpus() -> None:
    tags = [
        {
            (line.release, line.kind, tag)
            for line in corpus.select(where, Selection())
            for tag in corpus.tags_of(corpus.decode(line.text))
        }
        for where in (corpus.WHOLE, corpus.SAMPLE)
    ]
    assert tags[1] == tags[0]
