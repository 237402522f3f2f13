"""Requests to an API server: one kept-alive pool, rate-limited, with errors that name what was asked.

Repeated only where that is safe: a 429 that says when to come back (the server did nothing), a 401 after new
credentials, and reads whose connection broke. `transport.py` carries them, `errors.py` says how a request may fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from stowplan.kube.connections import ApiAnswer
from stowplan.kube.errors import TOO_MANY_REQUESTS, ApiError, TransportError, status_of
from stowplan.kube.identity import Credentials
from stowplan.kube.transport import ApiRequest, IncomingAnswer, PooledTransport, Transport
from stowplan.model import decode
from stowplan.model.json_values import MalformedObject
from stowplan.model.meta import Part

__all__ = ["MERGE_PATCH", "STRATEGIC_MERGE_PATCH", "ApiRequest", "Client", "ClientSettings", "Exchange"]

T = TypeVar("T", bound=Part)

STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"

_UNAUTHORIZED = 401
_MAX_REPEATS = 10
_MAX_RECONNECTS = 2
_RECONNECT_SECONDS = 1.0

# What client-go uses for a client that was told nothing.
DEFAULT_QPS = 5.0
DEFAULT_BURST = 10


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How a client behaves; `timeout_seconds` is for one whole request that is no list and no watch."""

    user_agent: str
    qps: float = 50
    burst: int = 100
    timeout_seconds: float = 30.0
    #: Requests under way at a time; without HTTP/2 each takes a connection. Watches have their own.
    max_requests: int = 32
    #: Whether what can be written in binary form is; otherwise all is JSON.
    writes_binary: bool = True


class Exchange(msgspec.Struct, frozen=True):
    """A request that has ended, for metrics. Code 0: there was no answer."""

    verb: str
    path: str
    code: int
    seconds: float
    #: How long it was held back by our own rate limit.
    throttled_seconds: float
    sent_bytes: int
    #: None for an answer that comes piece by piece, and for none.
    received_bytes: int | None = None
    #: How it went before, if it is sent again: a code, 0 for no answer.
    code_before: int | None = None


class Client:
    """Speaks to one API server under one identity; over HTTP, unless another transport is given."""

    def __init__(
        self,
        credentials: Credentials,
        settings: ClientSettings,
        listener: Callable[[Exchange], None] = lambda exchange: None,
        transport: Transport | None = None,
    ) -> None:
        self._listener = listener
        self.writes_binary = settings.writes_binary
        self._bucket = TokenBucket(settings.qps, settings.burst)
        self._pool: Transport = transport or PooledTransport(credentials, settings.user_agent, settings.timeout_seconds)
        # Waited for here, not in the pool, so that waiting does not count against a request's time.
        self._turnstile = asyncio.Semaphore(settings.max_requests)

    @property
    def is_busy(self) -> bool:
        """Whether a request would have to wait for others to end."""
        return self._turnstile.locked()

    async def close(self) -> None:
        await self._pool.close()

    async def get(self, kind: type[T], path: str) -> T:
        return await self.send_for(kind, ApiRequest("GET", path))

    async def send_for(self, kind: type[T], request: ApiRequest) -> T:
        """Send a request that is answered with an object; one that cannot be read is as good as no answer."""
        body = await self.send(request)
        try:
            return decode.decode_as(kind, body)
        except MalformedObject as fault:
            asked = (request.verb, request.path)
            raise TransportError(asked, str(fault), may_have_arrived=True, is_timeout=False) from None

    async def send(self, request: ApiRequest, check: Callable[[], None] = lambda: None) -> bytes:
        """Send a request and return the body of the answer; raise ApiError or TransportError.

        `check` is called when the turn of the request has come, which may be long after it was asked for: what it
        raises is raised, and nothing is sent.
        """
        repeats = reconnects = 0
        has_renewed = False
        before: int | None = None
        while True:
            try:
                answer = await self._exchange(request, check, before)
            except TransportError as fault:
                reconnects += 1
                if not _may_reconnect(request, fault) or reconnects > _MAX_RECONNECTS:
                    raise
                before = 0
                await asyncio.sleep(_RECONNECT_SECONDS)
                continue
            if answer.code < 400:
                return answer.body
            before = answer.code
            if answer.code == _UNAUTHORIZED and not has_renewed:
                has_renewed = True
                await self._pool.renew(request)
                continue
            error = _error_of(request, answer)
            repeats += 1
            if not _may_repeat(request, error) or repeats > _MAX_REPEATS:
                raise error
            await asyncio.sleep(error.retry_after or 0.0)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[IncomingAnswer]:
        """Open an answer that comes piece by piece; an answer that is an error is raised. Nothing is repeated."""
        throttled = await self._bucket.take()
        started = asyncio.get_running_loop().time()
        async with self._pool.stream(request) as stream:
            seconds = asyncio.get_running_loop().time() - started
            self._listener(Exchange(request.verb, request.path, stream.code, seconds, throttled, 0))
            if stream.code >= 400:
                if stream.code == _UNAUTHORIZED:
                    await self._pool.renew(request)
                raise _error_of(request, ApiAnswer(stream.code, stream.reason, stream.headers, await stream.read_all()))
            yield stream

    async def _exchange(self, request: ApiRequest, check: Callable[[], None], before: int | None) -> ApiAnswer:
        throttled = await self._bucket.take()
        loop = asyncio.get_running_loop()
        sent = len(request.body or b"")
        async with self._turnstile:
            check()
            started = loop.time()
            try:
                answer = await self._pool.exchange(request)
            except TransportError:
                took = loop.time() - started
                self._listener(Exchange(request.verb, request.path, 0, took, throttled, sent, None, before))
                raise
            took, received = loop.time() - started, len(answer.body)
            self._listener(Exchange(request.verb, request.path, answer.code, took, throttled, sent, received, before))
            return answer


def _may_reconnect(request: ApiRequest, fault: TransportError) -> bool:
    """Reads whose connection broke are sent again; if there was none to begin with, the caller knows when to retry."""
    return request.verb == "GET" and fault.may_have_arrived and not fault.is_timeout


def _may_repeat(request: ApiRequest, error: ApiError) -> bool:
    if error.retry_after is None:
        return False
    return error.code == TOO_MANY_REQUESTS or (error.is_server_fault and request.verb == "GET")


def _error_of(request: ApiRequest, answer: ApiAnswer) -> ApiError:
    status = status_of(answer.code, answer.reason, answer.body)
    return ApiError(request.verb, request.path, status, _retry_after(answer.headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    # A server may also name a date; upstream does not follow that either.
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


class TokenBucket:
    """How often a client may ask, as client-go limits it: starts full; `qps` 0 means the default, below 0 no limit.

    Requests are let through in the order they asked. Time is the event loop's, so that it may be virtual.
    """

    def __init__(self, qps: float, burst: int) -> None:
        if qps > 0 and burst <= 0:
            raise ValueError(f"burst is {burst} while qps is {qps}; clientConnection.burst must be greater than 0")
        self._qps = qps or DEFAULT_QPS
        self._burst = burst or DEFAULT_BURST
        self._tokens = float(self._burst)
        self._filled_at: float | None = None

    async def take(self) -> float:
        """Wait for this request's turn; return the seconds that took."""
        if self._qps < 0:
            return 0.0
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._filled_at is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
        self._tokens -= 1
        if self._tokens >= 0:
            return 0.0
        try:
            # A debt is paid at `qps` a second, so those who ask later wait longer.
            await asyncio.sleep(-self._tokens / self._qps)
        except asyncio.CancelledError:
            self._tokens += 1
            raise
        return loop.time() - now
