"""A plugin that fails ends the attempt, by name; the next attempt starts from nothing that it left half-done."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.engine.group_trial import at_once
from stowplan.engine.post_filter import find_room
from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import (
    Filter,
    FilterNode,
    Narrowed,
    Normalize,
    PostFilter,
    PreFilter,
    PreScore,
    Reject,
    Score,
    ScoreNode,
    refuse,
    reject,
)
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.verdict import Code, Rejection, WordedError
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.framework.stand import Stand, nodes

Fault = Callable[[Any], Any]
POD = make_pod("web").build()


class Broken:
    """Does as it is told while it is broken."""

    fault: Fault | None

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


class BrokenFilter(Broken, Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if self.fault is None:
            return
        mask = self.fault(nodes)
        yield mask if isinstance(mask, Reject) else reject(mask, "no")


class Returns(Broken, Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return [] if self.fault is None else self.fault(nodes)


class BrokenPreFilter(Broken, PreFilter):
    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        return None if self.fault is None else self.fault(nodes)


class BrokenPreScore(Broken, PreScore):
    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        return None if self.fault is None else self.fault(nodes)


class BrokenScore(Broken, Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Scores = np.full(len(nodes), 50) if self.fault is None else self.fault(nodes)
        return scores


class BrokenNormalize(Broken, Normalize):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Scores = nodes.allocatable[0] // 1000
        return scores

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        found: Scores = scores if self.fault is None else self.fault(scores)
        return found


class BrokenFilterNode(Broken, FilterNode):
    def filter_node(self, pod: Pod, node: Any, state: Any) -> Any:
        return None if self.fault is None else self.fault(node)


class BrokenScoreNode(Broken, ScoreNode):
    def score_node(self, pod: Pod, node: Any, state: Any) -> int:
        return 50 if self.fault is None else int(self.fault(node))


class BrokenSign(Broken, Score):
    def sign(self, pod: Pod) -> Any:
        return None if self.fault is None else self.fault(None)

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.full(len(nodes), 50)


class Even(Score):
    """Makes sure that somebody scores."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)


SCORES = r"Score.*scores are one number per row \(3\), in a NumPy array \(np.array\(\[...\]\)\), got "
FILTER = r"Filter.*filter says whom it refuses with `yield reject\(mask, reason\)`, and nothing else, got "


def raises(_: Any) -> Any:
    raise LookupError("no such thing")


def ends_the_program(_: Any) -> Any:
    raise SystemExit(3)


def writes_to_a_matrix(nodes: Nodes) -> Any:
    nodes.allocatable[0] = 0
    return np.zeros(len(nodes), dtype=bool)


def writes_to_a_label(nodes: Nodes) -> Any:
    nodes.label("kubernetes.io/hostname").codes[0] = 0
    return np.zeros(len(nodes), dtype=bool)


def writes_to_the_feasible_rows(nodes: Nodes) -> Any:
    nodes.feasible[:] = True


def normalizes_in_place(scores: Any) -> Any:
    scores *= 10
    return scores


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        pytest.param(BrokenFilter(raises), "Filter.*LookupError: no such thing", id="a filter raises"),
        pytest.param(
            BrokenFilter(lambda nodes: np.zeros(2, dtype=bool)),
            r"Filter.*reject\(\) takes one boolean per row \(3\), got an array of shape \(2,\) and type bool",
            id="a filter answers for other rows",
        ),
        pytest.param(
            BrokenFilter(lambda nodes: np.zeros(3)),
            r"Filter.*one boolean per row \(3\), got an array of shape \(3,\) and type float64",
            id="a filter answers with numbers",
        ),
        pytest.param(
            BrokenFilter(lambda nodes: True), "Filter.*one boolean per row.*got bool True", id="with one word"
        ),
        pytest.param(
            BrokenFilter(lambda nodes: reject(np.ones(3, dtype=bool), "no", unresolvable=np.ones(2, dtype=bool))),
            "Filter.*could not be broadcast",
            id="a filter says for other rows that nothing helps",
        ),
        pytest.param(
            BrokenFilter(lambda nodes: reject(np.ones(3, dtype=bool), "")),
            "Filter.*a reason in words, got str ''",
            id="a filter gives no reason",
        ),
        pytest.param(BrokenFilter(writes_to_a_matrix), "Filter.*read-only", id="a filter writes to a matrix"),
        pytest.param(BrokenFilter(writes_to_a_label), "Filter.*read-only", id="a filter writes to a label"),
        pytest.param(Returns(lambda nodes: [True] * 3), FILTER + "bool True", id="a filter returns booleans"),
        pytest.param(Returns(lambda nodes: None), FILTER + "NoneType None", id="a filter returns nothing"),
        pytest.param(Returns(lambda nodes: np.ones(3, dtype=bool)), FILTER + "bool", id="a filter returns a mask"),
        pytest.param(BrokenFilter(ends_the_program), "Filter.*SystemExit: 3", id="a filter ends the program"),
        pytest.param(BrokenScoreNode(ends_the_program), "Score.*SystemExit: 3", id="a score ends the program"),
        pytest.param(BrokenSign(ends_the_program), "sign.*SystemExit: 3", id="a signature ends the program"),
        pytest.param(BrokenPreFilter(raises), "PreFilter.*LookupError", id="a pre-filter raises"),
        pytest.param(BrokenPreScore(raises), "PreScore.*LookupError", id="a pre-score raises"),
        pytest.param(
            BrokenPreScore(writes_to_the_feasible_rows), "PreScore.*read-only", id="a pre-score writes what is feasible"
        ),
        pytest.param(
            BrokenPreFilter(lambda nodes: Narrowed("a")),  # type: ignore[arg-type]
            "PreFilter.*Narrowed takes the names of nodes in a frozenset, got str 'a'",
            id="a pre-filter that narrows to a text",
        ),
        pytest.param(BrokenScore(raises), "Score.*LookupError", id="a score raises"),
        pytest.param(
            BrokenScore(lambda nodes: np.zeros((3, 1), dtype=np.int64)),
            r"Score.*one number per row \(3\), got an array of shape \(3, 1\) and type int64",
            id="a score of another shape",
        ),
        pytest.param(
            BrokenScore(lambda nodes: np.array(["high"] * 3)), "Score.*one number per row.*<U4", id="a score in words"
        ),
        pytest.param(BrokenScore(lambda nodes: [1, 2, 3]), SCORES + r"list \[1, 2, 3\]", id="a score that is a list"),
        pytest.param(BrokenScore(lambda nodes: None), SCORES + "NoneType None", id="no score"),
        pytest.param(
            BrokenScore(lambda nodes: np.array([0, 101, 100])), "Score.*invalid score 101", id="a score above a hundred"
        ),
        pytest.param(
            BrokenScore(lambda nodes: np.array([0, -1, 100])), "Score.*invalid score -1", id="a score below zero"
        ),
        pytest.param(BrokenNormalize(raises), "NormalizeScore.*LookupError", id="a normalisation raises"),
        pytest.param(
            BrokenNormalize(lambda scores: scores[:1]), "one number per row", id="a normalisation of other rows"
        ),
        pytest.param(BrokenNormalize(lambda scores: scores * 1000), "invalid score", id="a normalisation out of range"),
        pytest.param(BrokenNormalize(normalizes_in_place), "read-only", id="a normalisation in place"),
        pytest.param(BrokenFilterNode(raises), "Filter.*LookupError", id="a filter of one node raises"),
        pytest.param(
            BrokenFilterNode(lambda node: False),
            "a reason in words, got bool False",
            id="a filter of one node says False",
        ),
        pytest.param(BrokenScoreNode(raises), "Score.*LookupError", id="a score of one node raises"),
        pytest.param(BrokenScoreNode(lambda node: 300), "Score.*invalid score 300", id="a score of one node too high"),
        pytest.param(BrokenSign(raises), "sign.*LookupError", id="a signature raises"),
        pytest.param(BrokenSign(lambda _: []), "sign.*unhashable", id="a signature that cannot be looked up"),
    ],
)
def test_a_fault_is_named_and_the_next_pod_is_scheduled(plugin: Any, problem: str) -> None:
    stand = Stand(nodes("a", "b", "c"), plugin, Even())
    result = stand.choose(POD)
    assert isinstance(result, Failed), result
    assert result.plugin == type(plugin).__name__
    name = type(plugin).__name__
    assert result.message.startswith(f"plugin '{name}' failed in ")
    assert " for pod 'default/web': " in result.message
    assert re.search(problem, result.message), result.message
    plugin.fault = None
    assert isinstance(stand.choose(POD), Chosen)


def has_words_for_it(_: Any) -> Any:
    raise WordedError("claim default/gpu: no such key")


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param(
            BrokenFilter(has_words_for_it),
            'running "BrokenFilter" filter plugin: claim default/gpu: no such key',
            id="a filter",
        ),
        pytest.param(
            BrokenPreFilter(has_words_for_it),
            'running PreFilter plugin "BrokenPreFilter": claim default/gpu: no such key',
            id="a pre-filter",
        ),
    ],
)
def test_a_fault_that_upstream_has_words_for_is_told_in_them(plugin: Any, message: str) -> None:
    result = Stand(nodes("a"), plugin, Even()).choose(POD)
    assert isinstance(result, Failed), result
    assert (result.message, result.plugin) == (message, type(plugin).__name__)


class Moody(Filter):
    """Refuses nodes with many pods; may fail after the first row."""

    fault: type[BaseException] | None = None

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(nodes.requested[3] > 0, "taken")
        if self.fault is not None:
            raise self.fault


@pytest.mark.parametrize(
    ("fault", "is_told"),
    [
        pytest.param(LookupError, True, id="the plugin failed"),
        pytest.param(KeyboardInterrupt, False, id="somebody interrupted it"),
    ],
)
def test_nothing_is_kept_of_an_attempt_that_broke_off_half_way(fault: type[BaseException], is_told: bool) -> None:
    plugin = Moody()
    stand = Stand(nodes("a", "b", "c"), plugin, Even())
    assert isinstance(stand.choose(POD), Chosen)
    stand.cache.add_pod(make_pod("other").on("a").build())
    plugin.fault = fault
    with nullcontext() if is_told else pytest.raises(fault):
        assert isinstance(stand.choose(POD), Failed)
    plugin.fault = None
    assert list(stand.verdict(POD).rejected) == ["a"]
    stand.cache.add_pod(make_pod("another").on("b").build())
    assert list(stand.verdict(POD).rejected) == ["a", "b"]


def test_nothing_is_kept_of_a_question_that_broke_off_half_way() -> None:
    """Whoever asks what would become of a pod, and is no attempt."""
    plugin = Moody()
    stand = Stand(nodes("a", "b", "c"), plugin, Even())
    assert isinstance(stand.choose(POD), Chosen)
    stand.cache.add_pod(make_pod("other").on("a").build())
    plugin.fault = LookupError
    with pytest.raises(PluginError):
        stand.verdict(POD)
    plugin.fault = None
    assert list(stand.verdict(POD).rejected) == ["a"]


class Frees(PostFilter):
    """Asks what if a pod were gone, of a filter that fails at that."""

    def __init__(self, moody: Moody) -> None:
        self.moody = moody
        self.free: Callable[[], object] = lambda: None

    def post_filter(self, pod: Pod, attempt: Attempt) -> Rejection:
        self.free()
        self.moody.fault = LookupError
        assert attempt.ask_again is not None
        attempt.ask_again(attempt.nodes)
        return refuse("nothing helps")


def test_nothing_is_kept_of_what_broke_off_after_the_filters() -> None:
    moody = Moody()
    frees = Frees(moody)
    stand = Stand(nodes("a", "b"), moody, Even(), post_filter=(frees,))
    for node in ("a", "b"):
        stand.cache.add_pod(make_pod(f"on-{node}").on(node).build())
    # An answer is kept from the second time on.
    stand.choose(POD)
    refused = stand.choose(POD)
    assert isinstance(refused, Refused)
    frees.free = lambda: stand.cache.remove_pod(make_pod("on-a").on("a").build())
    made = at_once(find_room(stand.field, None, stand.profile, refused))
    assert made.rejection is not None
    assert made.rejection.code is Code.ERROR
    moody.fault = None
    assert list(stand.verdict(POD).rejected) == ["b"]


class Hot(Normalize):
    """Scores with a column as it is, which must not be written to when a few rows are scored again."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Scores = nodes.fact("celsius", lambda node: int(node.metadata.annotations.get("celsius", "0")))
        return scores

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        return scores - low


def test_a_score_may_be_a_column_itself() -> None:
    stand = Stand([make_node(name).annotation("celsius", "20").build() for name in "abc"], Hot())
    assert stand.totals(POD) == {"a": 0, "b": 0, "c": 0}
    stand.cache.add_node(make_node("b").annotation("celsius", "30").build())
    assert stand.totals(POD) == {"a": 0, "b": 10, "c": 0}
    stand.cache.add_node(make_node("a").annotation("celsius", "25").build())
    assert stand.totals(POD) == {"a": 5, "b": 10, "c": 0}


class Unlike(Score):
    """Reads of a pod what no in-tree plugin reads."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.full(len(nodes), len(pod.spec.service_account_name) + len(pod.metadata.annotations))


def test_pods_that_differ_in_what_only_a_foreign_plugin_reads_get_answers_of_their_own() -> None:
    stand = Stand(nodes("a"), Unlike())
    robot = replace(POD, spec=replace(POD.spec, service_account_name="robot"))
    noted = make_pod("web").annotation("note", "x").build()
    assert [stand.totals(pod) for pod in (POD, robot, noted, POD)] == [{"a": 0}, {"a": 5}, {"a": 1}, {"a": 0}]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, asyncio.CancelledError])
def test_an_interruption_is_nobodys_fault(interruption: type[BaseException]) -> None:
    def interrupts(_: Any) -> Any:
        raise interruption

    with pytest.raises(interruption):
        Stand(nodes("a"), BrokenFilter(interrupts), Even()).choose(POD)
