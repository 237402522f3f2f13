"""Requests are read from bytes however these are cut, and what is no request is refused."""

from __future__ import annotations

import gzip

import pytest

from stowplan.embedded.http.requests import BODY_LIMIT_BYTES, Request, RequestReader
from stowplan.embedded.objects.errors import StatusError

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = GET + b"Transfer-Encoding: chunked\r\n\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: x\r\n"
SIMPLE = b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n"
SIZED = POST + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"


def read_all(*pieces: bytes) -> list[Request]:
    reader, found = RequestReader(), []
    for piece in pieces:
        reader.feed(piece)
        while (request := reader.take()) is not None:
            found.append(request)
    return found


def test_a_request_has_method_target_and_headers_in_small_letters() -> None:
    (request,) = read_all(SIMPLE)
    assert (request.method, request.target) == ("GET", "/api/v1/pods?watch=1")
    assert request.headers == {"host": "x", "accept": "application/json"}
    assert (request.body, request.is_last) == (b"", False)


@pytest.mark.parametrize("data", [pytest.param(SIZED, id="sized"), pytest.param(CHUNKED, id="in chunks")])
def test_a_body_is_whole_however_it_arrives(data: bytes) -> None:
    assert [request.body for request in read_all(data)] == [b"hello"]
    single = [data[index : index + 1] for index in range(len(data))]
    assert [request.body for request in read_all(*single)] == [b"hello"]


def test_several_requests_may_arrive_at_once() -> None:
    assert [request.method for request in read_all(SIMPLE + CHUNKED + SIZED)] == ["GET", "POST", "POST"]


def test_a_packed_body_is_unpacked() -> None:
    body = gzip.compress(b"hello")
    head = POST + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert [request.body for request in read_all(head + body)] == [b"hello"]


@pytest.mark.parametrize(
    ("head", "is_last"),
    [
        pytest.param(GET + b"\r\n", False, id="1.1 goes on"),
        pytest.param(GET + b"Connection: close\r\n\r\n", True, id="1.1 that closes"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", True, id="1.0 ends"),
        pytest.param(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False, id="1.0 that goes on"),
    ],
)
def test_whether_the_connection_goes_on(head: bytes, is_last: bool) -> None:
    assert [request.is_last for request in read_all(head)] == [is_last]


def test_a_head_says_whether_the_client_waits_to_be_told_that_it_may_send_the_body() -> None:
    reader = RequestReader()
    reader.feed(POST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    assert reader.take() is None
    assert reader.head is not None
    assert reader.head.awaits_permission
    reader.feed(b"x")
    request = reader.take()
    assert request is not None
    assert request.body == b"x"


def test_the_server_may_be_named_in_the_target() -> None:
    (request,) = read_all(b"GET http://127.0.0.1:80/api/v1?x=y HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n")
    assert request.target == "/api/v1?x=y"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"\x16\x03\x01\x00\r\n\r\n", 400, id="TLS on a plain port"),
        pytest.param(b"GET / HTTP/2\r\n\r\n", 400, id="another version"),
        pytest.param(b"GET /a b HTTP/1.1\r\n\r\n", 400, id="a space in the path"),
        pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, id="a header without a colon"),
        pytest.param(b"GET / HTTP/1.1\r\na: b\r\n c\r\n\r\n", 400, id="a header in two lines"),
        pytest.param(GET + b"Content-Length : 1\r\n\r\n", 400, id="a space before the colon"),
        pytest.param(GET + b"a: b\0c\r\n\r\n", 400, id="a NUL in a value"),
        pytest.param(GET + b"a: b\nc: d\r\n\r\n", 400, id="a line feed in a value"),
        pytest.param(GET + b"a: b\rc: d\r\n\r\n", 400, id="a carriage return in a value"),
        pytest.param(b"GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="a control character in the path"),
        pytest.param(b"GET /?a=\x7f HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="another in the query"),
        pytest.param(GET + b"Content-Length: -1\r\n\r\n", 400, id="a negative length"),
        pytest.param(GET + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="two lengths"),
        pytest.param(
            GET + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
            id="a length and chunks",
        ),
        pytest.param(GET + b"Transfer-Encoding: gzip\r\n\r\n", 400, id="another transfer encoding"),
        pytest.param(CHUNKED + b"xyz\r\n", 400, id="a chunk without a size"),
        pytest.param(CHUNKED + b"1\r\nab\r\n", 400, id="a chunk too long"),
        *(
            pytest.param(CHUNKED + size + b"\r\nabcde\r\n0\r\n\r\n", 400, id=f"{size!r} for the size of a chunk")
            for size in (b"0x5", b"+5", b"-5", b" 5", b"5 ", b"5_", b"0_5", b"\xc2\xb2")
        ),
        pytest.param(CHUNKED + b"5\nabcde\r\n0\r\n\r\n", 400, id="a chunk whose line ends in a line feed alone"),
        pytest.param(
            GET + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n" + b"x" * (BODY_LIMIT_BYTES + 1),
            413,
            id="a huge chunk",
        ),
        pytest.param(GET + b"Content-Length: %d\r\n\r\n" % (BODY_LIMIT_BYTES + 1), 413, id="a huge body"),
        pytest.param(GET + b"x: " + b"y" * 70_000, 431, id="headers without end"),
        pytest.param(
            GET + b"Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
            415,
            id="another packing",
        ),
        pytest.param(GET + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 400, id="not packed"),
        pytest.param(
            POST + b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
            400,
            id="not packed, and another protocol is asked for",
        ),
    ],
)
def test_what_is_no_request_is_refused(data: bytes, code: int) -> None:
    reader = RequestReader()
    # Not yet: whoever feeds has answers of earlier requests to give.
    reader.feed(data)
    with pytest.raises(StatusError) as refused:
        list(iter(reader.take, None))
    assert refused.value.code == code


def test_a_body_that_unpacks_to_too_much_is_refused() -> None:
    body = gzip.compress(b"\0" * (BODY_LIMIT_BYTES + 1))
    head = POST + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    with pytest.raises(StatusError) as refused:
        read_all(head + body)
    assert refused.value.code == 413
