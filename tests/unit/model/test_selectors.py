"""Label selectors: what they match, how they are written, what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.model import selectors
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement
from stowplan.model.selectors import EVERYTHING, NOTHING, SelectorError, compile_label_selector, parse_selector


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


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("", "", id="nothing selects everything"),
        pytest.param("app", "app", id="a bare key must exist"),
        pytest.param(" ! app ", "!app", id="spaces do not matter"),
        pytest.param("app==web", "app==web", id="two equal signs are kept"),
        pytest.param("b=2,a=1", "a=1,b=2", id="requirements are sorted by key"),
        pytest.param("app in (b,a,b)", "app in (a,b)", id="values are sorted and named once"),
        pytest.param("app in ()", "app in ()", id="empty brackets hold the empty value"),
        pytest.param("app in (,a)", "app in (,a)", id="nothing before a comma is the empty value"),
        pytest.param("in in (in,notin)", "in in (in,notin)", id="keywords may be keys and values"),
        pytest.param("app=", "app=", id="an equal sign may stand before nothing"),
        pytest.param("n>5,n<9", "n>5,n<9", id="numbers are compared"),
    ],
)
def test_reading(text: str, canonical: str) -> None:
    assert str(parse_selector(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("app=web,", "found '', expected: identifier after ','", id="a comma at the end"),
        pytest.param(",app", "found ',', expected: !, identifier, or 'end of string'", id="a comma at the start"),
        pytest.param("app in web", "unable to parse requirement: found 'web' expected: '('", id="no bracket"),
        pytest.param(
            "app in (", "unable to parse requirement: found '', expected: ',', ')' or identifier", id="an open bracket"
        ),
        pytest.param(
            "app in (a,", "unable to parse requirement: found '', expected: ',', or identifier", id="an open list"
        ),
        pytest.param("app in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'", id="no comma"),
        pytest.param(
            "app web",
            "unable to parse requirement: found 'web', expected: in, notin, =, ==, !=, gt, lt",
            id="no operator",
        ),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="a lone exclamation mark"),
        pytest.param("!app=web", "found '=', expected: ',' or 'end of string'", id="a negation with a value"),
        pytest.param(
            "app===web", "unable to parse requirement: found '=', expected: identifier", id="three equal signs"
        ),
        pytest.param(
            "/zone=a",
            'unable to parse requirement: <nil>: Invalid value: "/zone": prefix part must be non-empty',
            id="a bad key",
        ),
        pytest.param(
            "n>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="a comparison with text",
        ),
    ],
)
def test_refusing_text(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        pytest.param("n>5", "6", True, id="greater"),
        pytest.param("n>5", "5", False, id="equal is not greater"),
        pytest.param("n<5", "-3", True, id="negative labels are numbers"),
        pytest.param("n>5", "007", True, id="leading zeros are allowed"),
        pytest.param("n>5", "abc", False, id="text is no number"),
        pytest.param("n>5", "9223372036854775808", False, id="beyond an int64 is no number"),
    ],
)
def test_comparing_numbers(text: str, value: str, expected: bool) -> None:
    assert parse_selector(text).matches({"n": value}) is expected


@given(st.text(alphabet="ab1=!<>(), in\0\n-/", max_size=16))
def test_any_text_is_read_or_refused_and_what_is_written_reads_the_same(text: str) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert parse_selector(str(selector)) is selector
