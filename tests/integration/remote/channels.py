"""The kubelet's end of a port-forward: a WebSocket with the protocol of channels, as kubelets and runtimes speak it."""

from __future__ import annotations

import asyncio
import contextlib
import struct

import aiohttp
from aiohttp import web

PROTOCOL = "v4.channel.k8s.io"


async def forward(
    request: web.Request, asked: int, port: int, protocol: str = PROTOCOL, trouble: str = ""
) -> web.WebSocketResponse:
    """Carry what comes to a port of this machine and back; in trouble, only say so."""
    channels = web.WebSocketResponse(protocols=(protocol,))
    await channels.prepare(request)
    for channel in (0, 1):
        await channels.send_bytes(bytes((channel,)) + struct.pack("<H", asked))
    if trouble:
        await channels.send_bytes(b"\1" + trouble.encode())
    else:
        await _carry(channels, port)
    await channels.close()
    return channels


async def _carry(channels: web.WebSocketResponse, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def back() -> None:
        while data := await reader.read(1000):
            await channels.send_bytes(b"\0" + data)
        await channels.close()

    returning = asyncio.ensure_future(back())
    try:
        async for message in channels:
            if message.type == aiohttp.WSMsgType.BINARY:
                assert message.data[0] == 0
                writer.write(message.data[1:])
    finally:
        writer.transport.abort()
        returning.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await returning
