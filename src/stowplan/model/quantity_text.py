"""How a quantity is spelled: reading `1500m`, `2Gi`, `3e6`, and the one canonical way of writing each.

The number itself is `unscaled * 10**scale`, exact. `quantity.py` wraps it with arithmetic.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"

INT64_MAX = 2**63 - 1
NANO = -9
# Python refuses to read or write integers beyond 4300 digits; no honest quantity comes near a thousand.
_MAX_DIGITS = 1000

_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_NAMES = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}
_TEXT = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")


class QuantityError(ValueError):
    """The text is not a quantity; the message is Kubernetes' own."""


class Amount(NamedTuple):
    """An exact number, the family of suffixes it is written with, and its text where that is to be kept.

    `is_wide` marks what upstream keeps as a big decimal rather than an int64 and a scale.
    """

    unscaled: int
    scale: int
    format: str
    text: str | None = None
    is_wide: bool = False


class _Digits(NamedTuple):
    """The scanned number: sign, whole part without leading zeros (at least "0"), fraction, any digit at all?"""

    sign: int
    whole: str
    fraction: str
    is_number: bool


def read(text: str) -> Amount:
    """Read a quantity, or raise QuantityError."""
    found = _TEXT.fullmatch(text)
    if not text or found is None:
        raise QuantityError(WRONG_FORMAT)
    sign, zeros, whole, fraction, suffix = found.groups(default="")
    digits = _Digits(-1 if sign == "-" else 1, whole or "0", fraction, bool(zeros or whole or fraction))
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise QuantityError(WRONG_NUMBER)
    format, exponent = _interpret(suffix)
    if format == BINARY_SI:
        return _read_binary(text, digits, exponent)
    return _read_decimal(text, digits, exponent, format)


def write(amount: Amount) -> str:
    """The canonical text: the largest suffix that leaves no fraction."""
    if amount.unscaled == 0:
        return "0"
    if amount.format == BINARY_SI and (whole := whole_from_1024(amount)) is not None:
        number, powers = _strip_factor(whole, 1024)
        return f"{number}{_BINARY_NAMES.get(powers * 10, '')}"
    number, powers = _strip_factor(amount.unscaled, 10)
    exponent = amount.scale + powers
    excess = exponent % 3
    number, exponent = number * 10**excess, exponent - excess
    if amount.format == DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    # Above exa there is no suffix and Kubernetes writes none; parity beats sense for numbers nobody has.
    return f"{number}{_DECIMAL_NAMES.get(exponent, '')}"


def whole_from_1024(amount: Amount) -> int | None:
    """The number as an integer of magnitude 1024 or more, None if it is smaller or has a fraction."""
    if amount.scale > _MAX_DIGITS:
        # Only a sum with an absurd exponent gets here: decimal notation writes it without expanding it.
        return None
    if amount.scale >= 0:
        whole, fraction = amount.unscaled * 10**amount.scale, 0
    else:
        whole, fraction = divmod(amount.unscaled, 10**-amount.scale)
    return whole if not fraction and abs(whole) >= 1024 else None


def divide_away_from_zero(number: int, divisor: int) -> int:
    """Divide by a positive divisor, rounding any remainder away from zero: who asks for a little gets a little."""
    return -(-number // divisor) if number > 0 else number // divisor


def _interpret(suffix: str) -> tuple[str, int]:
    """The format and the exponent (of 10, or of 2 for BinarySI) that a suffix stands for."""
    if suffix in _DECIMAL_SUFFIXES:
        return DECIMAL_SI, _DECIMAL_SUFFIXES[suffix]
    if suffix in _BINARY_SUFFIXES:
        return BINARY_SI, _BINARY_SUFFIXES[suffix]
    found = _EXPONENT.fullmatch(suffix)
    if found is None or len(found[1]) > 20 or not -(2**63) <= int(found[1]) < 2**63:
        raise QuantityError(WRONG_SUFFIX)
    # Upstream keeps the exponent in 32 bits.
    return DECIMAL_EXPONENT, (int(found[1]) + 2**31) % 2**32 - 2**31


def _read_decimal(text: str, digits: _Digits, exponent: int, format: str) -> Amount:
    """Decimal numbers are exact down to a billionth; anything finer is rounded up to one."""
    shifted = digits.whole + digits.fraction
    number = digits.sign * int(shifted)
    scale = exponent - len(digits.fraction)
    # Upstream's fast path: as many digits as an int64 can hold, and nothing below nano.
    if len(shifted) <= 18 and scale >= NANO:
        is_kept = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        return Amount(number, scale, format, text if is_kept else None)
    if not digits.is_number:
        raise QuantityError(WRONG_NUMBER)
    return Amount(*_round_to_nano(number, scale), format, is_wide=True)


def _read_binary(text: str, digits: _Digits, exponent: int) -> Amount:
    """Binary numbers are capped at the largest int64; below one they are written as decimals."""
    number = digits.sign * int(digits.whole + digits.fraction) * 2**exponent
    # Upstream's fast path: whole numbers whose digits, with those of the suffix, stay within 15.
    if not digits.fraction and len(digits.whole) + exponent * 3 // 10 <= 14:
        is_kept = int(digits.whole) & 0x07 != 0
        return Amount(number, 0, BINARY_SI, text if is_kept else None)
    if not digits.is_number:
        raise QuantityError(WRONG_NUMBER)
    unscaled, scale = _round_to_nano(number, -len(digits.fraction))
    one = 10**-scale
    if abs(unscaled) > INT64_MAX * one:
        return Amount(digits.sign * INT64_MAX, 0, BINARY_SI, is_wide=True)
    return Amount(unscaled, scale, DECIMAL_SI if 0 < abs(unscaled) < one else BINARY_SI, is_wide=True)


def _round_to_nano(number: int, scale: int) -> tuple[int, int]:
    """The number in billionths, rounded away from zero; one too large to be of use is left as it is."""
    shift = scale - NANO
    if number == 0 or shift > _MAX_DIGITS:
        return number, scale if number else 0
    if shift >= 0:
        return number * 10**shift, NANO
    if -shift > len(str(abs(number))):
        return (1 if number > 0 else -1), NANO
    return divide_away_from_zero(number, 10**-shift), NANO


def _strip_factor(number: int, factor: int) -> tuple[int, int]:
    """Divide `number` by `factor` as often as it goes; return the rest and how often."""
    times = 0
    while number % factor == 0:
        number, times = number // factor, times + 1
    return number, times
