"""Numbers as Go programs read them from texts: `0x1F`, `010` (octal), `1_000`."""

from __future__ import annotations

import math
import re
from typing import Final

from stowplan.model.label_syntax import quoted

_WHOLE: Final = re.compile(r"[-+]?(?:0[bB][01]+|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_OCTAL: Final = re.compile(r"[-+]?0[0-7]+")
#: A single one, between digits or after what says the base.
_GROUPING: Final = re.compile("(?<=[0-9a-fA-FxXoO])_(?=[0-9a-fA-F])")
# No whole number of 64 bits is longer, whatever its base.
_LONGEST: Final = 80
_FLOAT32_LARGEST: Final = 3.4028235677973366e38


def whole(text: str) -> int | None:
    """Read a whole number in any base; None if the text is none, or one that nothing could hold."""
    if len(text) > _LONGEST or not _WHOLE.fullmatch(text):
        return None
    return int(text, 8 if _OCTAL.fullmatch(text) else 0)


def parse_int(text: str, bits: int = 64) -> int:
    """Read a signed number in any base; raise ValueError in Go's words."""
    number = whole(_GROUPING.sub("", text))
    if number is None:
        raise _fault("ParseInt", text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise _fault("ParseInt", text, "value out of range")
    return number


def parse_uint31(text: str) -> int:
    """Read a number without sign in base 10; raise ValueError in Go's words."""
    if not (text.isascii() and text.isdigit()):
        raise _fault("ParseUint", text)
    if len(text) > _LONGEST or int(text) >= 2**31:
        raise _fault("ParseUint", text, "value out of range")
    return int(text)


def parse_float32(text: str) -> float:
    """Read a number of 32 bits; raise ValueError in Go's words."""
    try:
        number = float(text)
    except ValueError:
        raise _fault("ParseFloat", text) from None
    if not text.isascii() or text != text.strip():
        raise _fault("ParseFloat", text)
    is_named = "n" in text.lower()
    if not is_named and (math.isinf(number) or abs(number) >= _FLOAT32_LARGEST):
        raise _fault("ParseFloat", text, "value out of range")
    return number


def _fault(function: str, text: str, problem: str = "invalid syntax") -> ValueError:
    return ValueError(f"strconv.{function}: parsing {quoted(text)}: {problem}")
