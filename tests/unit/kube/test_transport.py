"""Requests are written as HTTP/1.1 wants them, and nothing can slip into their head."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.kube.identity import Credentials, CredentialsError, Fixed
from stowplan.kube.transport import RequestHead

SERVER = "https://api.test:6443/clusters/a"


def written(
    verb: str, path: str, body: bytes | None = None, credentials: Credentials | None = None, kind: str = "text/x"
) -> bytes:
    letterhead = RequestHead(credentials or Credentials(SERVER, Fixed("")), {"User-Agent": "t"})
    return asyncio.run(letterhead.write(verb, path, body, kind))


@pytest.mark.parametrize(
    ("verb", "body", "text"),
    [
        pytest.param(
            "GET",
            None,
            b"GET /clusters/a/x?y=z HTTP/1.1\r\nHost: api.test:6443\r\nUser-Agent: t\r\n\r\n",
            id="a read has no body",
        ),
        pytest.param(
            "POST",
            b"{}",
            b"POST /clusters/a/x?y=z HTTP/1.1\r\nHost: api.test:6443\r\nUser-Agent: t\r\n"
            b"Content-Type: text/x\r\nContent-Length: 2\r\n\r\n{}",
            id="a body has a type and a length",
        ),
        pytest.param(
            "POST",
            None,
            b"POST /clusters/a/x?y=z HTTP/1.1\r\nHost: api.test:6443\r\nUser-Agent: t\r\nContent-Length: 0\r\n\r\n",
            id="a write without a body says so",
        ),
    ],
)
def test_a_request_is_written(verb: str, body: bytes | None, text: bytes) -> None:
    assert written(verb, "/x?y=z", body) == text


def test_credentials_are_shown() -> None:
    shown = Credentials(SERVER, Fixed("Bearer abc"), impersonation=(("Impersonate-User", "u"),))
    head = written("GET", "/x", credentials=shown).decode()
    assert "\r\nImpersonate-User: u\r\nAuthorization: Bearer abc\r\n\r\n" in head


def test_a_renewed_token_is_shown_from_then_on() -> None:
    class Renewing(Fixed):
        tokens = iter(("Bearer one", "Bearer two"))

        async def header(self) -> str:
            return next(self.tokens)

    async def work() -> list[bytes]:
        letterhead = RequestHead(Credentials(SERVER, Renewing("")), {})
        return [await letterhead.write("GET", "/x", None, "") for _ in range(2)]

    first, second = asyncio.run(work())
    assert b"Authorization: Bearer one\r\n" in first
    assert b"Authorization: Bearer two\r\n" in second


def test_a_token_with_a_line_break_is_refused() -> None:
    with pytest.raises(CredentialsError, match="header 'Authorization': its value has a line break"):
        written("GET", "/x", credentials=Credentials(SERVER, Fixed("Bearer a\r\nX: y")))


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/ä"])
def test_a_path_that_is_not_quoted_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="expected it to be quoted"):
        written("GET", path)
