"""Quantities: exact amounts of resources, compared, added and rounded as Kubernetes does. No floats anywhere.

`quantity_text.py` knows how they are spelled. Columns use `value` and `milli_value`, which fit an int64.
"""

from __future__ import annotations

from functools import lru_cache

from stowplan.model import quantity_text
from stowplan.model.quantity_text import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, INT64_MAX, Amount, QuantityError

__all__ = ["BINARY_SI", "DECIMAL_EXPONENT", "DECIMAL_SI", "Quantity", "QuantityError"]

INT64_MIN = -INT64_MAX - 1
# Upstream multiplies by other powers of ten digit by digit, and says 0 where that overflows.
_WRAPPING_SCALES = (1, 2, 3, 6, 9)
# A sum that would need more digits than this keeps only its larger part: exponents must not eat the memory.
_MAX_SPAN = 2000
# So far apart, magnitudes decide an order in spite of being rough.
_CLEAR_LEAD = 20
# A longer text is read each time: so many of them are remembered that nobody may choose how large they are.
_LONGEST_KEPT = 64


def as_int64(number: int) -> int:
    """Return a whole number as an int64 keeps it: beyond its bounds it comes out at the other end."""
    return number if INT64_MIN <= number <= INT64_MAX else (number - INT64_MIN) % 2**64 + INT64_MIN


class Quantity:
    """An immutable exact number with the suffix family it is written in.

    `value` and `milli_value` round away from zero and saturate at the bounds of an int64. Equality and order are
    those of the number: `Quantity.parse("1") == Quantity.parse("1000m")`.
    """

    __slots__ = ("_amount", "_text", "milli_value", "value")

    _amount: Amount
    _text: str | None
    value: int
    milli_value: int

    def __init__(self, amount: Amount) -> None:
        put = object.__setattr__
        put(self, "_amount", amount)
        put(self, "_text", amount.text)
        put(self, "value", _scaled(amount, 0))
        put(self, "milli_value", _scaled(amount, 3))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Quantity is immutable: cannot set {name!r}")

    @staticmethod
    def parse(text: str) -> Quantity:
        """Read a quantity; the same text gives the same object. Raise QuantityError with upstream's words."""
        return _parse(text) if len(text) <= _LONGEST_KEPT else _parse.__wrapped__(text)

    @staticmethod
    def of(number: int, format: str = DECIMAL_SI) -> Quantity:
        """A whole number of units."""
        return Quantity(Amount(number, 0, format))

    @staticmethod
    def of_milli(number: int, format: str = DECIMAL_SI) -> Quantity:
        """A number of thousandths."""
        return Quantity(Amount(number, -3, format))

    @staticmethod
    def zero() -> Quantity:
        return _parse("0")

    @property
    def counted(self) -> int:
        """The number as the scheduler counts it: as `value`, but overflowing as upstream's does."""
        return self.value if INT64_MIN < self.value < INT64_MAX else _overflowing(self._amount, 0)

    @property
    def milli_counted(self) -> int:
        """The thousandths as the scheduler counts them: as `milli_value`, but overflowing as upstream's do."""
        return self.milli_value if INT64_MIN < self.milli_value < INT64_MAX else _overflowing(self._amount, 3)

    @property
    def format(self) -> str:
        return self._amount.format

    @property
    def canonical(self) -> str:
        """The one text for this number in this format."""
        return quantity_text.write(self._amount)

    @property
    def is_zero(self) -> bool:
        return self._amount.unscaled == 0

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return _sign(self._amount.unscaled)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1 as this number is smaller than, equal to or greater than the other."""
        return _compare(self._amount, other._amount)

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = self.canonical
            object.__setattr__(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self is other or self.compare(other) == 0

    def __hash__(self) -> int:
        # Equal numbers hash alike, however they are written: compare without trailing zeros.
        if self.is_zero:
            return hash((0, 0))
        digits = str(self._amount.unscaled).rstrip("0")
        return hash((digits, self._amount.scale + len(str(self._amount.unscaled)) - len(digits)))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the format of the first unless that is zero."""
        return Quantity(_add(self._amount, other._amount))

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(_add(self._amount, _negate(other._amount)))

    def __mul__(self, other: Quantity) -> Quantity:
        """Return the exact product, written as this quantity is."""
        ours, theirs = self._amount, other._amount
        product = ours.unscaled * theirs.unscaled
        is_wide = ours.is_wide or theirs.is_wide or abs(product) > INT64_MAX
        return Quantity(Amount(product, ours.scale + theirs.scale, ours.format, is_wide=is_wide))

    def __neg__(self) -> Quantity:
        return Quantity(_negate(self._amount))

    def __reduce__(self) -> tuple[type[Quantity], tuple[Amount]]:
        return Quantity, (self._amount,)


@lru_cache(maxsize=65536)
def _parse(text: str) -> Quantity:
    return Quantity(quantity_text.read(text))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _negate(amount: Amount) -> Amount:
    return amount._replace(unscaled=-amount.unscaled, text=None)


def _scaled(amount: Amount, places: int) -> int:
    """The number times 10**places, rounded away from zero and kept within an int64."""
    unscaled, scale = amount.unscaled, amount.scale + places
    if unscaled == 0 or scale == 0:
        number = unscaled
    elif scale < 0:
        number = quantity_text.divide_away_from_zero(unscaled, 10**-scale)
        if amount.is_wide and INT64_MIN <= number < 0:
            number = _divide_wide_negative(unscaled, -scale)
    else:
        # Any number times 10**19 is beyond an int64.
        number = unscaled * 10 ** min(scale, 19)
    return max(INT64_MIN, min(INT64_MAX, number))


def _divide_wide_negative(unscaled: int, places: int) -> int:
    """Upstream's division of negative big decimals: the low 64 bits, cut towards zero, one more for a remainder.

    No resource is negative, so only parity is at stake.
    """
    divisor: int = 10**places
    low = (unscaled - INT64_MIN) % 2**64 + INT64_MIN
    whole, remainder = divmod(abs(low), divisor)
    return whole * _sign(low) + (remainder > 0)


def _overflowing(amount: Amount, places: int) -> int:
    """The number times 10**places where it may be too large for an int64: what upstream's arithmetic leaves of it."""
    unscaled, scale = amount.unscaled, amount.scale + places
    if not amount.is_wide:
        if scale in _WRAPPING_SCALES:
            return as_int64(unscaled * 10**scale)
        return _scaled(amount, places) if scale <= 0 or abs(unscaled) * 10 ** min(scale, 19) <= INT64_MAX else 0
    if scale >= 0:
        # Powers of ten that are too large are the smallest number there is.
        return as_int64(unscaled * (10**scale if scale < 19 else INT64_MIN))
    if unscaled < 0 and scale > -19:
        return _divide_wide_negative(unscaled, -scale)
    whole, rest = divmod(unscaled, 10**-scale)
    return as_int64(whole + (rest > 0))


def _compare(a: Amount, b: Amount) -> int:
    if a.scale == b.scale:
        return _sign(a.unscaled - b.unscaled)
    signs = _sign(a.unscaled), _sign(b.unscaled)
    if signs[0] != signs[1]:
        return _sign(signs[0] - signs[1])
    lead = _magnitude(a) - _magnitude(b)
    if abs(lead) > _CLEAR_LEAD:
        return signs[0] * _sign(lead)
    scale = min(a.scale, b.scale)
    return _sign(_at_scale(a, scale) - _at_scale(b, scale))


def _add(a: Amount, b: Amount) -> Amount:
    if a.unscaled == 0:
        return b._replace(text=None)
    if b.unscaled == 0:
        return a._replace(text=None)
    scale = min(a.scale, b.scale)
    larger = a if _magnitude(a) >= _magnitude(b) else b
    if _magnitude(larger) - scale > _MAX_SPAN:
        return larger._replace(format=a.format, text=None)
    total = _at_scale(a, scale) + _at_scale(b, scale)
    return Amount(total, scale, a.format, is_wide=a.is_wide or b.is_wide or abs(total) > INT64_MAX)


def _magnitude(amount: Amount) -> int:
    """About the decimal exponent of the number, without writing it out."""
    return amount.unscaled.bit_length() * 3 // 10 + amount.scale


def _at_scale(amount: Amount, scale: int) -> int:
    return int(amount.unscaled * 10 ** (amount.scale - scale))
