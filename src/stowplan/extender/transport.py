"""The way to an extender: one HTTP session that is kept open, with the time-out and the certificates it asks for.

`tls.py` reads the certificates, `failures.py` has the words for what goes wrong.
"""

from __future__ import annotations

import asyncio
import io

import aiohttp

from stowplan.config.types import ExtenderConfig
from stowplan.extender import failures, replies, tls
from stowplan.framework.handle import ExtenderError
from stowplan.model.duration import of_seconds

_DEFAULT_TIMEOUT = of_seconds(5)
_OK = 200
_MOST_TRIES = 10
_PIECE_BYTES = 2**16
# A reply repeats at most the nodes it was asked about, if in more words.
_MOST_BYTES = 2**26
_MOST_TIMES_THE_REQUEST = 8


class HttpTransport:
    """Posts to the verbs of one extender. Made outside the event loop; each loop it is used on has its own session."""

    def __init__(self, settings: ExtenderConfig) -> None:
        self._prefix = settings.url_prefix.rstrip("/")
        self._timeout = settings.http_timeout or _DEFAULT_TIMEOUT
        self._trust = tls.trust(settings)
        self._server_name = settings.tls_config.server_name if settings.tls_config is not None else ""
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._under_way = 0
        self._rested = asyncio.Event()

    async def post(self, verb: str, body: bytes) -> bytes:
        """Ask, and return the body of a reply that says OK."""
        url = f"{self._prefix}/{verb}"
        self._under_way += 1
        try:
            return await self._exchange(verb, url, body)
        except TimeoutError:
            raise ExtenderError(f'Post "{url}": {failures.TOO_SLOW}') from None
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            problem = await failures.describe(fault, url, self._server_name)
            raise ExtenderError(f'Post "{url}": {problem}') from fault
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._rested.set()

    async def retire(self) -> None:
        """Wait until nobody waits for a reply, and close the session."""
        try:
            while self._under_way:
                self._rested.clear()
                await self._rested.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Close the session of this event loop; the next question opens a new one."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _exchange(self, verb: str, url: str, body: bytes) -> bytes:
        tries = 0
        while True:
            tries += 1
            try:
                async with self._open().post(
                    url, data=io.BytesIO(body), ssl=self._trust, server_hostname=self._server_name or None
                ) as response:
                    if response.status != _OK:
                        raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
                    return await _read(response, max(_MOST_BYTES, _MOST_TIMES_THE_REQUEST * len(body)))
            except aiohttp.ClientOSError as fault:
                # The other side hung up before the question was out: the next connection says why.
                is_unsaid = type(fault) is aiohttp.ClientOSError and fault.errno is None
                if tries == _MOST_TRIES or not is_unsaid:
                    raise

    def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            # A negative time-out is none, as in Go.
            seconds = max(self._timeout.seconds, 0) or None
            session = self._sessions[loop] = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=seconds),
                headers={"Content-Type": "application/json"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return session


async def _read(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    received = bytearray()
    try:
        async for piece in response.content.iter_chunked(_PIECE_BYTES):
            received += piece
            if len(received) > most_bytes:
                problem = f"the reply has more than {most_bytes} bytes"
                raise ExtenderError(
                    f'extender at "{response.url}": {problem}; reply only about the nodes that were sent'
                )
    except (aiohttp.ClientError, OSError) as fault:
        # A reply that is there as a whole is heard, whatever else was promised.
        if not replies.is_whole(bytes(received)):
            raise ExtenderError(failures.cut_short(fault)) from None
    return bytes(received)
