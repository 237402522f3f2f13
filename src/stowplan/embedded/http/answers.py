"""Answers as the wire has them; and whatever goes wrong is an answer, too."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Final, Protocol

import msgspec

from stowplan.embedded.http.requests import Head, Request
from stowplan.embedded.identity.users import Certificate, User
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.incoming import JSON, Answer, Later, refusal
from stowplan.embedded.requests.watching import Watch

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"
#: Answers are for one reader, and what they say they are.
_EVERY_HEAD: Final = "Cache-Control: no-cache, private\r\nX-Content-Type-Options: nosniff\r\n"
_STREAM_HEAD: Final = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\n{_EVERY_HEAD}"
#: Warnings that are longer than this together are cut, each to the other length, as upstream cuts them.
_MOST_WARNED_CHARACTERS: Final = 4096
_LONGEST_WARNING: Final = 256
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_log = logging.getLogger(__name__)


class Admission(msgspec.Struct, frozen=True):
    """What was found out about a request before its body came: who asks, and why that is refused, if it is."""

    user: User
    problem: StatusError | None = None

    def __post_init__(self) -> None:
        if self.problem is not None:
            # Where it was found out, the request and its body are in hand, and so will be this.
            self.problem.__traceback__ = None


#: Answers a request of a client with this certificate; the last is what `Door.admit` said about its head, if anything.
Respond = Callable[[Request, Certificate, Admission | None], Answer | Later | Watch]


class Door(Protocol):
    """Who answers the requests of connections."""

    def admit(self, head: Head, certificate: Certificate) -> Admission:
        """Look who asks, before anything is done for them; whoever is refused is to be told by `respond`."""

    @property
    def respond(self) -> Respond: ...


def respond_safely(
    respond: Respond, request: Request, certificate: Certificate, admission: Admission | None = None
) -> Answer | Later | Watch:
    """Answer a request; whatever goes wrong is an answer, too."""
    try:
        return respond(request, certificate, admission)
    except StatusError as error:
        return refusal(error)
    except Exception:
        return failure(request)


async def wait_safely(later: Later, request: Request) -> Answer:
    """Wait for the answer to a request; whatever goes wrong is an answer, too."""
    try:
        return await later.work()
    except StatusError as error:
        return refusal(error)
    except Exception:
        return failure(request)


def failure(request: Request) -> Answer:
    _log.exception("%s %s failed", request.method, request.target)
    problem = f"{request.method} {request.target} failed: the log of the server says why"
    return refusal(StatusError(500, "InternalError", problem))


def head_of(answer: Answer, *, is_last: bool) -> bytes:
    lines = _first_lines(answer.code, answer.content_type, is_last)
    # Clients take heads of some length only; what is warned of may name a field that is as long as the body.
    are_long = sum(map(len, answer.warnings)) > _MOST_WARNED_CHARACTERS
    for warning in answer.warnings:
        told = warning[:_LONGEST_WARNING] if are_long else warning
        lines += f"Warning: 299 - {json.dumps(told)}\r\n".encode("latin-1")
    return b"%bContent-Length: %d\r\n\r\n" % (lines, len(answer.body))


@lru_cache(maxsize=64)
def _first_lines(code: int, content_type: str, is_last: bool) -> bytes:
    """What many answers have in common."""
    lines = f"HTTP/1.1 {code} {_PHRASES.get(code, '')}\r\nContent-Type: {content_type}\r\n{_EVERY_HEAD}"
    if code == HTTPStatus.UNAUTHORIZED:
        lines += "WWW-Authenticate: Bearer\r\n"
    if code == HTTPStatus.SERVICE_UNAVAILABLE:
        lines += "Retry-After: 1\r\n"
    if is_last:
        lines += "Connection: close\r\n"
    return lines.encode("latin-1")


def stream_head(*, in_chunks: bool) -> bytes:
    """What comes before an answer whose length nobody knows yet; where it is not in chunks, closing ends it."""
    return f"{_STREAM_HEAD}{'Transfer-Encoding: chunked' if in_chunks else 'Connection: close'}\r\n\r\n".encode()
