"""Everything of an embedded cluster in one object: store, API, server, controllers, scheduler; opened and closed so.

`up` decides what it begins with and when it ends.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from stowplan.app import clients, startup
from stowplan.app.configuration_source import FileSource, SourceError
from stowplan.app.options import Options
from stowplan.app.reload import Refused
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import FeatureGates
from stowplan.embedded.authorization import bootstrap
from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.http.audit import AuditLog
from stowplan.embedded.http.server import ServerOptions, Serving
from stowplan.embedded.identity import service_tokens
from stowplan.embedded.objects.private_files import NotPrivateError
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.persistence import Database, DatabaseError
from stowplan.embedded.storage.store import Store
from stowplan.framework.handle import ExtenderError
from stowplan.framework.registry import RegistryError
from stowplan.kube.identity import CredentialsError
from stowplan.kube.local_kubeconfig import Access
from stowplan.local import entering, unused
from stowplan.local.entering import Entrance, EntranceError, check_entrance
from stowplan.local.kubeconfig_file import KubeconfigError
from stowplan.local.manifest_files import ManifestError
from stowplan.local.pages import PagesOptions, PagesServer, serve_pages
from stowplan.local.rest_of_cluster import RestOfCluster
from stowplan.local.scheduler import LocalScheduler, Plan, Server
from stowplan.local.writer import LocalWriter
from stowplan.observe.logs import Logging, log_for

_log = log_for(__name__)

#: Under this name the key of the tokens is kept with the rest of a cluster.
_SIGNING_KEY: Final = "service-account-signing-key"

#: What works in a cluster beside its API.
Part = Literal["controllers", "kubelets", "provisioner", "scheduler"]

#: What makes a start impossible; each says what to do.
UNSTARTABLE: Final = (
    ConfigError,
    CredentialsError,
    DatabaseError,
    EntranceError,
    ExtenderError,
    KubeconfigError,
    ManifestError,
    RegistryError,
    SourceError,
)


def why_unstartable(error: Exception, config: str) -> str:
    """Say why there can be no start; of a configuration in which file, and which stage refuses it."""
    if config and isinstance(error, ConfigError | ExtenderError | RegistryError):
        return f"{config}: {error.stage if isinstance(error, ConfigError) else 'construct'}: {error}"
    return str(error)


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
    #: The file that every request is written down in; "" for none.
    audit_log: str = ""
    #: What is left out, because somebody else plays it.
    without: frozenset[Part] = frozenset()
    #: Whether roles and bindings decide what users may do; without, everybody may do everything.
    has_rbac: bool = False
    #: Whether a configuration of an older release is converted.
    legacy_config: bool = False


class LocalCluster:
    """One cluster. `start` lets everything but the scheduler work, `schedule` that too."""

    access: Access
    scheduler: LocalScheduler

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        check_entrance(options.entrance)
        self._entrance = entering.with_admin_token(options.entrance)
        self._audit = _audit_log(options.audit_log)
        self._database = Database(Path(options.data)) if options.data else None
        key = service_tokens.new_key()
        self._signing_key = key if self._database is None else self._database.secret(_SIGNING_KEY, key)
        draw = random.Random(options.seed).getrandbits
        self.api = Api(Store(self._database), Catalogue(), clients.now, draw, options.gates.on)
        # All of it is read at once, so that what is damaged is found before anybody works with the rest.
        for resource in self.api.catalogue.all() if self._database is not None else ():
            self.api.store.list(resource)
        self.pods, self.nodes = self._resource("Pod"), self._resource("Node")
        self.has_data = bool(self.api.store.list(self._resource("Namespace")))
        self._precedence = Precedence()
        authority = entering.authority_of(options.entrance)
        self._rest = RestOfCluster(self.api, self._precedence, options.without, authority=authority)
        self._source = FileSource(options.config) if options.config else None
        self._serving: Serving | None = None
        self._pages: PagesServer | None = None
        #: Done when something ended that should go on; the fault is its exception.
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Let controllers work, and serve the API; the scheduler is made, but does nothing yet."""
        plan = await self._plan()
        self._rest.start(self.broken)
        entrance = self._entrance
        entering.publish_authority(self.api, entrance)
        self._serving = await entering.open_to_clients(self.api, entrance, self._server_options())
        self._rest.announce(self._serving.host, self._serving.port, self.broken)
        self.access = entering.access_to(self._serving.url, entrance)
        credentials = entering.credentials_for(self.access, entrance)
        shortcut = LocalWriter(self.api) if self._audit is None else None
        server = Server(credentials, self._serving.respond, shortcut)
        self.scheduler = LocalScheduler(plan, server, self._precedence)
        self.scheduler.broken.add_done_callback(self._break)
        if self.has_scheduler:
            await self._show_pages(self.scheduler, entrance)

    async def schedule(self) -> None:
        """Let the scheduler work, too, if there is to be one."""
        if self.has_scheduler:
            await self.scheduler.start()

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
        if self._audit is not None:
            self._audit.close()

    @property
    def has_scheduler(self) -> bool:
        """Whether pods are placed from within; if not, the scheduler that is made does nothing."""
        return "scheduler" not in self._options.without

    async def reload(self) -> str:
        """Read the configuration of the scheduler again, and put it in force if it is good; say what became of it."""
        if self._source is None:
            return "there is no configuration to read again; give one with --config"
        answer = await self.scheduler.replica.reloader.reread(self._source)
        self.scheduler.replica.take(answer)
        if isinstance(answer, Refused):
            return f"{self._source.name} is refused, and the configuration in force stays: {answer.reason}"
        told = [f"{self._source.name} is read again: {', '.join(answer.changes) or 'nothing has changed'}"]
        if answer.needs_restart:
            told.append(f"what needs a restart: {', '.join(answer.needs_restart)}")
        return "; ".join(told)

    def is_quiet(self) -> bool:
        """Look whether controllers and kubelets have had nothing to do for a while."""
        return self._rest.is_quiet()

    async def _show_pages(self, scheduler: LocalScheduler, entrance: Entrance) -> None:
        options = PagesOptions(entrance.host, entrance.token, entering.tls_of(entrance), entering.names_of(entrance))
        self._pages = await serve_pages(scheduler.pages(), options)
        beside = f"{self.access.server.rpartition(':')[0]}:{self._pages.port}"
        self.access = replace(self.access, scheduler=beside)

    def _server_options(self) -> ServerOptions:
        options, authorizer = self._options, None
        if options.has_rbac:
            bootstrap.ensure(self.api)
            authorizer = Authorizer(self.api.store)
        return ServerOptions(
            signing_key=self._signing_key,
            audit=self._audit,
            precedence=self._precedence,
            authorizer=authorizer,
            has_watch_list=options.gates.enabled("WatchList"),
        )

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
        flags = Options(
            config=options.config,
            legacy_config=options.legacy_config,
            feature_gates=options.gates,
            secure_port=0,
            given=given,
        )
        configuration = await startup.configure(flags, self._source)
        for note in unused.notes(configuration):
            _log.warning(note)
        return Plan(flags, configuration, options.logging, options.seed)

    def _resource(self, kind: str) -> Resource:
        found = self.api.catalogue.of_kind("v1", kind)
        assert found is not None
        return found


def _audit_log(path: str) -> AuditLog | None:
    if not path:
        return None
    try:
        # Drawn apart from everything else, so that a log changes nothing about a run that is repeated.
        return AuditLog(Path(path), clients.now, random.Random().getrandbits)
    except NotPrivateError as error:
        raise EntranceError(f"--audit-log: {error}") from None
    except OSError as error:
        raise EntranceError(f"--audit-log {path}: {error.strerror}; name a file that can be written") from None
