"""Requests that are nearly right: sound ones with something flipped, left out, said twice or put in the wrong place."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

SOUND: Final = (
    b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost:6443\r\nAccept: application/json\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"HEAD /readyz HTTP/1.1\r\nHost: a\r\nUser-Agent: curl/8\r\n\r\n",
    b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n" + b'{"a": "b\\n"} ',
    b"PUT /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5;x=y\r\nhello\r\n0\r\n\r\n",
    b"PATCH /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
    b"DELETE /p?x=%20y HTTP/1.1\r\nHost: [::1]:6443\r\nContent-Length: 0\r\nX-A: b\r\nX-A: c\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://a/b?c HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x.y.z\r\n\r\n",
    b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nabc",
    b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET /q HTTP/1.1\r\nHost: a\r\n\r\n",
)
#: What makes readers differ.
_ODD: Final = (
    b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\n\n", b"\0", b"\t", b" ", b"  ", b":", b";", b",", b"\x0b", b"\x7f", b"\x80",
    b"\xff", b"0", b"+", b"-", b"0x", b"_", b"#", b"%", b"/", b"\\", b"@", b"chunked", b"identity", b"HTTP/1.1",
    b"HTTP/1.0", b"HTTP/2.0", b"00000000000000003", b"ffffffffffffffff", b"1\r\nx\r\n",
)  # fmt: skip
_LINES: Final = (
    b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", b"Content-Length: 03\r\n", b"Content-Length : 3\r\n",
    b"Content-Length: 3, 3\r\n", b"Content-Length: +3\r\n", b"Content-Length:\r\n", b"content-length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity\r\n", b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: chunked, chunked\r\n", b"Transfer-Encoding:\tchunked\r\n", b"Transfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding\r\n", b" folded\r\n", b"\tfolded\r\n", b"Host: b\r\n", b"Host: a\r\n", b"Host:\r\n",
    b": empty\r\n", b"Connection: close\r\n", b"Connection: keep-alive, close\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    b"Expect: 100-continue\r\n", b"X\x00: y\r\n", b"X: y\x00\r\n", b"X: \xe9\r\n", b"X\xe9: y\r\n", b"\r\n",
    b"0\r\n\r\n",
)  # fmt: skip
_METHODS: Final = (b"GET", b"get", b"POST", b"CONNECT", b"PRI", b"TRACE", b"G\xc9T", b"", b"FOO", b"GET\t", b"SOURCE")


def mutated(seed: int) -> bytes:
    """The mutation that a seed stands for."""
    draw = random.Random(seed)
    data = draw.choice(SOUND)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        data = draw.choice(_WAYS)(draw, data)
    return data


def _flip(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data) or 1)
    return data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]


def _insert(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice(_ODD) + data[place:]


def _delete(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data) or 1)
    return data[:place] + data[place + draw.choice((1, 1, 1, 2, 5)) :]


def _repeat_line(draw: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\r\n")
    place = draw.randrange(len(lines))
    return b"\r\n".join([*lines[:place], lines[place], *lines[place:]])


def _add_line(draw: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\r\n")
    place = draw.randrange(1, len(lines)) if len(lines) > 1 else 0
    return b"\r\n".join(lines[:place]) + b"\r\n" + draw.choice(_LINES) + b"\r\n".join(lines[place:])


def _end_lines_otherwise(draw: random.Random, data: bytes) -> bytes:
    parts = data.split(b"\r\n")
    place = draw.randrange(len(parts))
    end = draw.choice((b"\n", b"\r", b"\r\r\n", b"\n\r", b" \r\n"))
    return b"\r\n".join(parts[:place]) + end + b"\r\n".join(parts[place:])


def _call_otherwise(draw: random.Random, data: bytes) -> bytes:
    return draw.choice(_METHODS) + data[data.find(b" ") :] if b" " in data else data


def _put_together(draw: random.Random, data: bytes) -> bytes:
    return data + draw.choice(SOUND)


_WAYS: Final[tuple[Callable[[random.Random, bytes], bytes], ...]] = (
    _flip,
    _insert,
    _insert,
    _delete,
    _repeat_line,
    _add_line,
    _add_line,
    _end_lines_otherwise,
    _call_otherwise,
    _put_together,
)
