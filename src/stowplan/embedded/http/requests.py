"""HTTP/1.1 requests from bytes: as much of it as an API server on loopback needs, and no leniency.

Bodies are small (`BODY_LIMIT_BYTES`) and always wanted whole, so a request is complete or not there yet.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

import msgspec

from stowplan.embedded.errors import StatusError, bad_request

BODY_LIMIT_BYTES: Final = 3 * 1024 * 1024
_HEAD_LIMIT_BYTES: Final = 64 * 1024
_HEAD_END: Final = b"\r\n\r\n"
_LINE_END: Final = b"\r\n"
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VERSION: Final = re.compile(r"HTTP/1\.[01]")
_HEX: Final = re.compile(rb"[0-9A-Fa-f]{1,8}")
#: Decompresses what begins like gzip or like zlib.
_ANY_WINDOW: Final = zlib.MAX_WBITS | 32


class Request(msgspec.Struct, frozen=True):
    """One request with its whole body; the names of headers are in small letters."""

    method: str
    #: Path and query, as they were sent.
    target: str
    headers: dict[str, str]
    body: bytes
    is_last: bool


class RequestReader:
    """Takes bytes as they arrive and gives requests as they are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str], bool] | None = None
        self._chunks: _Chunks | None = None
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._buffer += data

    @property
    def held_bytes(self) -> int:
        """How much has arrived that is not part of a request taken yet."""
        return len(self._buffer)

    def take_permission(self) -> bool:
        """Whether a client waits to be told that it may send the body; it is to be told once."""
        return self._head is not None and self._head[2].pop("expect", "").lower() == "100-continue"

    def take(self) -> Request | None:
        """The next complete request. Raise StatusError if what was sent is none; nothing can be read after that."""
        if self._head is None and not self._read_head():
            return None
        body = self._chunks.take(self._buffer) if self._chunks else self._take_sized()
        if body is None or self._head is None:
            return None
        method, target, headers, is_last = self._head
        self._head, self._chunks = None, None
        return Request(method, target, headers, _decompressed(body, headers), is_last)

    def _read_head(self) -> bool:
        end = self._buffer.find(_HEAD_END, 0, _HEAD_LIMIT_BYTES)
        if end < 0:
            if len(self._buffer) >= _HEAD_LIMIT_BYTES:
                problem = f"the headers of the request are longer than {_HEAD_LIMIT_BYTES} bytes"
                raise StatusError(431, "RequestHeaderFieldsTooLarge", problem)
            return False
        text = self._buffer[:end].decode("latin-1")
        del self._buffer[: end + len(_HEAD_END)]
        self._head = _parse_head(text)
        self._prepare_body(self._head[2])
        return True

    def _prepare_body(self, headers: dict[str, str]) -> None:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length", "0")
        self._size = 0
        if coding is not None:
            if coding.lower() != "chunked" or "content-length" in headers:
                raise bad_request("the length of the body is unclear: give a Content-Length or send it in chunks")
            self._chunks = _Chunks()
        elif not (length.isascii() and length.isdigit() and len(length) < 20):
            raise bad_request(f"Content-Length is not a number: {length!r}")
        else:
            self._size = int(length)
            _check_size(self._size)

    def _take_sized(self) -> bytes | None:
        if len(self._buffer) < self._size:
            return None
        body = bytes(self._buffer[: self._size])
        del self._buffer[: self._size]
        return body


class _Chunks:
    """A body in chunks, put together."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._is_ending = False

    def take(self, buffer: bytearray) -> bytes | None:
        """Use up what is there of the body; the whole of it if it is complete."""
        while not self._is_ending:
            end = buffer.find(_LINE_END)
            if end < 0:
                _wait(buffer)
                return None
            digits = bytes(buffer[:end]).partition(b";")[0].strip()
            if not _HEX.fullmatch(digits):
                raise _not_in_chunks()
            size = int(digits, 16)
            _check_size(len(self._body) + size)
            if size == 0:
                self._is_ending = True
                del buffer[: end + 2]
            elif not self._take_chunk(buffer, end + 2, size):
                return None
        return self._take_trailers(buffer)

    def _take_chunk(self, buffer: bytearray, start: int, size: int) -> bool:
        if len(buffer) < start + size + 2:
            return False
        if buffer[start + size : start + size + 2] != _LINE_END:
            raise _not_in_chunks()
        self._body += buffer[start : start + size]
        del buffer[: start + size + 2]
        return True

    def _take_trailers(self, buffer: bytearray) -> bytes | None:
        while (end := buffer.find(_LINE_END)) >= 0:
            del buffer[: end + 2]
            if end == 0:
                return bytes(self._body)
        _wait(buffer)
        return None


def _wait(buffer: bytearray) -> None:
    """Wait for the end of a line, but not for ever."""
    if len(buffer) >= _HEAD_LIMIT_BYTES:
        raise _not_in_chunks()


def _not_in_chunks() -> StatusError:
    return bad_request("the body of the request is not in chunks as announced")


def _check_size(size: int) -> None:
    if size > BODY_LIMIT_BYTES:
        problem = f"Request entity too large: limit is {BODY_LIMIT_BYTES}"
        raise StatusError(413, "RequestEntityTooLarge", problem)


def _parse_head(text: str) -> tuple[str, str, dict[str, str], bool]:
    """Method, target, headers, and whether the connection ends after this request."""
    first, *lines = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]) or not words[1] or not _VERSION.fullmatch(words[2]):
        raise bad_request("this is not a request of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name):
            raise bad_request("a header of the request cannot be read")
        name, value = name.lower(), value.strip(" \t")
        if name in headers and name in ("content-length", "transfer-encoding"):
            raise bad_request(f"{name} is given twice")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    connection = headers.get("connection", "").lower()
    is_last = "close" in connection or (words[2] == "HTTP/1.0" and "keep-alive" not in connection)
    return words[0], _origin_form(words[1]), headers, is_last


def _origin_form(target: str) -> str:
    """Path and query; clients of proxies name the server as well."""
    if target.startswith("/"):
        return target
    _, separator, rest = target.partition("://")
    return "/" + rest.partition("/")[2] if separator else "/" + target


def _decompressed(body: bytes, headers: dict[str, str]) -> bytes:
    coding = headers.get("content-encoding", "identity").lower()
    if coding == "identity" or not body:
        return body
    if coding not in ("gzip", "deflate"):
        problem = f"the body of the request is encoded as {coding!r}: send it as it is, or as gzip"
        raise StatusError(415, "UnsupportedMediaType", problem)
    unpacking = zlib.decompressobj(_ANY_WINDOW)
    try:
        result = unpacking.decompress(body, BODY_LIMIT_BYTES + 1)
    except zlib.error as error:
        raise bad_request(f"the body of the request is not {coding}: {error}") from None
    _check_size(len(result))
    if not unpacking.eof:
        raise bad_request(f"the body of the request is not {coding}: it breaks off")
    return result
