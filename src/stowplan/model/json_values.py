"""JSON without a type, and the numbers in it, in a time that goes by its length alone.

msgspec itself takes a hundred times as long for a number near the ends of what a float can hold, such as 1e308, and
lets no other thread have a turn meanwhile: three megabytes of them would keep everybody waiting for eight seconds.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec


def number(text: str) -> float:
    """Read a number with a fraction or an exponent; the `float_hook` of every decoder that has values of any type."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


def read(data: bytes | bytearray | memoryview | str) -> Any:
    """Decode JSON. Raise ValueError or RecursionError."""
    return _ANY.decode(data)


def read_object(data: bytes | bytearray | memoryview | str) -> dict[str, Any]:
    """Decode JSON that is an object. Raise ValueError or RecursionError."""
    return _OBJECT.decode(data)


_ANY: Final = msgspec.json.Decoder(float_hook=number)
_OBJECT: Final = msgspec.json.Decoder(dict[str, Any], float_hook=number)
