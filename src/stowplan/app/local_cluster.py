"""Everything of an embedded cluster in one object: store, API, server, controllers, scheduler; opened and closed so.

`up` decides what it begins with and when it ends.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stowplan.app import clients, startup
from stowplan.app.configuration_source import FileSource, SourceError
from stowplan.app.kubeconfig_file import Access
from stowplan.app.local_pages import PagesServer, serve_pages
from stowplan.app.local_scheduler import LocalScheduler, Plan
from stowplan.app.manifest_files import ManifestError
from stowplan.app.options import Options
from stowplan.app.rest_of_cluster import RestOfCluster
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import FeatureGates
from stowplan.embedded.api import Api
from stowplan.embedded.catalogue import Catalogue
from stowplan.embedded.persistence import Database, DatabaseInUseError
from stowplan.embedded.resource import Resource
from stowplan.embedded.server import ServerOptions, Serving, UnsafeAddressError, check_address, serve
from stowplan.embedded.store import Store
from stowplan.framework.handle import ExtenderError
from stowplan.framework.registry import RegistryError
from stowplan.kube.identity import Credentials
from stowplan.kube.tls import CredentialsError, TlsFiles, Trust
from stowplan.kube.tokens import Fixed
from stowplan.observe.logs import Logging

USUAL_PORT: Final = 6443


class EntranceError(Exception):
    """The API cannot be served as asked; the text names the option."""


#: What makes a start impossible; each says what to do.
UNSTARTABLE: Final = (
    ConfigError,
    CredentialsError,
    DatabaseInUseError,
    EntranceError,
    ExtenderError,
    ManifestError,
    RegistryError,
    SourceError,
)


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where the API is, and who comes in."""

    host: str = "127.0.0.1"
    #: None takes the usual port, or a free one if that is taken.
    port: int | None = None
    token: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a cluster is made from."""

    entrance: Entrance
    #: The folder that keeps it; "" keeps nothing.
    data: str
    #: The file of the scheduler's configuration; "" for the default one.
    config: str
    gates: FeatureGates
    logging: Logging
    seed: int | None = None


class LocalCluster:
    """One cluster. `start` lets everything but the scheduler work, `scheduler.start` that too."""

    access: Access
    scheduler: LocalScheduler

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        check_entrance(options.entrance)
        self._database = Database(Path(options.data)) if options.data else None
        draw = random.Random(options.seed).getrandbits
        self.api = Api(Store(self._database), Catalogue(), clients.now, draw)
        self.pods, self.nodes = self._resource("Pod"), self._resource("Node")
        self.has_data = bool(self.api.store.list(self.nodes))
        self._rest = RestOfCluster(self.api)
        self._serving: Serving | None = None
        self._pages: PagesServer | None = None
        #: Done when something ended that should go on; the fault is its exception.
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Let controllers work, and serve the API; the scheduler is made, but does nothing yet."""
        plan = await self._plan()
        self._rest.start(self.broken)
        entrance = self._options.entrance
        self._serving = await _serve(self.api, entrance)
        access = _access(self._serving.url, entrance)
        self.scheduler = LocalScheduler(plan, _credentials(access, entrance))
        self.scheduler.broken.add_done_callback(self._break)
        self._pages = await serve_pages(self.scheduler.pages(), entrance.host, entrance.token, _tls(entrance))
        beside = f"{access.server.rpartition(':')[0]}:{self._pages.port}"
        self.access = replace(access, scheduler=beside)

    async def close(self) -> None:
        """End everything in the order in which it can still say so to the rest."""
        if hasattr(self, "scheduler"):
            await self.scheduler.stop()
        await self._rest.stop()
        if self._pages is not None:
            await self._pages.close()
        if self._serving is not None:
            await self._serving.close()
        if self._database is not None:
            self._database.close()

    def is_quiet(self) -> bool:
        """Look whether controllers and kubelets have had nothing to do for a while."""
        return self._rest.is_quiet()

    def _break(self, ended: asyncio.Future[None]) -> None:
        if self.broken.done() or ended.cancelled():
            return
        error = ended.exception()
        if error is not None:
            self.broken.set_exception(error)
        else:
            self.broken.set_result(None)

    async def _plan(self) -> Plan:
        options = self._options
        given = frozenset({"config"} if options.config else ())
        flags = Options(config=options.config, feature_gates=options.gates, secure_port=0, given=given)
        source = FileSource(options.config) if options.config else None
        return Plan(flags, await startup.configure(flags, source), options.logging, options.seed)

    def _resource(self, kind: str) -> Resource:
        found = self.api.catalogue.of_kind("v1", kind)
        assert found is not None
        return found


def check_entrance(entrance: Entrance) -> None:
    """Refuse an entrance that is not safe, before anything is started. Raise EntranceError."""
    try:
        check_address(_server_options(entrance, entrance.port or 0))
    except UnsafeAddressError as error:
        raise EntranceError(f"--bind-address: {error}; --token and --cert give both") from None


async def _serve(api: Api, entrance: Entrance) -> Serving:
    """Serve on the port that is asked for; if none is, on the usual one, or on a free one if that is taken."""
    for port in (entrance.port,) if entrance.port is not None else (USUAL_PORT, 0):
        try:
            return await serve(api, _server_options(entrance, port))
        except OSError as error:
            problem = f"--bind-address {entrance.host} --port {port}: {error.strerror or error}"
    raise EntranceError(f"{problem}; choose another port, or 0 for a free one")


def _server_options(entrance: Entrance, port: int) -> ServerOptions:
    return ServerOptions(entrance.host, port, entrance.token, _tls(entrance))


def _tls(entrance: Entrance) -> ssl.SSLContext | None:
    if not entrance.certificate:
        if entrance.key:
            raise EntranceError("--key is of no use alone; give the certificate with --cert")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A password that is wrong keeps OpenSSL from asking for one at the terminal.
        context.load_cert_chain(entrance.certificate, entrance.key or None, password="")
    except (OSError, ValueError) as error:
        what = f"--cert {entrance.certificate}" + (f" --key {entrance.key}" if entrance.key else "")
        remedy = "give PEM files, the key unencrypted and the one of the certificate"
        raise EntranceError(f"{what}: {error}; {remedy}") from None
    return context


def _access(url: str, entrance: Entrance) -> Access:
    """Return how the cluster is reached from this machine."""
    # An address that stands for all of them is none that can be called.
    server = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    if not entrance.certificate:
        return Access(server, entrance.token)
    authority = Path(entrance.certificate).read_text(encoding="utf-8")
    return Access(server, entrance.token, authority, _certified_name(authority))


def _certified_name(authority: str) -> str:
    """Return a name that the certificate is for, which may be another than the one that is called."""
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(authority.encode())
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ""
    known = names.get_values_for_type(x509.DNSName) or [*map(str, names.get_values_for_type(x509.IPAddress))]
    return known[0] if known else ""


def _credentials(access: Access, entrance: Entrance) -> Credentials:
    """Return how the scheduler enters: by the same door as everybody."""
    authorization = Fixed(f"Bearer {access.token}" if access.token else "")
    # The certificate may be for another name than the address we listen on.
    trust = Trust(TlsFiles(authority=entrance.certificate, is_insecure=True)) if entrance.certificate else None
    return Credentials(access.server, authorization, trust)
