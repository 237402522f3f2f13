"""A scheduler beside the API server of its own process: the replica that `app/live.py` runs, without lease and signals.

It meets the server as it would meet any other, but on a direct line instead of a wire. It is not held to a rate, and
gives way to clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Final

from stowplan.app.clients import USER_AGENT, told_to
from stowplan.app.endpoints import Health, PageOf, pages_of
from stowplan.app.process import Tasks
from stowplan.app.replica import KubeClients, Replica, ReplicaSettings
from stowplan.embedded.http.answers import Respond
from stowplan.embedded.registry.precedence import Precedence
from stowplan.engine.ports import Report
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.identity import Credentials
from stowplan.local.components import tell_broken
from stowplan.local.in_process_api import InProcessTransport, InProcessWriter
from stowplan.observe.logs import Logging
from stowplan.observe.metrics import Metrics
from stowplan.observe.report_log import tell_all
from stowplan.serving.routes import Pages

#: Below zero there is no limit: the server is nobody else's.
UNLIMITED: Final = -1.0


@dataclass(frozen=True, slots=True)
class ApiServerAccess:
    """How the API server of this process is reached."""

    credentials: Credentials
    respond: Respond
    #: Writes what every pod needs; None if each write is to be a request, because requests are written down.
    shortcut: InProcessWriter | None


class LocalScheduler:
    """Schedules the pods of one server from `start` to `stop`."""

    def __init__(
        self,
        settings: ReplicaSettings,
        server: ApiServerAccess,
        precedence: Precedence,
        broken: asyncio.Future[None],
    ) -> None:
        """Make it; `broken` is told if something ends that should go on."""
        self._options, self._precedence, self._broken = settings.options, precedence, broken
        self._shortcut = server.shortcut
        self._connections = KubeClients(*(_client(server, name, settings.metrics) for name in ("scheduler", "", "")))
        if self._shortcut is not None:
            settings = replace(settings, writer=self._shortcut.before)
        self.replica = Replica(settings, self._connections, lambda: True)
        self._tasks = Tasks(self._end)
        self._cycles: asyncio.Task[None] | None = None
        self._is_ending = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way; see `Scheduler.is_idle`."""
        return self.replica.watching.is_scheduling and self.replica.scheduler.is_idle

    def listen(self, listener: Callable[[Report], None]) -> None:
        """Let somebody else hear, too, what becomes of pods."""
        environment = self.replica.scheduler.environment
        environment.tell = tell_all(environment.tell, listener)

    async def start(self) -> None:
        """Learn the cluster, then begin to schedule."""
        replica = self.replica
        self._begin(replica.recorder.run())
        if self._shortcut is not None:
            self._begin(self._shortcut.run())
        self._begin(replica.watching.run())
        await replica.sync()
        replica.watching.is_scheduling = True
        self._cycles = self._begin(replica.scheduler.run())
        self._begin(replica.scheduler.run_timers())

    async def stop(self) -> None:
        """Take no more pods, let bindings and events end, and close the connections."""
        self._is_ending = True
        replica = self.replica
        replica.scheduler.stop()
        if self._cycles is not None:
            await replica.settle(self._cycles, *((self._shortcut.drain,) if self._shortcut is not None else ()))
        replica.watching.is_scheduling = False
        await self._tasks.cancel()
        await replica.close()
        await self._connections.close()

    def pages(self, logging: Logging, page_of: PageOf | None) -> Pages:
        health = Health(lambda: self._is_ending, self.replica.watching.problem)
        return pages_of(self._options, self.replica, health, logging, page_of)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.start(self._precedence.behind(work))

    def _end(self, task: asyncio.Task[None]) -> None:
        if not self._is_ending:
            tell_broken(self._broken, task)


def _client(server: ApiServerAccess, name: str, metrics: Metrics) -> Client:
    agent = f"{USER_AGENT}/{name}" if name else USER_AGENT
    credentials = server.credentials
    line = InProcessTransport(server.respond, credentials.authorization, agent)
    told = told_to(metrics.requests, credentials.server)
    return Client(credentials, ClientSettings(agent, qps=UNLIMITED), told, line)
