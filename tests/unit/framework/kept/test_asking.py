"""What filters and scores say is taken apart and joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import Filter, Reject, Score, reject
from stowplan.framework.kept.asking import NO_NUMBER, ask_filter, ask_score
from stowplan.framework.verdict import Code, Rejection, Vocabulary
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import make_pod
from tests.unit.framework.stand import Stand, nodes

POD = make_pod().build()


def mask(*rows: int) -> Any:
    return np.isin(np.arange(3), rows)


class Says(Filter):
    def __init__(self, *objections: Reject) -> None:
        self.objections = objections

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield from self.objections


def told(*objections: Reject) -> list[tuple[tuple[str, ...], Code] | None]:
    vocabulary = Vocabulary()
    words = ask_filter(Says(*objections), POD, Nodes(Stand(nodes("a", "b", "c")).cache.table), None, vocabulary)
    found = [] if words is None else [vocabulary.rejections[word] for word in words.tolist()]
    assert all(word is None or word.plugin == "Says" for word in found)
    return [None if word is None else (word.reasons, word.code) for word in found]


@pytest.mark.parametrize(
    ("objections", "expected"),
    [
        pytest.param([], [], id="no objection at all"),
        pytest.param([reject(mask(), "no")], [None, None, None], id="an objection to no row"),
        pytest.param(
            [reject(mask(0), "no")], [(("no",), Code.UNSCHEDULABLE), None, None], id="an objection that may be overcome"
        ),
        pytest.param(
            [reject(mask(2), "no", unresolvable=True)],
            [None, None, (("no",), Code.UNRESOLVABLE)],
            id="one that may not",
        ),
        pytest.param(
            [reject(mask(0, 1), "no", unresolvable=mask(1, 2))],
            [(("no",), Code.UNSCHEDULABLE), (("no",), Code.UNRESOLVABLE), None],
            id="different by row",
        ),
        pytest.param(
            [reject(mask(0, 1), "one"), reject(mask(1, 2), "two")],
            [
                (("one",), Code.UNSCHEDULABLE),
                (("one", "two"), Code.UNSCHEDULABLE),
                (("two",), Code.UNSCHEDULABLE),
            ],
            id="reasons add up in order",
        ),
        pytest.param(
            [reject(mask(0), "one"), reject(mask(0), "two", unresolvable=True), reject(mask(0), "three")],
            [(("one", "two", "three"), Code.UNRESOLVABLE), None, None],
            id="one unresolvable reason is enough",
        ),
    ],
)
def test_objections_become_words(objections: list[Reject], expected: list[Any]) -> None:
    assert told(*objections) == expected


def test_of_very_many_objections_to_a_row_the_first_are_told() -> None:
    many = [reject(mask(0), f"reason {number}") for number in range(1000)]
    first = tuple(f"reason {number}" for number in range(100))
    assert told(*many) == [(first, Code.UNSCHEDULABLE), None, None]
    assert told(*many, reject(mask(0), "last", unresolvable=True)) == [(first, Code.UNRESOLVABLE), None, None]


class Halves(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Any = np.array([1.9, 2.0, 0.5])
        return scores  # type: ignore[no-any-return]


def test_fractions_of_scores_are_cut_off() -> None:
    scores = ask_score(Halves(), POD, Nodes(Stand(nodes("a", "b", "c")).cache.table), None)
    assert scores.tolist() == [1, 2, 0]
    assert scores.dtype == np.int64


class NoNumbers(Score):
    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        scores: Any = np.array([7.5, np.nan, -np.inf], dtype=self.kind)
        return scores  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_what_is_no_number_is_told_apart_without_a_warning(kind: Any, recwarn: pytest.WarningsRecorder) -> None:
    scores = ask_score(NoNumbers(kind), POD, Nodes(Stand(nodes("a", "b", "c")).cache.table), None)
    assert scores.tolist() == [7, NO_NUMBER, NO_NUMBER]
    assert not recwarn.list


def test_a_rejection_is_a_value() -> None:
    assert Rejection(("a",)) == Rejection(("a",), Code.UNSCHEDULABLE, "")
