"""HTTP/1.1 answers, put together from pieces as they come: a head, then a body by length, in chunks, or to the end.

`lanes.py` has the connections that they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from multidict import CIMultiDict

_END_OF_HEAD: Final = b"\r\n\r\n"
_MOST_HEAD_BYTES: Final = 2**16
_MOST_CHUNK_HEAD_BYTES: Final = 2**12
_WITHOUT_BODY: Final = (204, 304)
_UNTIL_CLOSED: Final = -1
_IN_CHUNKS: Final = -2


class Answer(msgspec.Struct, frozen=True):
    """What the server said, whatever it was."""

    code: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class BrokenAnswerError(ValueError):
    """What came is no answer in HTTP."""


class AnswerReader:
    """Reads one answer. `keeps_alive` tells whether the connection can be used for the next request."""

    def __init__(self) -> None:
        self.keeps_alive = False
        self._data = bytearray()
        self._head: Answer | None = None
        self._length = 0
        # Where in a body of chunks the next one begins, and those that are whole.
        self._next = 0
        self._chunks: list[bytes] = []

    def feed(self, piece: bytes) -> Answer | None:
        """Take in a piece; return the answer if that completes it."""
        self._data += piece
        while self._head is None or self._head.code < 200:
            if not self._take_head():
                return None
        if self._length == _IN_CHUNKS:
            return self._take_chunks(self._head)
        if self._length == _UNTIL_CLOSED or len(self._data) < self._length:
            return None
        return self._whole(self._head, self._length, bytes(self._data[: self._length]))

    def end(self) -> Answer | None:
        """The server has closed the connection; return the answer if that completes it."""
        if self._head is None or self._length != _UNTIL_CLOSED:
            return None
        return self._whole(self._head, len(self._data), bytes(self._data))

    def _take_head(self) -> bool:
        end = self._data.find(_END_OF_HEAD)
        if end < 0:
            if len(self._data) > _MOST_HEAD_BYTES:
                raise BrokenAnswerError(f"the head of the answer does not end within {_MOST_HEAD_BYTES} bytes")
            return False
        first, *lines = self._data[:end].decode("latin-1").split("\r\n")
        del self._data[: end + len(_END_OF_HEAD)]
        version, code, reason = _status(first)
        headers = CIMultiDict(_field(line) for line in lines)
        self._head = Answer(code, reason, headers, b"")
        self._length = _length(code, headers)
        is_kept = version == "HTTP/1.1" and headers.get("Connection", "").lower() != "close"
        self.keeps_alive = is_kept and self._length != _UNTIL_CLOSED
        return True

    def _take_chunks(self, head: Answer) -> Answer | None:
        while (end := self._data.find(b"\r\n", self._next)) >= 0:
            size = _number(self._data[self._next : end].partition(b";")[0], 16)
            start = end + 2
            if size == 0:
                return self._take_trailer(head, end)
            if len(self._data) < start + size + 2:
                return None
            self._chunks.append(bytes(self._data[start : start + size]))
            self._next = start + size + 2
        if len(self._data) - self._next > _MOST_CHUNK_HEAD_BYTES:
            raise BrokenAnswerError("a chunk of the answer does not say how long it is")
        return None

    def _take_trailer(self, head: Answer, start: int) -> Answer | None:
        """Skip what may follow the last chunk, up to an empty line."""
        end = self._data.find(_END_OF_HEAD, start)
        return self._whole(head, end + len(_END_OF_HEAD), b"".join(self._chunks)) if end >= 0 else None

    def _whole(self, head: Answer, length: int, body: bytes) -> Answer:
        if len(self._data) > length:
            # More than was asked for: whatever it is, it does not answer the next request.
            self.keeps_alive = False
        return Answer(head.code, head.reason, head.headers, body)


def _status(line: str) -> tuple[str, int, str]:
    version, _, rest = line.partition(" ")
    code, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or len(code) != 3:
        raise BrokenAnswerError(f"expected an answer in HTTP/1.1, got {line[:80]!r}")
    return version, _number(code.encode("latin-1"), 10), reason


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BrokenAnswerError(f"expected a header, got {line[:80]!r}")
    return name, value.strip()


def _length(code: int, headers: Mapping[str, str]) -> int:
    if code in _WITHOUT_BODY:
        return 0
    if headers.get("Transfer-Encoding", "").lower() == "chunked":
        return _IN_CHUNKS
    length = headers.get("Content-Length")
    return _UNTIL_CLOSED if length is None else _number(length.encode("latin-1"), 10)


def _number(text: bytes | bytearray, base: int) -> int:
    # int() takes signs, spaces and underscores too; only digits are meant.
    stripped = bytes(text).strip()
    if not stripped.isalnum():
        raise BrokenAnswerError(f"expected a number in the head of an answer or chunk, got {stripped[:20]!r}")
    try:
        return int(stripped, base)
    except ValueError:
        raise BrokenAnswerError(f"expected a number in the head of an answer or chunk, got {stripped[:20]!r}") from None
