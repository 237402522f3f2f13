"""The way to an extender: one HTTP session that is kept open, with the time-out and the certificates it asks for.

`failures.py` has the words for what goes wrong.
"""

from __future__ import annotations

import asyncio
import base64
import io
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from stowplan.config.errors import ConfigError
from stowplan.config.types import ExtenderConfig, ExtenderTLSConfig
from stowplan.extender import failures, messages
from stowplan.framework.handle import ExtenderError
from stowplan.kube.identity import tls_context
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
        self._trust = tls_trust(settings)
        self._server_name = settings.tls_config.server_name if settings.tls_config is not None else ""
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._under_way = 0
        self._rested = asyncio.Event()

    async def post(self, verb: str, body: bytes) -> bytes:
        """Ask, and return the body of a reply that says OK; raise ExtenderError if there is none."""
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
        if not messages.is_whole(bytes(received)):
            is_slow = isinstance(fault, TimeoutError)
            raise ExtenderError(failures.TOO_SLOW_BODY if is_slow else failures.CUT_SHORT) from None
    return bytes(received)


def tls_trust(extender: ExtenderConfig) -> ssl.SSLContext | bool:
    """Return how to check the server: True is what the system does. Raise ConfigError if a certificate is no good.

    `tlsConfig` is understood as client-go does. Data wins over a file of the same meaning. A client certificate counts
    only together with its key. `enableHTTPS` without a CA means that any server is believed.
    """
    tls = extender.tls_config or ExtenderTLSConfig()
    authority = _pem(extender, tls.ca_data, tls.ca_file, "ca")
    certificate = _pem(extender, tls.cert_data, tls.cert_file, "cert")
    key = _pem(extender, tls.key_data, tls.key_file, "key")
    # What is named counts, not what is in it: an empty CA file must not switch the check off.
    is_blind = tls.insecure or (extender.enable_https and not (tls.ca_data or tls.ca_file))
    shows = bool((tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file))
    if not (authority or is_blind or shows):
        return True
    try:
        context = tls_context(data=authority.decode(), is_insecure=is_blind)
    except (ssl.SSLError, ValueError) as fault:
        raise _unusable(extender, "ca", f"no certificate in PEM form ({fault})") from None
    if shows:
        _show(extender, context, certificate, key)
    return context


def _show(extender: ExtenderConfig, context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate; the standard library takes it only from files."""
    with TemporaryDirectory() as directory:
        chain = Path(directory, "chain.pem")
        chain.write_bytes(key.rstrip() + b"\n" + certificate)
        try:
            # A password that is wrong keeps OpenSSL from asking for one at the terminal.
            context.load_cert_chain(chain, password="")
        except (ssl.SSLError, ValueError) as fault:
            problem = f"no certificate and unencrypted key in PEM form that belong together ({fault})"
            raise _unusable(extender, "cert", problem) from None


def _pem(extender: ExtenderConfig, data: str, file: str, what: str) -> bytes:
    try:
        if data:
            return base64.b64decode("".join(data.split()), validate=True)
        return Path(file).read_bytes() if file else b""
    except (OSError, ValueError) as fault:
        raise _unusable(extender, what, str(fault)) from None


def _unusable(extender: ExtenderConfig, what: str, problem: str) -> ConfigError:
    where = f'extender "{extender.url_prefix}": tlsConfig.{what}Data or {what}File'
    return ConfigError("construct", f"couldn't build extenders: {where}: {problem}")
