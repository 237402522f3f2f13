"""Label selectors written as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.model.label_syntax import SelectorError
from stowplan.model.selectors import parse_selector


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
def test_refusing(text: str, message: str) -> None:
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
