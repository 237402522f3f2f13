"""Connections for short requests: one request at a time on each, kept for the next. For writes, which come in bursts.

A binding costs a third of the processor time here that it costs by way of the general HTTP client, which `pool.py` uses
for lists, watches and proxies. `answers.py` reads what comes back.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from typing import Final, cast
from urllib.parse import urlsplit

from stowplan.kube.answers import Answer, AnswerReader, BrokenAnswerError
from stowplan.kube.identity import Credentials

_CONNECT_SECONDS: Final = 10.0
# Below the 90 s after which an API server closes an idle connection, so that we do not write into a closing one.
_IDLE_SECONDS: Final = 60.0
# A peer that vanished is noticed after about half a minute without an answer to probes.
_KEEP_ALIVE: Final = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
_PORTS: Final = {"https": 443, "http": 80}


class NotConnectedError(Exception):
    """There is no connection, so nothing was sent; the cause says why."""


class Lane(asyncio.Protocol):
    """One connection."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context
        self.used_at = 0.0
        self.is_open = False
        self._transport: asyncio.Transport | None = None
        self._reader = AnswerReader()
        self._answer: asyncio.Future[Answer] | None = None
        self._lost = asyncio.Event()

    async def exchange(self, data: bytes) -> Answer:
        """Send a request and wait for its answer."""
        if self._transport is None or not self.is_open:
            raise ConnectionResetError("the connection is closed")
        self._reader = AnswerReader()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return await self._answer

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    async def closed(self) -> None:
        """Wait until nothing is left of the connection."""
        await self._lost.wait()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop's transports are instances of the class that they behave like.
        self._transport, self.is_open = cast(asyncio.Transport, transport), True
        made = transport.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE:
            made.setsockopt(socket.IPPROTO_TCP, option, value)

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            # Nobody asked, or whoever did has gone.
            self.close()
            return
        try:
            answer = self._reader.feed(data)
        except BrokenAnswerError as fault:
            self._answer.set_exception(fault)
            return
        if answer is not None:
            self.is_open = self._reader.keeps_alive
            self._answer.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._lost.set()
        if self._answer is None or self._answer.done():
            return
        answer = self._reader.end() if exc is None else None
        if answer is not None:
            self._answer.set_result(answer)
        else:
            self._answer.set_exception(exc or ConnectionResetError("the connection was closed"))


class Lanes:
    """The connections to one server, as many as there are requests at a time."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        address = urlsplit(credentials.server)
        self._host = address.hostname or ""
        self._port = address.port or _PORTS[address.scheme]
        # The one used last is used next: the others may grow old.
        self._idle: deque[Lane] = deque()
        self._used: set[Lane] = set()

    async def exchange(self, data: bytes) -> Answer:
        """Send a request, and wait for the whole answer."""
        trust = self._credentials.trust
        context = trust.context() if trust is not None else None
        lane = self._take(context) or await self._connect(context)
        self._used.add(lane)
        try:
            answer = await lane.exchange(data)
        except BaseException:
            lane.close()
            raise
        finally:
            self._used.discard(lane)
        self._keep(lane)
        return answer

    async def close(self) -> None:
        """Break off what is under way, and close all connections."""
        lanes = [*self._idle, *self._used]
        self._idle.clear()
        for lane in lanes:
            lane.close()
        for lane in lanes:
            await lane.closed()

    def _take(self, context: ssl.SSLContext | None) -> Lane | None:
        since = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while self._idle:
            lane = self._idle.pop()
            # Other certificates, other connections.
            if lane.is_open and lane.context is context and lane.used_at > since:
                return lane
            lane.close()
        return None

    def _keep(self, lane: Lane) -> None:
        if not lane.is_open:
            lane.close()
            return
        lane.used_at = asyncio.get_running_loop().time()
        self._idle.append(lane)
        oldest = self._idle[0]
        if not oldest.is_open or oldest.used_at < lane.used_at - _IDLE_SECONDS:
            self._idle.popleft().close()

    async def _connect(self, context: ssl.SSLContext | None) -> Lane:
        name = self._credentials.server_name or self._host
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, lane = await asyncio.get_running_loop().create_connection(
                    lambda: Lane(context),
                    self._host,
                    self._port,
                    ssl=context,
                    server_hostname=name if context is not None else None,
                )
        except (OSError, ValueError) as fault:
            raise NotConnectedError(str(fault) or "no answer in time") from fault
        return lane
