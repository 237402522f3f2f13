"""A wire between browser and server that can be cut, and led to another server: a port that stays the same."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

_PIECE_BYTES = 2**16


class Wire:
    """A port of this machine that leads to another; `running` has it work in a thread of its own."""

    def __init__(self, target: str) -> None:
        self._target_port = _port_of(target)
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @contextlib.contextmanager
    def running(self) -> Iterator[Wire]:
        self._thread.start()
        self.mend()
        try:
            yield self
        finally:
            self.cut()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def cut(self) -> None:
        """End all connections, and let nobody in."""
        self._run(self._cut())

    def mend(self, target: str = "") -> None:
        """Let everybody in again, perhaps to another server."""
        if target:
            self._target_port = _port_of(target)
        self._run(self._listen())

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", self._port)
        self._port = int(self._server.sockets[0].getsockname()[1])

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._open):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, back}
        self._open |= ends
        try:
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        finally:
            self._open -= ends

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
        writer.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _port_of(url: str) -> int:
    return int(url.rpartition(":")[2])
