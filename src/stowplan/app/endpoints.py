"""Opens the HTTPS endpoints of a scheduler: whose certificates count, who reviews requests, what the pages show.

`serving` has the server, the guard and the pages; here they are joined with the flags and with a running scheduler.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stowplan.app.clients import VERSION, KubeReviewer, open_reviewing_client
from stowplan.app.inspection import Inspection
from stowplan.app.options import OptionError, RunOptions
from stowplan.app.replica import Replica
from stowplan.config.load import to_external
from stowplan.kube.client import Client
from stowplan.observe import resource_usage
from stowplan.observe.component_metrics import HealthMetrics, RequestMetrics
from stowplan.observe.logs import Logging, log_for
from stowplan.serving.authentication import (
    Authorities,
    DelegatedAuthenticator,
    ProxySettings,
    Reviewer,
    TrustedProxies,
    proxies_of,
)
from stowplan.serving.authorization import AccessSettings, DelegatedAuthorizer, Guard
from stowplan.serving.certificates import CertificateError, ServerCertificate, TlsSettings
from stowplan.serving.routes import Pages, WebPage
from stowplan.serving.server import Address, Server, ServingError, serve

_log = log_for(__name__)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The server, if there is one, and the clients that requests are reviewed by."""

    server: Server | None = None
    clients: tuple[Client, ...] = ()

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.stop()
        for client in self.clients:
            await client.close()


async def open_endpoints(options: RunOptions, pages: Pages, requests: RequestMetrics) -> Endpoints:
    """Start to serve, unless --secure-port 0 says not to."""
    where = address(options)
    if where.port == 0:
        return Endpoints()
    asks = await open_reviewing_client(options.authentication_kubeconfig, "authentication", requests)
    judges = await open_reviewing_client(options.authorization_kubeconfig, "authorization", requests)
    authenticator = await make_authenticator(options, KubeReviewer(asks) if asks is not None else None)
    reviewer = KubeReviewer(judges) if judges is not None else None
    authorizer = DelegatedAuthorizer(time.monotonic, access_settings(options, pages.open_paths), reviewer)
    proxies = authenticator.proxies.authorities if authenticator.proxies is not None else None
    trusted = [known.pem for known in (authenticator.clients, proxies) if known is not None]
    certificate = ServerCertificate(msgspec.convert(options, TlsSettings, from_attributes=True), "\n".join(trusted))
    if certificate.is_self_signed:
        _log.info("Generated self-signed cert", directory=options.cert_dir or "in-memory")
    server = await serve(where, certificate, Guard(authenticator, authorizer), pages)
    return Endpoints(server, tuple(client for client in (asks, judges) if client is not None))


async def make_authenticator(options: RunOptions, reviewer: Reviewer | None) -> DelegatedAuthenticator:
    """Put together who is believed: what the flags say, and for the rest what the cluster says."""
    looked_up: Mapping[str, str] = {}
    has_all = options.client_ca_file and options.requestheader_client_ca_file
    if reviewer is not None and not options.authentication_skip_lookup and not has_all:
        looked_up = await _look_up(options, reviewer)
    clients = _read(options.client_ca_file, "--client-ca-file") or looked_up.get("client-ca-file", "")
    proxies = proxies_of(looked_up)
    if options.requestheader_client_ca_file:
        pem = _read(options.requestheader_client_ca_file, "--requestheader-client-ca-file")
        proxies = TrustedProxies(Authorities(pem), msgspec.convert(options, ProxySettings, from_attributes=True))
    return DelegatedAuthenticator(
        time.monotonic,
        Authorities(clients) if clients else None,
        proxies,
        reviewer,
        options.authentication_token_webhook_cache_ttl.seconds,
    )


async def _look_up(options: RunOptions, reviewer: Reviewer) -> Mapping[str, str]:
    try:
        return await reviewer.authentication_config()
    except Exception as error:
        if not options.authentication_tolerate_lookup_failure:
            raise ServingError(
                f"unable to load configmap based request-header-client-ca-file: {error}; grant access to it, or set"
                " --authentication-tolerate-lookup-failure"
            ) from error
        _log.warning(f"Error looking up in-cluster authentication configuration: {error}")
        _log.warning("Continuing without authentication configuration. This may treat all requests as anonymous.")
        return {}


def _read(path: str, flag: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CertificateError(f"{flag} {path}: cannot be read: {error}") from error


# What the flags say about serving


def address(options: RunOptions) -> Address:
    if not 0 <= options.secure_port <= 65535:
        what = f"--secure-port {options.secure_port} must be between 0 and 65535, inclusive"
        raise OptionError(f"{what}. 0 for turning off secure port")
    return Address(options.bind_address or "0.0.0.0", options.secure_port, options.permit_port_sharing)


def access_settings(options: RunOptions, open_paths: tuple[str, ...] = ()) -> AccessSettings:
    for path in options.authorization_always_allow_paths:
        if "*" in path[:-1]:
            raise OptionError(f'--authorization-always-allow-paths: only trailing * allowed in "{path}"')
    return AccessSettings(
        (*options.authorization_always_allow_paths, *open_paths),
        allowed_seconds=options.authorization_webhook_cache_authorized_ttl.seconds,
        refused_seconds=options.authorization_webhook_cache_unauthorized_ttl.seconds,
    )


# What is served


@dataclass(frozen=True, slots=True)
class Health:
    """What a scheduler says of itself."""

    is_ending: Callable[[], bool]
    #: What keeps the cluster from being known.
    sync_problem: Callable[[], str]
    #: What is wrong with the election; None if there is none.
    election_problem: Callable[[], str] | None = None


#: Makes the page that shows a replica.
PageOf = Callable[[Inspection], WebPage]


def pages_of(
    options: RunOptions, replica: Replica, health: Health, logging: Logging, page_of: PageOf | None = None
) -> Pages:
    gates, started_at, inspection = options.feature_gates, time.time(), Inspection(replica)
    election = {"leaderElection": health.election_problem} if health.election_problem is not None else {}
    shutdown = {"shutdown": lambda: "process is shutting down" if health.is_ending() else ""}
    return Pages(
        healthz=election,
        readyz={**election, **shutdown, "sched-handler-sync": health.sync_problem},
        metrics=replica.metrics,
        health_metrics=HealthMetrics(started_at),
        pod_resources=_resources_of(replica),
        configuration=lambda: to_external(replica.reloader.configuration),
        flags=dict(options.texts) if gates.enabled("ComponentFlagz") else None,
        version=VERSION,
        release=gates.release,
        started_at=started_at,
        now=time.time,
        has_status=gates.enabled("ComponentStatusz"),
        set_verbosity=_verbosity_setter(logging) if replica.reloader.configuration.enable_profiling else None,
        more=inspection.pages(),
        page=page_of(inspection) if page_of is not None else None,
    )


def _resources_of(replica: Replica) -> Callable[[], Awaitable[bytes | None]]:
    async def text() -> bytes | None:
        if not replica.watching.is_scheduling:
            # Another one leads, and tells.
            return None
        # It takes long on a large cluster, and the loop has pods to schedule.
        return await asyncio.to_thread(resource_usage.pod_resources_text, replica.watching.objects("Pod"))

    return text


def _verbosity_setter(logging: Logging) -> Callable[[str], str]:
    def set_verbosity(text: str) -> str:
        if not text.isdigit():
            raise ValueError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
        logging.set_verbosity(int(text))
        return f"successfully set klog.logging.verbosity to {text}"

    return set_verbosity
