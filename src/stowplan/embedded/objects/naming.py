"""What a new object is given: a uid, and a name where it asks for one to be made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: No vowels, so that no words come out.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_LONGEST_NAME: Final = 63

#: In a uid of version 4, thirteenth and seventeenth digit say what it is.
_FREE_BITS: Final = ~(0xF000_C000 << 48)
_FIXED_BITS: Final = 0x4000_8000 << 48

#: Gives that many random bits, like `random.Random.getrandbits`.
Draw = Callable[[int], int]


def make_uid(draw: Draw) -> str:
    # The version and the variant have fixed places; `uuid` would do the same at four times the price.
    digits = f"{draw(128) & _FREE_BITS | _FIXED_BITS:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def make_name(prefix: str, draw: Draw) -> str:
    """Complete a generateName; a prefix that leaves no room is cut."""
    bits, suffix = draw(64), ""
    for _ in range(_SUFFIX_LENGTH):
        bits, letter = divmod(bits, len(_LETTERS))
        suffix += _LETTERS[letter]
    return prefix[: _LONGEST_NAME - _SUFFIX_LENGTH] + suffix
