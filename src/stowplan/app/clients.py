"""The clients of a live scheduler: for the cluster, for events, and for reviews of requests that are made to us."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from stowplan.app.effective import OptionError
from stowplan.app.release import USER_AGENT
from stowplan.config.types import ClientConnection
from stowplan.kube import credentials, writes
from stowplan.kube.client import Client, ClientSettings, Exchange
from stowplan.kube.credentials import CredentialsError
from stowplan.observe.component_metrics import RequestMetrics
from stowplan.observe.logs import log_for

# What upstream allows for reviews: they hold up whoever asks for a page.
_REVIEW_QPS: Final = 200
_REVIEW_BURST: Final = 400
_REVIEW_SECONDS: Final = 10.0

_log = log_for(__name__)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


async def open_client(
    connection: ClientConnection, master: str, name: str, metrics: RequestMetrics, timeout_seconds: float = 30.0
) -> Client:
    """Return a client of the cluster that is to be scheduled; `name` tells it apart in the server's logs."""
    found = await credentials.load(connection.kubeconfig, os.environ, now, master)
    agent = f"{USER_AGENT}/{name}" if name else USER_AGENT
    is_binary = connection.content_type == writes.MEDIA_TYPE
    settings = ClientSettings(agent, connection.qps, connection.burst, timeout_seconds, writes_binary=is_binary)
    try:
        return Client(found, settings, told_to(metrics, found.server))
    except ValueError as error:
        raise OptionError(str(error)) from None


async def open_reviewing_client(kubeconfig: str, what: str, metrics: RequestMetrics) -> Client | None:
    """Return a client for reviews; None if no kubeconfig is given and this is not a pod."""
    try:
        found = await credentials.load(kubeconfig, os.environ, now)
    except CredentialsError as error:
        if kubeconfig:
            raise
        _log.warning(f"No {what}-kubeconfig provided and not in a cluster, so {what} is not delegated: {error}")
        return None
    settings = ClientSettings(USER_AGENT, _REVIEW_QPS, _REVIEW_BURST, _REVIEW_SECONDS)
    return Client(found, settings, told_to(metrics, found.server))


def told_to(metrics: RequestMetrics, server: str) -> Callable[[Exchange], None]:
    """Return what turns the exchanges of a client into metrics."""
    host = urlsplit(server).netloc

    def tell(exchange: Exchange) -> None:
        metrics.answered(exchange.verb, host, _code_text(exchange.code), exchange.seconds)
        metrics.limited(exchange.verb, host, exchange.throttled_seconds)
        metrics.sized(exchange.verb, host, exchange.sent_bytes, exchange.received_bytes)
        if exchange.code_before is not None:
            metrics.retried(exchange.verb, host, _code_text(exchange.code_before))

    return tell


def _code_text(code: int) -> str:
    return str(code) if code else "<error>"
