"""A scheduler on a stage: a cluster of notes under virtual time, with faults on cue, and everybody watched.

After every step the queue and the cache are validated. `test_scenarios` plays the files, `properties/test_flow.py`
improvises.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.cache.validate import validate_cache
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.types import Configuration
from stowplan.engine.ports import GivenBack, Placed, Report, Timeouts, Trouble
from stowplan.engine.scheduler import Scheduler
from stowplan.queue.validate import contents, validate_queue
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.simulate.virtual_time import VirtualTimeLoop
from tests.scenarios.plugins import Scripted

HERE = "tests.scenarios.plugins"


@dataclass
class Fault:
    """Something that goes wrong with a write: it fails with a text, or takes a while."""

    verb: str
    pod: str = ""
    times: int = 1
    text: str = ""
    hang: float = 0


class StageCluster(Cluster):
    """Notes the calls of the plugins in `plugins.py`, in order over all of them."""

    def __init__(self, config: Configuration, gates: FeatureGates) -> None:
        super().__init__(config, ties="upstream", feature_gates=gates)
        self.calls: list[str] = []
        for profile in self.profiles.values():
            for plugin in profile.foreign:
                if isinstance(plugin, Scripted):
                    plugin.calls = self.calls


class Stage:
    """One scheduler at a time, and the cluster that outlives it."""

    def __init__(
        self,
        config: Configuration,
        timeouts: Timeouts | None = None,
        gates: FeatureGates = DEFAULT_GATES,
        **notebook: float,
    ) -> None:
        self._config = config
        self._gates = gates
        self._timeouts = timeouts
        self.faults: list[Fault] = []
        self.book = FakeCluster(self._fault, **notebook)
        self.reports: deque[tuple[float, Report]] = deque()
        self.cluster: StageCluster
        self.scheduler: Scheduler
        self.cycles: asyncio.Task[None]
        self._tasks: list[asyncio.Task[None]] = []

    # Schedulers come and go

    def start(self) -> None:
        """Let a scheduler begin that knows nothing but what the cluster tells."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.cluster = StageCluster(self._config, self._gates)
        self.scheduler = assemble(self.cluster, self.book, loop.now_ns, self._timeouts)
        self.scheduler.environment.tell = lambda report: self.reports.append((round(loop.time(), 3), report))
        self.book.connect(self.scheduler)
        self.cycles = loop.create_task(self.scheduler.run())
        self._tasks = [self.cycles, loop.create_task(self.scheduler.run_timers())]

    async def crash(self) -> None:
        """Stop everything the scheduler does, wherever it is."""
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        for task in self._tasks:
            await asyncio.wait([task])

    async def finish(self) -> None:
        """Stop in good order."""
        self.scheduler.stop()
        await self.cycles
        self._tasks[1].cancel()
        await asyncio.wait(self._tasks)

    async def wait(self, seconds: float) -> None:
        """Let time pass, then see whether everything is in order."""
        await asyncio.sleep(seconds)
        # What happens at this very moment, too.
        for _ in range(100):
            await asyncio.sleep(0)
        self.validate()

    def validate(self) -> None:
        validate_queue(self.scheduler.state.queue)
        validate_cache(self.scheduler.state.cache)

    # What can be seen

    def plugin(self, name: str) -> Any:
        """Find a plugin of any profile."""
        for profile in self.cluster.profiles.values():
            for plugin in profile.foreign:
                if plugin.name == name:
                    return plugin
        raise AssertionError(f"no plugin {name}")

    def places(self) -> dict[str, str]:
        """Return where each pod is that is not bound: its place in the queue, or assumed."""
        found = {
            entry.pod.key: place.value
            for place, entries in contents(self.scheduler.state.queue).items()
            for entry in entries
        }
        assumed = {placed.pod.key: "assumed" for placed in self.scheduler.state.cache.pods() if placed.is_assumed}
        return {**assumed, **found}

    def tried(self, key: str) -> list[float]:
        """Return when a pod was tried: it got a node then, or was given back without having got one."""
        times = []
        has_node = False
        for at, report in self.reports:
            if isinstance(report, GivenBack | Placed) and report.pod.key == key:
                if not has_node:
                    times.append(at)
                has_node = isinstance(report, Placed)
        return times

    def troubles(self) -> list[str]:
        """Return what went wrong, without tracebacks."""
        texts = [report.text for _, report in self.reports if isinstance(report, Trouble)]
        return [text for text in texts if "Traceback" not in text]

    def leftovers(self) -> dict[str, int]:
        """Count what must be nothing once everything has come to its end."""
        return {
            "in flight": len(self.scheduler.state.queue.in_flight),
            "assumed": sum(placed.is_assumed for placed in self.scheduler.state.cache.pods()),
            "waiting": len(self.scheduler.state.waiting),
            "evictions": len(self.cluster.handle.evictions),
            "status writes": len(self.scheduler._tasks.status_writes),
        }

    # Faults

    async def _fault(self, verb: str, pod_key: str) -> None:
        for fault in self.faults:
            if fault.verb == verb and fault.pod in ("", pod_key.partition("/")[2]) and fault.times:
                fault.times -= 1
                if fault.hang:
                    await asyncio.sleep(fault.hang)
                if fault.text:
                    raise RuntimeError(fault.text)
                return


def configuration(script: Sequence[dict[str, Any]] = (), **profile: Any) -> Configuration:
    """Return a configuration with plugins of `plugins.py` behind the usual ones, in the order given."""
    named = [(f"{HERE}:{name}", arguments) for plugin in script for name, arguments in plugin.items()]
    profile.setdefault("schedulerName", "default-scheduler")
    enabled = {"multiPoint": {"enabled": [{"name": name} for name, _ in named]}}
    profile["plugins"] = {**enabled, **profile.get("plugins", {})}
    profile["pluginConfig"] = [{"name": name, "args": arguments} for name, arguments in named if arguments]
    return configuration_of([profile])


def configuration_of(profiles: Sequence[dict[str, Any]]) -> Configuration:
    return read_configuration(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": list(profiles),
            }
        )
    )
