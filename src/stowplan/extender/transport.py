"""The way to an extender: one HTTP session that is kept open, with the time-out and the certificates it asks for.

`tls.py` reads the certificates.
"""

from __future__ import annotations

import io

import aiohttp

from stowplan.config.types import Extender
from stowplan.extender import tls
from stowplan.framework.handle import ExtenderError
from stowplan.model.duration import of_seconds

_DEFAULT_TIMEOUT = of_seconds(5)
_OK = 200
_PIECE_BYTES = 2**16
# A reply repeats at most the nodes it was asked about, if in more words.
_MOST_BYTES = 2**26
_MOST_TIMES_THE_REQUEST = 8


class HttpTransport:
    """Posts to the verbs of one extender. Made outside the event loop, used on one."""

    def __init__(self, settings: Extender) -> None:
        self._prefix = settings.url_prefix.rstrip("/")
        self._timeout = settings.http_timeout or _DEFAULT_TIMEOUT
        self._trust = tls.trust(settings)
        self._server_name = settings.tls_config.server_name if settings.tls_config is not None else ""
        self._session: aiohttp.ClientSession | None = None

    async def post(self, verb: str, body: bytes) -> bytes:
        """Ask, and return the body of a reply that says OK."""
        url = f"{self._prefix}/{verb}"
        try:
            return await self._exchange(verb, url, body)
        except TimeoutError:
            problem = f"no reply within {self._timeout}"
            raise _unreached(url, verb, problem, "see why it is slow, or raise its httpTimeout") from None
        except (aiohttp.ClientError, OSError) as fault:
            problem = f"{type(fault).__name__}: {fault}"
            raise _unreached(url, verb, problem, "check urlPrefix and tlsConfig, and that it runs") from fault

    async def close(self) -> None:
        """Close the session; the next question opens a new one."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _exchange(self, verb: str, url: str, body: bytes) -> bytes:
        async with self._open().post(
            url, data=io.BytesIO(body), ssl=self._trust, server_hostname=self._server_name or None
        ) as response:
            if response.status != _OK:
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
            return await _read(response, verb, url, max(_MOST_BYTES, _MOST_TIMES_THE_REQUEST * len(body)))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A negative time-out is none, as in Go.
            seconds = max(self._timeout.seconds, 0) or None
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=seconds),
                headers={"Content-Type": "application/json"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, verb: str, url: str, most_bytes: int) -> bytes:
    received = bytearray()
    async for piece in response.content.iter_chunked(_PIECE_BYTES):
        received += piece
        if len(received) > most_bytes:
            problem = f"the reply has more than {most_bytes} bytes"
            raise _unreached(url, verb, problem, "reply only about the nodes that were sent")
    return bytes(received)


def _unreached(url: str, verb: str, problem: str, remedy: str) -> ExtenderError:
    return ExtenderError(f'extender at "{url}": {verb}: {problem}; {remedy}')
