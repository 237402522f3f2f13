"""JSON without a type: what numbers are read as, and that none of them takes long."""

from __future__ import annotations

import time

import msgspec
import pytest

from stowplan.model import json_values


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


def test_a_number_at_the_end_of_what_floats_hold_takes_no_longer_than_others() -> None:
    extreme, usual = _seconds("1e308"), _seconds("1e108")
    # Twice as long is the noise of a busy machine; without the hook it is five hundred times.
    assert extreme < 20 * usual


def _seconds(text: str) -> float:
    document = f"[{','.join([text] * 20_000)}]"
    started = time.thread_time()
    json_values.read(document)
    return time.thread_time() - started
