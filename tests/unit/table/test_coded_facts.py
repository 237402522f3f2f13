"""Coded facts: one answer per meaning, given to every row that has it."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.table.columns import Coded

COLORS = ["red", "green", "blue"]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        pytest.param([0, 2, 2, 1, -1], [3, 4, 4, 5, -7], id="many rows, some without the fact"),
        pytest.param([2], [4], id="one row"),
        pytest.param([-1], [-7], id="one row without the fact"),
        pytest.param([], [], id="no rows"),
    ],
)
def test_rows_are_given_the_answer_for_their_meaning(codes: list[int], expected: list[int]) -> None:
    answers = Coded(np.array(codes, dtype=np.int64), COLORS).by_meaning(len, missing=-7)
    assert answers.dtype == np.int64
    assert answers.tolist() == expected


def test_a_fact_that_no_node_has_answers_for_its_absence() -> None:
    answers = Coded(np.array([-1, -1]), []).by_meaning(len, missing=True)
    assert answers.tolist() == [True, True]


@pytest.mark.parametrize(
    ("codes", "asked"),
    [
        pytest.param([1, 1], ["green"], id="of few rows only the meanings at hand are asked about"),
        pytest.param([1, 1, 1, 0], COLORS, id="of many rows each meaning once"),
    ],
)
def test_each_meaning_is_asked_about_once(codes: list[int], asked: list[str]) -> None:
    heard: list[str] = []
    Coded(np.array(codes), COLORS).by_meaning(lambda color: bool(heard.append(color)))  # type: ignore[func-returns-value]
    assert heard == asked
