"""A scheduler made from a command line and not started: what flags and configuration have come to."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from stowplan.app import clients
from stowplan.app.configuration import configure, find_source
from stowplan.app.endpoints import access_settings, address, make_authenticator
from stowplan.app.live import Live, version
from stowplan.app.options import log_settings, shown_metrics
from stowplan.app.replica import KubeClients, Replica, ReplicaSettings
from stowplan.cli.flag_parser import parse
from stowplan.config.types import Configuration
from stowplan.framework.profile import Profile
from stowplan.kube.client import Client
from stowplan.observe.logs import Logging
from stowplan.observe.metrics import Metrics
from stowplan.serving.authorization import DelegatedAuthorizer
from stowplan.serving.certificates import ServerCertificate, TlsSettings
from stowplan.serving.server import Address, _listen
from tests.unit.serving.fake_reviewer import FakeReviewer

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#: Nothing is sent there.
SERVER = "--master=http://127.0.0.1:1"


@dataclass
class Made:
    """The parts of a scheduler, to be looked at."""

    live: Any
    client: Client
    metrics: Metrics
    logging: Logging
    certificate: ServerCertificate
    authenticator: Any
    authorizer: DelegatedAuthorizer
    reviewer: FakeReviewer
    address: Address

    @property
    def replica(self) -> Replica:
        found: Replica = self.live._replica
        return found

    @property
    def configuration(self) -> Configuration:
        return self.replica.reloader.configuration

    @property
    def profile(self) -> Profile:
        return next(iter(self.replica.cluster.profiles.values()))

    @property
    def bucket(self) -> Any:
        return self.client._bucket

    @property
    def tls(self) -> Any:
        return self.certificate.context

    def socket_option(self, level: int, option: int) -> bool:
        listener = _listen(Address(self.address.host, 0, self.address.shares_port))
        with listener:
            return bool(listener.getsockopt(level, option))


def look_at(flags: tuple[str, ...], look: Callable[[Made], Any]) -> Any:
    """Make a scheduler, and look at it; nothing of it is left."""

    async def made() -> Any:
        found = await _make(flags)
        try:
            return look(found)
        finally:
            await found.client.close()
            found.metrics  # noqa: B018 (kept until here)

    return asyncio.run(made())


async def _make(flags: tuple[str, ...]) -> Made:
    options = parse(flags if any(flag.startswith("--master") for flag in flags) else (SERVER, *flags))
    metrics = Metrics(lambda: 0, options.feature_gates, shown_metrics(options), version(options))
    source = await find_source(options, metrics.requests)
    configuration = await configure(options, source)
    client = await clients.open_client(configuration.client_connection, options.master, "", metrics.requests)
    logging = Logging(log_settings(options), err=io.StringIO())
    settings = ReplicaSettings(options, configuration, metrics, lambda: 0)
    reviewer = FakeReviewer()
    return Made(
        Live(settings, KubeClients(client, client, client), source, logging),
        client,
        metrics,
        logging,
        ServerCertificate(msgspec.convert(options, TlsSettings, from_attributes=True)),
        await make_authenticator(options, reviewer),
        DelegatedAuthorizer(time.monotonic, access_settings(options), reviewer),
        reviewer,
        address(options),
    )
