"""The scheduler of a benchmark: the replica that `stowplan run` runs, before a virtual API server.

Queue, cycles, cache, event handlers, metrics, log and the recorder of events are the shipped ones, put together as they
always are. Watches are not opened: the virtual server tells what happens where an informer would. Events are made,
encoded and handed to a client whose transport answers at once.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

from stowplan.app.options import RunOptions
from stowplan.app.process import Tasks, settle_down
from stowplan.app.replica import KubeClients, Replica, ReplicaSettings
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.virtual_api import VirtualApi, VirtualWriter
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.types import Configuration
from stowplan.engine.ports import GivenBack, Report, Trouble
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.connections import ApiAnswer
from stowplan.kube.identity import Credentials
from stowplan.kube.transport import ApiRequest, IncomingAnswer
from stowplan.model.meta import ApiObject
from stowplan.observe.metrics import Metrics
from stowplan.observe.report_log import log_report, tell_all

#: Below zero there is no limit.
_UNLIMITED: Final = -1.0
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_CREATED: Final = ApiAnswer(201, "Created", _NO_HEADERS, b"{}")


class VirtualScheduler:
    """Schedules the pods of a virtual API server from `start` to `stop`."""

    def __init__(
        self, api: VirtualApi, configuration: Configuration, gates: FeatureGates, now_ns: Callable[[], int], seed: int
    ) -> None:
        self.events = SinkTransport()
        client = Client(
            Credentials("http://virtual", _Anonymous()),
            ClientSettings("stowplan-bench", qps=_UNLIMITED),
            transport=self.events,
        )
        self.metrics = Metrics(now_ns, gates)
        self.series = self.metrics.series
        self.process = MeasuredProcess()
        settings = ReplicaSettings(
            RunOptions(feature_gates=gates), configuration, self.metrics, now_ns, seed, VirtualWriter(api).before
        )
        self.replica = Replica(settings, KubeClients(client, client, client), lambda: True)
        models = (one.resource.model for one in self.replica.watching.informers)
        #: What it watches.
        self.kinds: frozenset[type[ApiObject]] = frozenset(model for model in models if model is not None)
        api.watch(self.replica.watching.take, self.kinds)
        #: What went wrong in attempts and beside them, and how often; attempts that fail so are made again.
        self.troubles: Counter[str] = Counter()
        environment = self.replica.scheduler.environment
        environment.tell = tell_all(self.metrics, self._listen, self.replica.timeline)
        self._gc_pace = gc.get_threshold()
        self._tasks = Tasks()
        self._cycles: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to schedule."""
        replica = self.replica
        self._tasks.start(replica.recorder.run())
        replica.watching.is_scheduling = True
        self._cycles = self._tasks.start(replica.scheduler.run())
        self._tasks.start(replica.scheduler.run_timers())

    async def settle(self) -> None:
        """Wait until everything that happened so far is taken in, and every event so far is written."""
        taken_in = asyncio.get_running_loop().create_future()
        self.replica.watching.submit(lambda now_ns: taken_in.set_result(None))
        await taken_in
        await self.replica.recorder.drain()

    def tidy(self) -> None:
        """Collect garbage and leave alone what is there, as a scheduler does that has just got to know its cluster."""
        settle_down()

    def _listen(self, report: Report) -> None:
        """Log what the flow reports, as always, but keep troubles for the outcome."""
        match report:
            case Trouble():
                self.troubles[report.text] += 1
            case GivenBack() if report.is_error:
                # Without the name of the pod, which is in most of them.
                self.troubles[report.message.replace(report.pod.name, "...")] += 1
            case _:
                log_report(report)

    @property
    def fault(self) -> BaseException | None:
        """What ended the loop, if it has ended."""
        cycles = self._cycles
        return cycles.exception() if cycles is not None and cycles.done() and not cycles.cancelled() else None

    async def stop(self) -> None:
        self.replica.scheduler.stop()
        self.replica.watching.is_scheduling = False
        await self._tasks.cancel()
        await self.replica.close()
        gc.unfreeze()
        gc.set_threshold(*self._gc_pace)


class SinkTransport:
    """A `kube.transport.Transport` that answers every request that it is done, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    async def close(self) -> None:
        """Nothing is open."""

    async def renew(self, request: ApiRequest) -> None:
        """Nobody is asked who they are."""

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        self.count += 1
        return _CREATED

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[IncomingAnswer]:
        raise NotImplementedError(f"{request.path}: nothing is watched by requests here")
        yield


class _Anonymous:
    async def header(self) -> str:
        return ""

    async def renew(self) -> None:
        """There is nothing to renew."""
