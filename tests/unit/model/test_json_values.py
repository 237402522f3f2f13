"""JSON without a type: what numbers are read as, that none of them takes long, and what a merge patch does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stowplan.model import decode, json_values
from stowplan.model.json_values import merge_patch
from stowplan.model.pod import Pod


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("18446744073709551616", 18446744073709551616),
        ("1.5", 1.5),
        ("-0.0", 0.0),
        ("1e308", 1e308),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
    ],
)
def test_numbers_are_what_they_say(text: str, expected: float) -> None:
    assert json_values.read(f'{{"a": [{text}]}}') == {"a": [expected]}
    assert json_values.read_object(f'{{"a": [{text}]}}') == {"a": [expected]}


@pytest.mark.parametrize("text", ["1e309", "-1e999", "1.8e308"])
def test_a_number_that_no_float_can_hold_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="Number out of range"):
        json_values.read(text)


def test_an_object_is_an_object() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `object`, got `array`"):
        json_values.read_object("[1]")


@pytest.mark.parametrize(
    "decoder",
    [
        pytest.param(json_values._ANY, id="of any value"),
        pytest.param(json_values._OBJECT, id="of an object"),
        pytest.param(decode.decoder(Pod), id="of a kind, which may have any value in it"),
    ],
)
def test_numbers_are_not_left_to_msgspec(decoder: msgspec.json.Decoder[Any]) -> None:
    # It takes 500 times as long for 1e308 as for 1e108.
    assert decoder.float_hook is json_values.number


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="a member is replaced"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="a member is added"),
        pytest.param({"a": "b"}, {"a": None}, {}, id="a member is removed"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="one of two members is removed"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="an array is replaced by a string"),
        pytest.param({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="a string is replaced by an array"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="objects are merged"),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="arrays are not merged"),
        pytest.param(["a", "b"], ["c", "d"], ["c", "d"], id="a root array is replaced"),
        pytest.param({"a": "b"}, ["c"], ["c"], id="a root object is replaced by an array"),
        pytest.param({"a": "foo"}, None, None, id="null replaces all"),
        pytest.param({"a": "foo"}, "bar", "bar", id="a string replaces all"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="a null of the original stays"),
        pytest.param([1, 2], {"a": "b", "c": None}, {"a": "b"}, id="an array becomes an object"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="nulls of a new object are left out"),
    ],
)
def test_a_patch_is_laid_over(original: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(original, patch) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1, "b": {"a": 2}}', [], id="a name in two objects"),
        pytest.param('{"a": 1, "a": 1}', ["a"], id="at the top"),
        pytest.param('{"a": 1, "a": 2, "a": 3}', ["a"], id="three times is told once"),
        pytest.param('{"a": [{}, {"b": {"c": 1, "\\u0063": 2}}]}', ["a[1].b.c"], id="in a list, spelt another way"),
        pytest.param('{"a": {"b": 1, "b": 2}, "c": 1, "a": {}, "c": 2}', ["a.b", "a", "c"], id="in the order told"),
        pytest.param('{"b": "\\u003a", "a": 1, "a": 2}', ["a"], id="beside a colon that is spelt another way"),
        pytest.param('{"b": "::", "a:": 1, "a:": ":"}', ["a:"], id="with colons of its own"),
        pytest.param('{"a": 123456789012345678901234, "a": 1}', ["a"], id="beside a number that cannot be written"),
        pytest.param('{"a": ":", "b:": [{"c": "a: b"}]}', [], id="colons in texts and in names"),
        pytest.param("[" * 5000 + "]" * 5000, [], id="too deep to look at"),
        pytest.param("a: 1\na: 2", [], id="not JSON"),
    ],
)
def test_fields_that_are_given_again_are_found(text: str, expected: list[str]) -> None:
    assert json_values.repeated(text.encode()) == expected


def test_of_very_much_that_is_given_again_the_first_is_told() -> None:
    pairs = '{"a": 1, "a": 2},' * 50_000
    long = "x" * 200_000
    assert json_values.repeated(f'{{"{long}": [{pairs}0]}}'.encode()) == [f"{long}[0].a"]
    assert len(json_values.repeated(f"[{pairs}0]".encode())) == 8_331
