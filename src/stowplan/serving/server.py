"""The HTTPS server: one port, every page behind the guard, closed gracefully."""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from stowplan.observe.logs import log_for
from stowplan.serving.authorization import Guard
from stowplan.serving.certificates import CertificateError, ServerCertificate
from stowplan.serving.routes import Pages

SHUTDOWN_SECONDS: Final = 5.0
RENEWAL_SECONDS: Final = 60.0

_log = log_for(__name__)


class ServingError(Exception):
    """The server could not be started; the text names the address and what to do."""


class Address(msgspec.Struct, frozen=True):
    """Where to listen; no host in particular means on all interfaces."""

    host: str = "0.0.0.0"
    port: int = 10259
    shares_port: bool = False


@dataclass(slots=True)
class Server:
    """A running server; `port` is the one it got."""

    port: int
    _runner: web.AppRunner
    _renewal: asyncio.Task[None]

    async def stop(self) -> None:
        """Take no new connections, and give those that are open some seconds."""
        self._renewal.cancel()
        await self._runner.cleanup()


async def serve(address: Address, certificate: ServerCertificate, guard: Guard, pages: Pages) -> Server:
    """Start to serve; raise ServingError if the address cannot be had."""
    app = pages.application(guard.admit)
    runner = web.AppRunner(app, access_log=None, logger=connection_log(), shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        listener = _listen(address)
    except OSError as error:
        await runner.cleanup()
        where = f"--bind-address {address.host} --secure-port {address.port}"
        raise ServingError(f"failed to create listener: {where}: {error.strerror}; choose another port") from error
    await web.SockSite(runner, listener, ssl_context=certificate.context).start()
    port: int = listener.getsockname()[1]
    _log.info("Serving securely", address=f"{listener.getsockname()[0]}:{port}")
    return Server(port, runner, asyncio.get_running_loop().create_task(_renew(certificate)))


def _listen(address: Address) -> socket.socket:
    host = address.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restarted scheduler must not wait for the sockets of the one before.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address.shares_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, address.port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


async def _renew(certificate: ServerCertificate) -> None:
    """Look for a renewed certificate every minute; one that cannot be read leaves the old one in force."""
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        try:
            if certificate.reload():
                _log.info("Reloaded the serving certificate")
        except CertificateError as error:
            _log.error(error, "The serving certificate could not be reloaded; the old one stays in force")


class _OwnFaults(logging.Filter):
    """Lets through faults of ours, not those of clients: a traceback for each would let a stranger fill the log.

    Who sends bytes that are no HTTP is answered with 400.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_OWN_FAULTS: Final = _OwnFaults()


def connection_log() -> logging.Logger:
    """Return the log that a server of pages is to be given."""
    log = logging.getLogger(__name__)
    log.addFilter(_OWN_FAULTS)
    return log
