"""Label selectors: what they match, how they are written, what they refuse."""

from __future__ import annotations

import pytest

from stowplan.model import selectors
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement
from stowplan.model.selectors import EVERYTHING, NOTHING, SelectorError, compile_label_selector


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(None, {"app": "web"}, False, id="no selector matches nothing"),
        pytest.param(LabelSelector(), {}, True, id="an empty selector matches everything"),
        pytest.param(LabelSelector(match_labels={"app": "web"}), {"app": "web", "x": "y"}, True, id="equal label"),
        pytest.param(LabelSelector(match_labels={"app": "web"}), {"app": "db"}, False, id="different label"),
        pytest.param(expression("app", "In", "a", "b"), {"app": "b"}, True, id="one of several values"),
        pytest.param(expression("app", "In", "a"), {}, False, id="In needs the label"),
        pytest.param(expression("app", "NotIn", "a"), {}, True, id="NotIn does not need the label"),
        pytest.param(expression("app", "NotIn", "a"), {"app": "a"}, False, id="NotIn refuses its values"),
        pytest.param(expression("app", "Exists"), {"app": ""}, True, id="an empty value exists"),
        pytest.param(expression("app", "DoesNotExist"), {"app": ""}, False, id="DoesNotExist refuses an empty value"),
    ],
)
def test_matching(selector: LabelSelector | None, labels: dict[str, str], expected: bool) -> None:
    assert compile_label_selector(selector).matches(labels) is expected


def test_requirements_are_sorted_by_key_and_written_out() -> None:
    selector = LabelSelector(
        match_labels={"tier": "front"},
        match_expressions=(
            LabelSelectorRequirement(key="app", operator="In", values=("web", "db")),
            LabelSelectorRequirement(key="old", operator="DoesNotExist"),
        ),
    )
    compiled = compile_label_selector(selector)
    assert str(compiled) == "app in (db,web),!old,tier=front"
    assert [requirement.key for requirement in compiled.requirements] == ["app", "old", "tier"]


def test_equal_selectors_are_one_object_fit_for_dictionary_keys() -> None:
    first = compile_label_selector(LabelSelector(match_labels={"a": "1", "b": "2"}))
    second = compile_label_selector(LabelSelector(match_labels={"b": "2", "a": "1"}))
    assert first is second
    assert {first: "found"}[second] == "found"
    assert selectors.from_labels({"a": "1", "b": "2"}) is first


def test_nothing_and_everything_are_told_apart() -> None:
    assert NOTHING != EVERYTHING
    assert (NOTHING.is_everything, EVERYTHING.is_everything) == (False, True)
    assert compile_label_selector(LabelSelector()) is EVERYTHING


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param(
            expression("app", "Gt", "1"),
            '"Gt" is not a valid label selector operator',
            id="an operator of node selectors",
        ),
        pytest.param(
            expression("app", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="In without values",
        ),
        pytest.param(
            expression("app", "Exists", "x"),
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
            id="Exists with values",
        ),
        pytest.param(
            LabelSelector(match_labels={"/x": "1"}),
            'key: Invalid value: "/x": prefix part must be non-empty',
            id="an empty prefix",
        ),
        pytest.param(
            LabelSelector(match_labels={"k" * 64: "1"}),
            f'key: Invalid value: "{"k" * 64}": name part must be no more than 63 bytes',
            id="a long key",
        ),
        pytest.param(
            expression("a", "In", "v" * 64, "w" * 64),
            f'[values[0][a]: Invalid value: "{"v" * 64}": must be no more than 63 bytes, '
            f'values[1][a]: Invalid value: "{"w" * 64}": must be no more than 63 bytes]',
            id="two long values",
        ),
    ],
)
def test_refusing(selector: LabelSelector, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_label_selector(selector)
    assert str(caught.value) == message
