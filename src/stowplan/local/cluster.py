"""Everything of an embedded cluster in one object: store, API, server, controllers, scheduler; opened and closed so.

`local/up.py` decides what it begins with and when it ends.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from stowplan.app import live
from stowplan.app.configuration import FileSource, configure, installed_plugins
from stowplan.app.endpoints import PageOf
from stowplan.app.options import RunOptions
from stowplan.app.process import now, steady_clock
from stowplan.app.reload import RejectedConfiguration
from stowplan.app.replica import ReplicaSettings
from stowplan.app.source_watch import POLL_SECONDS, SourceWatch
from stowplan.config.errors import ConfigError
from stowplan.config.types import Configuration
from stowplan.embedded.authorization import bootstrap
from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.http.audit import AuditLog
from stowplan.embedded.http.server import ServerOptions, Serving
from stowplan.embedded.identity import service_tokens
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects.private_files import NotPrivateError
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.persistence import Database, DatabaseError
from stowplan.embedded.storage.store import Store
from stowplan.framework.handle import ExtenderError
from stowplan.framework.registry import RegistryError
from stowplan.kube.local_kubeconfig import Access
from stowplan.local import api_endpoint
from stowplan.local.api_endpoint import ApiEndpoint, ApiEndpointError, KubeconfigError, check_endpoint
from stowplan.local.components import Components
from stowplan.local.in_process_api import InProcessWriter
from stowplan.local.pages import PAGE_LIMITS, USUAL_PORT, PagesServer, serve_pages
from stowplan.local.scheduler import ApiServerAccess, LocalScheduler
from stowplan.observe.logs import Logging, log_for
from stowplan.observe.metrics import Metrics

_log = log_for(__name__)

#: Under this name the key of the tokens is kept with the rest of a cluster.
_SIGNING_KEY: Final = "service-account-signing-key"

#: What works in a cluster beside its API.
Part = Literal["controllers", "kubelets", "provisioner", "scheduler"]

#: Fields of the configuration that count in other clusters only.
_UNUSED: Final = {
    "leader_election": "there is one scheduler, in the process of its cluster",
    "client_connection": "the cluster is in the same process",
    "delay_cache_until_active": "the scheduler is always active",
}

#: What makes a start impossible; each says what to do.
UNSTARTABLE: Final = (*live.UNSTARTABLE, DatabaseError, ApiEndpointError, KubeconfigError)


def why_unstartable(error: Exception, config: str) -> str:
    """Say why there can be no start; of a configuration in which file, and which stage refuses it."""
    if config and isinstance(error, ConfigError | ExtenderError | RegistryError):
        return f"{config}: {error.stage if isinstance(error, ConfigError) else 'construct'}: {error}"
    return str(error)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a cluster is made from."""

    endpoint: ApiEndpoint
    #: The folder that keeps it; "" keeps nothing.
    data: str
    #: What `stowplan run` is told with the same flags.
    flags: RunOptions
    logging: Logging
    seed: int | None = None
    #: The file that every request is written down in; "" for none.
    audit_log: str = ""
    #: What is left out, because somebody else plays it.
    without: frozenset[Part] = frozenset()
    #: Whether roles and bindings decide what users may do; without, everybody may do everything.
    has_rbac: bool = False
    #: What makes the page that shows it; None for none.
    page_of: PageOf | None = None


class EmbeddedCluster:
    """One cluster. `start` lets everything but the scheduler work, `schedule` that too."""

    access: Access
    scheduler: LocalScheduler

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        check_endpoint(options.endpoint)
        self._entrance = api_endpoint.with_admin_token(options.endpoint)
        self._audit = _audit_log(options.audit_log)
        self._database = Database(Path(options.data)) if options.data else None
        key = service_tokens.new_key()
        self._signing_key = key if self._database is None else self._database.secret(_SIGNING_KEY, key)
        draw = random.Random(options.seed).getrandbits
        gates = options.flags.feature_gates
        self.api = Api(Store(self._database), Catalogue(gates.release, gates.on), now, draw)
        # All of it is read at once, so that what is damaged is found before anybody works with the rest.
        for resource in self.api.catalogue.all() if self._database is not None else ():
            for stored in self.api.store.list(resource):
                self.api.keep_uid(stored.uid)
        self.pods, self.nodes = find_resource(self.api, "v1", "Pod"), find_resource(self.api, "v1", "Node")
        self.has_data = bool(self.api.store.list(find_resource(self.api, "v1", "Namespace")))
        self._precedence = Precedence()
        authority = api_endpoint.authority_of(options.endpoint)
        self.components = Components(self.api, self._precedence, options.without, authority=authority)
        self._source = FileSource(options.flags.config) if options.flags.config else None
        self._serving: Serving | None = None
        self._pages: PagesServer | None = None
        #: Done when something ended that should go on; the fault is its exception.
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Let controllers work, and serve the API; the scheduler is made, but does nothing yet."""
        settings = await self._replica_settings()
        self.components.start(self.broken)
        endpoint = self._entrance
        api_endpoint.publish_authority(self.api, endpoint)
        self._serving = await api_endpoint.open_to_clients(self.api, endpoint, self._server_options())
        self.components.announce(self._serving.host, self._serving.port, self.broken)
        self.access = api_endpoint.access_to(self._serving.url, endpoint)
        credentials = api_endpoint.credentials_for(self.access, endpoint)
        shortcut = InProcessWriter(self.api) if self._audit is None else None
        server = ApiServerAccess(credentials, self._serving.respond, shortcut)
        self.scheduler = LocalScheduler(settings, server, self._precedence, self.broken)
        if self.has_scheduler:
            await self._show_pages()

    async def schedule(self) -> None:
        """Let the scheduler work, too, if there is to be one."""
        if self.has_scheduler:
            await self.scheduler.start()

    async def close(self) -> None:
        """End everything in the order in which it can still say so to the rest."""
        if hasattr(self, "scheduler"):
            await self.scheduler.stop()
        if self.broken.done():
            # Looked at, whoever else did.
            self.broken.exception()
        await self.components.stop()
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
        if isinstance(answer, RejectedConfiguration):
            return f"{self._source.name} is refused, and the configuration in force stays: {answer.reason}"
        told = [f"{self._source.name} is read again: {', '.join(answer.changes) or 'nothing has changed'}"]
        if answer.needs_restart:
            told.append(f"what needs a restart: {', '.join(answer.needs_restart)}")
        return "; ".join(told)

    async def follow_saves(self, tell: Callable[[str], None]) -> None:
        """Have the configuration and its plugins in force as they are saved, until cancelled; tell of each."""
        if self._source is None:
            return
        reloader = self.scheduler.replica.reloader
        watch = SourceWatch(Path(self._source.name), lambda: reloader.registry)
        while True:
            await asyncio.sleep(POLL_SECONDS)
            changed = await asyncio.to_thread(watch.look)
            if changed:
                tell(await self._take_saved(watch, changed))

    async def _take_saved(self, watch: SourceWatch, changed: Iterable[Path]) -> str:
        assert self._source is not None
        replica = self.scheduler.replica
        answer = await replica.reloader.reread(self._source, installed_plugins)
        watch.settle(is_good=not isinstance(answer, RejectedConfiguration))
        replica.take(answer)
        saved = _saved(changed)
        if isinstance(answer, RejectedConfiguration):
            return f"{saved} refused; what is in force stays: {answer.reason}"
        told = ", ".join((*answer.changes, *(f"{name} needs a restart" for name in answer.needs_restart)))
        return f"{saved} in force with the next pod{f': {told}' if told else ''}"

    async def _show_pages(self) -> None:
        options = api_endpoint.server_options(self._entrance, USUAL_PORT, ServerOptions(limits=PAGE_LIMITS))
        self._pages = await serve_pages(self.scheduler.pages(self._options.logging, self._options.page_of), options)
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
            has_watch_list=options.flags.feature_gates.enabled("WatchList"),
        )

    async def _replica_settings(self) -> ReplicaSettings:
        flags = self._options.flags
        configuration = await configure(flags, self._source)
        for note in _unused_fields(configuration):
            _log.warning(note)
        now_ns = steady_clock()
        metrics = Metrics(now_ns, flags.feature_gates)
        return ReplicaSettings(flags, configuration, metrics, now_ns, self._options.seed)


def _saved(files: Iterable[Path]) -> str:
    """Begin to tell what became of files, by the names that they have from here."""
    names = [os.path.relpath(file) for file in files]
    return f"{' and '.join(names)} {'was saved, and is' if len(names) == 1 else 'were saved, and are'}"


def _audit_log(path: str) -> AuditLog | None:
    if not path:
        return None
    try:
        # Drawn apart from everything else, so that a log changes nothing about a run that is repeated.
        return AuditLog(Path(path), now, random.Random().getrandbits)
    except NotPrivateError as error:
        raise ApiEndpointError(f"--audit-log: {error}") from None
    except OSError as error:
        raise ApiEndpointError(f"--audit-log {path}: {error.strerror}; name a file that can be written") from None


def _unused_fields(configuration: Configuration) -> list[str]:
    """Say which fields were set to something that does not matter in an embedded cluster."""
    default = Configuration()
    names = {field.name: field.encode_name for field in msgspec.structs.fields(Configuration)}
    return [
        f"{names[field]} has no effect in `stowplan up`: {why}"
        for field, why in _UNUSED.items()
        if getattr(configuration, field) != getattr(default, field)
    ]
