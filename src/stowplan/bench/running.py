"""Runs workloads one after another, each on a cluster and a scheduler of its own, and says what became of each."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from stowplan.app.configuration import read_configuration
from stowplan.app.process import now, run, steady_clock
from stowplan.bench.creating import Creator
from stowplan.bench.device_claims import ClaimController
from stowplan.bench.executor import Executor
from stowplan.bench.measuring import DataItem, Measurement
from stowplan.bench.objects import served_versions
from stowplan.bench.parameters import WorkloadError, read_file
from stowplan.bench.scheduler import VirtualScheduler
from stowplan.bench.virtual_api import VirtualApi
from stowplan.bench.workloads import Selected
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import EVERY_GATE, FeatureGateError, FeatureGates, stages_of, with_settings
from stowplan.config.types import Configuration
from stowplan.framework.registry import RegistryError

#: After how long upstream gives up waiting for pods.
TIMEOUT_SECONDS: Final = 600.0
_TOLD_EVERY_SECONDS: Final = 0.5
#: So many troubles of one workload are told.
_MOST_TROUBLES: Final = 3

#: Told what is going on: the workload, what it does, how many are done, of how many.
Progress = Callable[[str, str, int, int], None]


@dataclass(frozen=True, slots=True)
class ConfigurationText:
    """A configuration as it is written down, and what messages call it."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What all workloads of a run have in common."""

    gates: FeatureGates
    #: For workloads that name none of their own; None for the defaults.
    configuration: ConfigurationText | None = None
    seed: int = 0
    timeout_seconds: float = TIMEOUT_SECONDS
    progress: Progress | None = None


@dataclass(slots=True)
class Outcome:
    """What became of one workload."""

    selected: Selected
    measurements: list[Measurement] = field(default_factory=list)
    #: Why it could not be run, or did not end as it says; empty if it did.
    problem: str = ""
    #: What was not as it says, and made no difference to how it ended.
    notes: list[str] = field(default_factory=list)
    events: int = 0

    @property
    def items(self) -> list[DataItem]:
        return [item for measurement in self.measurements for item in measurement.items]

    def below_threshold(self) -> list[str]:
        """Say which measured values are not as good as upstream asks."""
        threshold, wanted = self.selected.threshold, self.selected.threshold_selector
        found = []
        for item in self.items if threshold else ():
            if item.metric != wanted.name or not wanted.labels.items() <= item.labels.items():
                continue
            value = item.data.get(wanted.data_bucket)
            if value is None or (value >= threshold if wanted.expect_lower else value <= threshold):
                found.append(f"{item.labels['Name']}: {wanted.name} {wanted.data_bucket} is {value}, not {threshold:g}")
        return found


def run_all(selected: Iterable[Selected], settings: RunSettings) -> Iterator[Outcome]:
    """Run workloads; each ends with an outcome, whatever goes wrong in it."""
    for one in selected:
        yield run_one(one, settings)


def run_one(selected: Selected, settings: RunSettings) -> Outcome:
    """Run one workload on a loop of its own."""
    outcome = Outcome(selected)
    try:
        gates = gates_of(selected, settings.gates, outcome.notes)
        found = configuration_of(selected, settings)
        with naming(found):
            configuration = read_configuration(None if found is None else found.text, gates)
        run(_run(outcome, settings, gates, configuration))
    except (ConfigError, FeatureGateError, OSError, RegistryError, WorkloadError) as error:
        outcome.problem = str(error)
    return outcome


def configuration_of(selected: Selected, settings: RunSettings) -> ConfigurationText | None:
    """Return the configuration that a workload names, or that of the run; None for the defaults."""
    if not selected.case.scheduler_config_path:
        return settings.configuration
    path = selected.file(selected.case.scheduler_config_path)
    remedy = f"{selected.case.name} names it as schedulerConfigPath, which is meant from the folder of its file"
    return ConfigurationText(str(path), read_file(path, remedy))


@contextmanager
def naming(configuration: ConfigurationText | None) -> Iterator[None]:
    """Have what is wrong with a configuration say which one it is."""
    source = "the default configuration" if configuration is None else configuration.source
    try:
        yield
    except ConfigError as error:
        raise WorkloadError(f"{source}: {error.stage}: {error}") from None
    except (RegistryError, TypeError, ValueError) as error:
        raise WorkloadError(f"{source}: construct: {error}") from None


async def _run(outcome: Outcome, settings: RunSettings, gates: FeatureGates, configuration: Configuration) -> None:
    steps, parameters = outcome.selected.operations()
    now_ns = steady_clock()
    api = VirtualApi(now, random.Random(settings.seed).randrange)
    ClaimController(api, for_groups=gates.enabled("DRAWorkloadResourceClaims"))
    scheduler = VirtualScheduler(api, configuration, gates, now_ns, settings.seed)
    creator = Creator(api, outcome.selected, parameters, served_versions(scheduler.kinds))
    executor = Executor(creator, scheduler, now_ns, settings.timeout_seconds)
    teller = None
    scheduler.start()
    scheduler.tidy()
    try:
        if settings.progress is not None:
            teller = asyncio.get_running_loop().create_task(
                tell_progress(settings.progress, outcome.selected.name, executor)
            )
        await executor.run(steps)
    finally:
        if teller is not None:
            teller.cancel()
        outcome.measurements = executor.measurements
        outcome.events = scheduler.events.count
        told = scheduler.troubles.most_common(_MOST_TROUBLES)
        outcome.notes += [f"{outcome.selected.name}: {count} times: {text}" for text, count in told]
        await scheduler.stop()


async def tell_progress(progress: Progress, name: str, executor: Executor) -> None:
    """Tell how far a workload is, until cancelled."""
    while True:
        progress(name, *executor.progress)
        await asyncio.sleep(_TOLD_EVERY_SECONDS)


def gates_of(selected: Selected, given: FeatureGates, notes: list[str]) -> FeatureGates:
    """Return the gates of a workload, and those of the command line where it says nothing.

    Some workloads switch gates that the release does not let anybody switch any more: upstream runs these as an older
    release. There is none to be here, so that is noted and the gate left as it is.
    """
    known = stages_of(given.release)
    settings = {name: name in given.on for name, stage in known.items() if not stage.is_locked}
    for name, is_on in selected.feature_gates.items():
        stage = known.get(name)
        if stage is not None and not stage.is_locked:
            settings[name] = is_on
        elif not is_on:
            notes.append(f"{name} cannot be switched off in {given.release}, and is on")
        elif stage is None and name not in EVERY_GATE:
            notes.append(f"{name} is not known here; if {given.release} has it, it makes no difference")
    return with_settings(settings, given.release)
