"""Quantities: reading, rounding, writing, comparing and adding."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.model.quantity import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, Quantity, QuantityError

INT64_MAX = 9223372036854775807
INT64_MIN = -9223372036854775808
WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("text", "value", "milli_value", "format"),
    [
        pytest.param("100m", 1, 100, DECIMAL_SI, id="a tenth counts as one whole unit"),
        pytest.param("2Gi", 2147483648, 2147483648000, BINARY_SI, id="binary suffixes are powers of 1024"),
        pytest.param("1e3", 1000, 1000000, DECIMAL_EXPONENT, id="an exponent is a format of its own"),
        pytest.param("1E", 10**18, INT64_MAX, DECIMAL_SI, id="a bare E is exa and its milli value saturates"),
        pytest.param("1n", 1, 1, DECIMAL_SI, id="a billionth still counts as one"),
        pytest.param("-0.5", -1, -500, DECIMAL_SI, id="negative amounts round away from zero"),
        pytest.param(".", 0, 0, DECIMAL_SI, id="a lone dot is zero"),
        pytest.param("Mi", 0, 0, BINARY_SI, id="a lone suffix is zero"),
        pytest.param("8Ei", INT64_MAX, INT64_MAX, BINARY_SI, id="binary amounts saturate when read"),
        pytest.param("0.1Ki", 103, 102400, BINARY_SI, id="a binary fraction rounds up"),
        pytest.param(".000001Ki", 1, 2, DECIMAL_SI, id="a binary amount below one is decimal"),
        pytest.param("-.000001Ki", 1, 0, DECIMAL_SI, id="a negative one, too, divided as upstream does"),
        pytest.param("0.0001Ki", 1, 103, DECIMAL_SI, id="a binary amount below one becomes decimal"),
        pytest.param("1e2000000000", INT64_MAX, INT64_MAX, DECIMAL_EXPONENT, id="an absurd exponent saturates"),
        pytest.param("1e-2000000000", 1, 1, DECIMAL_EXPONENT, id="an absurdly small amount is a billionth"),
        pytest.param("-1e40", INT64_MIN, INT64_MIN, DECIMAL_EXPONENT, id="negative amounts saturate below"),
        pytest.param("-251.4Ki", -257432, -257433600, BINARY_SI, id="negative big decimals divide as upstream does"),
    ],
)
def test_reading(text: str, value: int, milli_value: int, format: str) -> None:
    quantity = Quantity.parse(text)
    assert (quantity.value, quantity.milli_value, quantity.format) == (value, milli_value, format)


@pytest.mark.parametrize(
    ("text", "counted", "milli_counted"),
    [
        pytest.param("1500m", 2, 1500, id="what an int64 holds is rounded up"),
        pytest.param("9223372036854775", 9223372036854775, 9223372036854775000, id="the largest that has thousandths"),
        pytest.param("9223372036854776", 9223372036854776, -9223372036854775616, id="thousandths overflow"),
        pytest.param("1E", 10**18, 0, id="thousandths of a multiple of a power of ten come to nothing"),
        pytest.param("10E", 0, 0, id="as do more units than an int64 holds"),
        pytest.param("8Ei", INT64_MAX, -1000, id="a binary amount is as large as may be, its thousandths overflow"),
        pytest.param("9223372036854775808", INT64_MIN, 0, id="one more than the largest is the smallest"),
        pytest.param("18446744073709551617", 1, 1000, id="twice round"),
        pytest.param("-10E", 0, 0, id="negative powers of ten come to nothing, too"),
    ],
)
def test_counting(text: str, counted: int, milli_counted: int) -> None:
    quantity = Quantity.parse(text)
    assert (quantity.counted, quantity.milli_counted) == (counted, milli_counted)


@pytest.mark.parametrize(
    ("one", "other", "counted", "milli_counted"),
    [
        pytest.param("4Ei", "4Ei", INT64_MIN, 0, id="a sum beyond an int64"),
        pytest.param("5E", "5E", 0, 0, id="a sum of multiples of a power of ten comes to nothing"),
        pytest.param("9223372036854775807m", "1m", 9223372036854776, INT64_MIN, id="a sum of thousandths"),
    ],
)
def test_sums_are_counted(one: str, other: str, counted: int, milli_counted: int) -> None:
    total = Quantity.parse(one) + Quantity.parse(other)
    assert (total.counted, total.milli_counted) == (counted, milli_counted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", WRONG_FORMAT, id="nothing"),
        pytest.param(" 1", WRONG_FORMAT, id="a leading space"),
        pytest.param("1\n", WRONG_FORMAT, id="a trailing newline"),
        pytest.param("1.2.3", WRONG_FORMAT, id="two dots"),
        pytest.param("1٣", WRONG_FORMAT, id="digits of another script"),
        pytest.param("1K", "unable to parse quantity's suffix", id="kilo is a small k"),
        pytest.param("1e", "unable to parse quantity's suffix", id="an exponent without digits"),
        pytest.param("1e99999999999999999999", "unable to parse quantity's suffix", id="an exponent beyond an int64"),
        pytest.param("e-10", "unable to parse numeric part of quantity", id="a small exponent of nothing"),
        pytest.param("-.Ei", "unable to parse numeric part of quantity", id="a large binary suffix of nothing"),
        pytest.param("9" * 5000, "unable to parse numeric part of quantity", id="thousands of digits"),
    ],
)
def test_refusing(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "written", "canonical"),
    [
        pytest.param("+1", "+1", "1", id="text that is read exactly is kept"),
        pytest.param("0.5", "500m", "500m", id="a leading zero is not kept"),
        pytest.param("1000", "1k", "1k", id="thousands move into the suffix"),
        pytest.param("2048Ki", "2Mi", "2Mi", id="binary thousands move into the suffix"),
        pytest.param("1023", "1023", "1023", id="a plain number stays plain"),
        pytest.param("1.5Gi", "1536Mi", "1536Mi", id="a binary fraction finds a smaller suffix"),
        pytest.param("0.5Ki", "512", "512", id="binary below 1024 is written plain"),
        pytest.param("8.626e-2", "86260e-6", "86260e-6", id="exponents come in threes"),
        pytest.param("0Gi", "0", "0", id="zero has no suffix"),
        pytest.param(
            "1234567890123456789012", "1234567890123456789012", "1234567890123456789012", id="beyond an int64"
        ),
    ],
)
def test_writing(text: str, written: str, canonical: str) -> None:
    quantity = Quantity.parse(text)
    assert (str(quantity), quantity.canonical) == (written, canonical)


@pytest.mark.parametrize(
    ("a", "b", "order", "total"),
    [
        pytest.param("1500m", "1024", -1, "1025500m", id="the sum has the format of the first"),
        pytest.param("0", "2Gi", -1, "2Gi", id="unless the first is zero"),
        pytest.param("1Ki", "1", 1, "1025", id="a sum that is no multiple of 1024 is plain"),
        pytest.param("1", "1000m", 0, "2", id="equal in different spellings"),
        pytest.param("-1", "1", -1, "0", id="opposites cancel"),
        pytest.param("1e2000000000", "1", 1, "100e1999999998", id="a sum beyond all digits keeps its larger part"),
    ],
)
def test_arithmetic(a: str, b: str, order: int, total: str) -> None:
    first, second = Quantity.parse(a), Quantity.parse(b)
    assert (first.compare(second), second.compare(first), str(first + second)) == (order, -order, total)


def test_equal_numbers_are_equal_and_hash_alike_however_written() -> None:
    same = {
        Quantity.parse("1"),
        Quantity.parse("1000m"),
        Quantity.parse("1e0"),
        Quantity.of(1),
        Quantity.of_milli(1000),
    }
    assert len(same) == 1
    assert Quantity.parse("1") != "1"


def test_the_same_text_gives_the_same_object() -> None:
    assert Quantity.parse("1234Mi") is Quantity.parse("1234Mi")


def test_a_quantity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Quantity.parse("1").value = 2


def test_a_quantity_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(Quantity.parse("1.5Gi")))
    assert (copy.value, str(copy)) == (1610612736, "1536Mi")


numbers = st.builds("{}{}".format, st.integers(-(10**12), 10**12), st.sampled_from(["", "m", "k", "Ki", "Gi", "e2"]))


@given(numbers, numbers)
def test_subtracting_undoes_adding(a: str, b: str) -> None:
    first, second = Quantity.parse(a), Quantity.parse(b)
    assert (first + second) - second == first
    assert first - second == -(second - first)
    assert (first < second, first == second, first > second).count(True) == 1


@given(numbers)
def test_what_is_written_reads_as_the_same_number(text: str) -> None:
    quantity = Quantity.parse(text)
    assert Quantity.parse(quantity.canonical) == quantity
    assert Quantity.parse(str(quantity)) == quantity


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        quantity = Quantity.parse(text)
    except QuantityError:
        return
    assert INT64_MIN <= quantity.value <= INT64_MAX
    assert str(quantity + quantity)
