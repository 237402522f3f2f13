"""Who sends bytes that are no HTTP to the scheduler's pages is answered, and leaves nothing in the log."""

import asyncio
import logging

import pytest

from stowplan.local.pages import PagesOptions, serve_pages
from stowplan.serving.connection_log import connection_log
from tests.unit.serving.test_server import make_pages


async def answered(sent: bytes) -> bytes:
    """Send bytes to the pages; return what comes back until the connection is closed."""
    server = await serve_pages(make_pages({}), PagesOptions("127.0.0.1", "", None))
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer
    finally:
        await server.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET /\xe5 HTTP/1.1\r\nHost: a\r\n\r\n", id="a byte that no target has"),
        pytest.param(b"GET / HTTP/9\r\n\r\n", id="a version that there is not"),
        pytest.param(b"GET /healthz?x=" + b"y" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", id="too long"),
    ],
)
def test_damaged_requests_are_refused_and_not_logged(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    answer = asyncio.run(answered(sent))
    assert answer.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_faults_of_our_own_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise KeyError("x")
    except KeyError:
        connection_log().exception("Error handling request")
    assert [record.getMessage() for record in caplog.records] == ["Error handling request"]
