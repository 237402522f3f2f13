"""Answers in HTTP/1.1 are read however they are cut, and whatever is none is refused."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.kube.connections import ApiAnswer, BrokenAnswerError, read_answer

CREATED = b"HTTP/1.1 201 Created\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n"
    b"C;name=value\r\n, old friend\r\n"
    b"0\r\nAudit-Id: 1\r\n\r\n"
)


def read(*pieces: bytes, is_closed: bool = False) -> tuple[ApiAnswer, bool]:
    """Feed pieces as they are asked for; return the answer, and whether the connection may be used again."""

    async def feed() -> tuple[ApiAnswer, bool]:
        coming = asyncio.StreamReader(2**16)
        reading = asyncio.ensure_future(read_answer(coming))
        for piece in pieces:
            await asyncio.sleep(0)
            assert not reading.done()
            coming.feed_data(piece)
        if is_closed:
            await asyncio.sleep(0)
            coming.feed_eof()
        return await reading

    return asyncio.run(feed())


def test_an_answer_has_code_reason_headers_and_body() -> None:
    answer, keeps_alive = read(CREATED)
    assert (answer.code, answer.reason, answer.body) == (201, "Created", b"{}")
    assert answer.headers.get("retry-after") == "3"
    assert keeps_alive


@pytest.mark.parametrize(
    ("text", "body"),
    [pytest.param(CREATED, b"{}", id="by length"), pytest.param(CHUNKED, b"hello, old friend", id="in chunks")],
)
def test_an_answer_may_come_byte_by_byte(text: bytes, body: bytes) -> None:
    answer, keeps_alive = read(*(text[number : number + 1] for number in range(len(text))))
    assert answer.body == body
    assert keeps_alive


@pytest.mark.parametrize(
    ("text", "body", "keeps_alive"),
    [
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", True, id="no content needs no length"),
        pytest.param(b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", b"x", True, id="a code without a reason"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + CREATED, b"{}", True, id="an interim answer is skipped"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 1\r\n\r\nx", b"x", False, id="the server closes"
        ),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x", False, id="an old server closes"),
        pytest.param(CREATED + b"HTTP/1.1 200 OK\r\n", b"{}", False, id="more came than was asked for"),
    ],
)
def test_when_an_answer_ends_and_whether_another_can_follow(text: bytes, body: bytes, keeps_alive: bool) -> None:
    answer, kept = read(text)
    assert (answer.body, kept) == (body, keeps_alive)


def test_without_a_length_the_end_of_the_connection_is_the_end_of_the_body() -> None:
    answer, keeps_alive = read(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>", b"</html>", is_closed=True)
    assert (answer.code, answer.body) == (502, b"<html></html>")
    assert not keeps_alive


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="half a head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", id="half a body"),
        pytest.param(CHUNKED[:-2], id="chunks without their end"),
    ],
)
def test_an_answer_that_breaks_off_is_none(start: bytes) -> None:
    with pytest.raises(EOFError):
        read(start, is_closed=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b"SSH-2.0-server\r\n\r\n", "expected an answer in HTTP/1.1, got 'SSH-2.0-server'", id="no HTTP"),
        pytest.param(b"HTTP/1.1 2xx OK\r\n\r\n", "expected a number .* got b'2xx'", id="a code that is no number"),
        pytest.param(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "expected a header, got 'nonsense'", id="no header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "got b'-1'", id="less than nothing"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "got b'zz'", id="a chunk of no length"
        ),
        pytest.param(b"x" * 70_000, "does not end within 65536 bytes", id="a head without an end"),
    ],
)
def test_what_is_no_answer_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(BrokenAnswerError, match=problem):
        read(text)
