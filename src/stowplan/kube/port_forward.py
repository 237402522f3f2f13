"""A way to a port of a pod, through the API server and the kubelet: like `kubectl port-forward`, for us alone.

    whoever asks -- a pair of sockets -- WebSocket -- API server -- kubelet -- port of the pod

Each connection is a WebSocket of its own, with the protocol of channels: every message begins with the number of its
channel, 0 for what is carried and 1 for what went wrong, and the first message on each is the number of the port, in
two bytes. Nothing listens: no other process of the machine can get into the tunnel.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Final

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from stowplan.kube.errors import ApiError, TransportError, status_of
from stowplan.kube.identity import Credentials
from stowplan.kube.transport import route, who_asks

PROTOCOL: Final = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_PORT_BYTES: Final = 2
#: What servers take as one message, with plenty to spare.
_READ_BYTES: Final = 2**15
_MOST_ERROR_BYTES: Final = 2**16
_FAULTS: Final = (aiohttp.ClientError, OSError, ValueError)

if TYPE_CHECKING:
    _WebSocket = aiohttp.ClientWebSocketResponse[bool]


class PortForward:
    """Connections to one port of one pod. The time that opening one may take is up to the caller."""

    def __init__(self, credentials: Credentials, user_agent: str, pod: tuple[str, str], port: int) -> None:
        namespace, name = pod
        self._credentials, self._user_agent, self._port = credentials, user_agent, port
        self.path = f"/api/v1/namespaces/{namespace}/pods/{name}/portforward"
        #: What the kubelet said went wrong behind the API server; "" for nothing.
        self.problem = ""
        self._session: aiohttp.ClientSession | None = None
        self._websockets: list[_WebSocket] = []
        self._pumps: set[asyncio.Task[None]] = set()

    async def dial(self) -> socket.socket:
        """Make a connection; raise ApiError if the API server refuses, TransportError if there is no way."""
        websocket = await self._open()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        pump = asyncio.get_running_loop().create_task(self._pump(websocket, theirs))
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)
        return ours

    async def close(self) -> None:
        """Break off all connections."""
        pumps = [*self._pumps]
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        if self._session is not None:
            # Broken off first: a farewell would have to wait for an answer.
            await self._session.close()
            self._session = None
        for websocket in self._websockets:
            await websocket.close()
        self._websockets.clear()

    async def _open(self) -> _WebSocket:
        headers = CIMultiDict({"User-Agent": self._user_agent})
        try:
            headers.update(await who_asks(self._credentials))
            websocket: _WebSocket = await self._library().ws_connect(
                URL(f"{self._credentials.server}{self.path}?ports={self._port}", encoded=True),
                protocols=(PROTOCOL,),
                headers=headers,
                autoclose=False,
                max_msg_size=0,
                **route(self._credentials),
            )
        except _FAULTS as fault:
            raise self._broken(f"{type(fault).__name__}: {fault}") from fault
        self._websockets.append(websocket)
        if websocket.protocol != PROTOCOL:
            raise self._broken(f"the server takes no port-forward by WebSocket with the protocol {PROTOCOL}")
        return websocket

    def _library(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Who is refused hears why: the library itself would leave out what the server says.
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), raise_for_status=self._raise_if_refused
            )
        return self._session

    async def _raise_if_refused(self, response: aiohttp.ClientResponse) -> None:
        if response.status == 101:
            return
        body = await response.content.read(_MOST_ERROR_BYTES)
        response.close()
        raise ApiError("GET", self.path, status_of(response.status, response.reason or "", body))

    def _broken(self, problem: str) -> TransportError:
        return TransportError(("GET", self.path), problem, may_have_arrived=False, is_timeout=False)

    async def _pump(self, websocket: _WebSocket, end: socket.socket) -> None:
        """Carry what comes until either side ends; the WebSocket ends with all others, for there are few."""
        reader, writer = await asyncio.open_connection(sock=end)
        loop = asyncio.get_running_loop()
        sending = loop.create_task(_send(reader, websocket))
        receiving = loop.create_task(self._receive(websocket, writer))
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (sending, receiving):
                one.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)
            writer.transport.abort()

    async def _receive(self, websocket: _WebSocket, writer: asyncio.StreamWriter) -> None:
        # The port comes first, and is of no interest: we have asked for one.
        left_out = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}
        with contextlib.suppress(*_FAULTS):
            await self._carry(websocket, writer, left_out)
            writer.close()
            await writer.wait_closed()

    async def _carry(self, websocket: _WebSocket, writer: asyncio.StreamWriter, left_out: dict[int, int]) -> None:
        async for message in websocket:
            if message.type != aiohttp.WSMsgType.BINARY or not message.data or message.data[0] not in left_out:
                continue
            channel, text = message.data[0], message.data[1:]
            skipped = min(left_out[channel], len(text))
            left_out[channel] -= skipped
            if channel == _DATA:
                writer.write(text[skipped:])
                await writer.drain()
            else:
                room = _MOST_ERROR_BYTES - len(self.problem)
                self.problem += text[skipped : skipped + room].decode(errors="replace")


async def _send(reader: asyncio.StreamReader, websocket: _WebSocket) -> None:
    """Carry what is written, until whoever writes is done: there is no half of an end."""
    with contextlib.suppress(*_FAULTS):
        while data := await reader.read(_READ_BYTES):
            await websocket.send_bytes(bytes((_DATA,)) + data)
