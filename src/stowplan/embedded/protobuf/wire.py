"""The protocol buffer wire format: numbered fields, each a number or some bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10


class MalformedMessageError(ValueError):
    """The bytes are not a message."""


class Walk:
    """Goes through the messages of one body, and counts what it sees: the smallest field takes two bytes to send."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen = 0

    def fields(self, message: bytes) -> Iterator[tuple[int, int | bytes]]:
        """Each field's number and value; fixed-size numbers come as their bytes. Raise MalformedMessageError."""
        position = 0
        while position < len(message):
            self._count()
            tag, position = _varint(message, position)
            number, kind = tag >> 3, tag & 7
            if kind == _VARINT:
                value, position = _varint(message, position)
                yield number, value
                continue
            if kind == _BYTES:
                size, position = _varint(message, position)
            elif kind in _FIXED_BYTES:
                size = _FIXED_BYTES[kind]
            else:
                raise MalformedMessageError(f"field {number} has the unknown wire type {kind}")
            if position + size > len(message):
                raise MalformedMessageError(f"field {number} ends after the message does")
            yield number, message[position : position + size]
            position += size

    def _count(self) -> None:
        self._seen += 1
        if self._seen > self._most:
            raise MalformedMessageError(f"it has more than {self._most} fields: send less, or send it as JSON")


def signed(value: int) -> int:
    """A number as the sender meant it: negative ones are sent as if 64 bits had no sign."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST_VARINT):
        if position + index >= len(message):
            break
        byte = message[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + index + 1
    raise MalformedMessageError("a number does not end")
