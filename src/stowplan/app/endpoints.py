"""Opens the HTTPS endpoints of a live scheduler: whose certificates count, who reviews requests, what is served."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stowplan.app import effective
from stowplan.app.clients import open_reviewing_client
from stowplan.app.kube_reviews import KubeReviewer
from stowplan.app.options import Options
from stowplan.kube.client import Client
from stowplan.observe.component_metrics import RequestMetrics
from stowplan.observe.logs import log_for
from stowplan.serving.authentication import Authenticator, TrustedProxies, proxies_of
from stowplan.serving.authorization import Authorizer
from stowplan.serving.certificates import CertificateError, ServerCertificate
from stowplan.serving.client_certificates import Authorities
from stowplan.serving.guard import Guard
from stowplan.serving.identity import Reviewer
from stowplan.serving.routes import Pages
from stowplan.serving.server import Server, ServingError, serve

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


async def open_endpoints(options: Options, pages: Pages, requests: RequestMetrics) -> Endpoints:
    """Start to serve, unless --secure-port 0 says not to."""
    address = effective.address(options)
    if address.port == 0:
        return Endpoints()
    asks = await open_reviewing_client(options.authentication_kubeconfig, "authentication", requests)
    judges = await open_reviewing_client(options.authorization_kubeconfig, "authorization", requests)
    authenticator = await make_authenticator(options, KubeReviewer(asks) if asks is not None else None)
    reviewer = KubeReviewer(judges) if judges is not None else None
    authorizer = Authorizer(time.monotonic, effective.access_settings(options), reviewer)
    trusted = [known.pem for known in (authenticator.clients, _authorities(authenticator.proxies)) if known is not None]
    certificate = ServerCertificate(effective.tls_settings(options), "\n".join(trusted))
    if certificate.is_self_signed:
        _log.info("Generated self-signed cert", directory=options.cert_dir or "in-memory")
    server = await serve(address, certificate, Guard(authenticator, authorizer), pages)
    return Endpoints(server, tuple(client for client in (asks, judges) if client is not None))


async def make_authenticator(options: Options, reviewer: Reviewer | None) -> Authenticator:
    """Put together who is believed: what the flags say, and for the rest what the cluster says."""
    looked_up: Mapping[str, str] = {}
    has_all = options.client_ca_file and options.requestheader_client_ca_file
    if reviewer is not None and not options.authentication_skip_lookup and not has_all:
        looked_up = await _look_up(options, reviewer)
    clients = _read(options.client_ca_file, "--client-ca-file") or looked_up.get("client-ca-file", "")
    proxies = proxies_of(looked_up)
    if options.requestheader_client_ca_file:
        pem = _read(options.requestheader_client_ca_file, "--requestheader-client-ca-file")
        proxies = TrustedProxies(Authorities(pem), effective.proxy_settings(options))
    return Authenticator(
        time.monotonic,
        Authorities(clients) if clients else None,
        proxies,
        reviewer,
        options.authentication_token_webhook_cache_ttl.seconds,
    )


async def _look_up(options: Options, reviewer: Reviewer) -> Mapping[str, str]:
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


def _authorities(proxies: TrustedProxies | None) -> Authorities | None:
    return proxies.authorities if proxies is not None else None


def _read(path: str, flag: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CertificateError(f"{flag} {path}: cannot be read: {error}") from error
