"""JSON without a type: what numbers are read as, and that none of them takes long."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stowplan.model import decode, json_values
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
        pytest.param(decode._decoder(Pod), id="of a kind, which may have any value in it"),
    ],
)
def test_numbers_are_not_left_to_msgspec(decoder: msgspec.json.Decoder[Any]) -> None:
    # It takes 500 times as long for 1e308 as for 1e108.
    assert decoder.float_hook is json_values.number
