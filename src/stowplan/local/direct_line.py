"""From a client to an API server of the same process: the requests and answers of HTTP, without the wire.

The server lets in, admits and writes down as for everybody else; only sockets, and what is written to be read again
on the other side, are left out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from stowplan.embedded.http.answers import Respond, respond_safely, wait_safely
from stowplan.embedded.http.requests import Request as Asked
from stowplan.embedded.requests.incoming import Answer as Given
from stowplan.embedded.requests.incoming import Later
from stowplan.embedded.requests.watching import Watch
from stowplan.kube.connections import ApiAnswer
from stowplan.kube.identity import Authorization
from stowplan.kube.transport import ApiRequest

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}


class DirectLine:
    """A `kube.transport.Transport` whose server is at hand."""

    def __init__(self, respond: Respond, authorization: Authorization, user_agent: str) -> None:
        self._respond = respond
        self._authorization = authorization
        self._user_agent = user_agent

    async def close(self) -> None:
        """Nothing is open."""

    async def renew(self, request: ApiRequest) -> None:
        await self._authorization.renew()

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        given = await self._ask(request)
        if isinstance(given, Watch):
            raise ValueError(f"{request.verb} {request.path}: a watch has no end to wait for; ask for a stream")
        return ApiAnswer(given.code, _PHRASES.get(given.code, ""), _NO_HEADERS, given.body)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[_Coming]:
        yield _Coming(await self._ask(request))

    async def _ask(self, request: ApiRequest) -> Given | Watch:
        target = f"{request.path}?{urlencode(request.params)}" if request.params else request.path
        headers = {
            "host": "localhost",
            "accept": "application/json",
            "user-agent": self._user_agent,
            "content-type": request.content_type,
        }
        if authorization := await self._authorization.header():
            headers["authorization"] = authorization
        asked = Asked(request.verb, target, headers, body=request.body or b"")
        given = respond_safely(self._respond, asked, {})
        return await wait_safely(given, asked) if isinstance(given, Later) else given


class _Coming:
    """An answer that goes on, or one that is there at once."""

    def __init__(self, given: Given | Watch) -> None:
        self._given = given
        self.code = 200 if isinstance(given, Watch) else given.code
        self.reason = _PHRASES.get(self.code, "")
        self.headers = _NO_HEADERS

    async def pieces(self) -> AsyncIterator[bytes]:
        if not isinstance(self._given, Watch):
            yield self._given.body
            return
        async for piece in self._given.pieces():
            yield piece

    async def read_all(self) -> bytes:
        return b"" if isinstance(self._given, Watch) else self._given.body
