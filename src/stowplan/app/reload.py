"""Another configuration for a scheduler that runs: checked in full first, then put in force between two cycles.

`reloaded` decides and changes nothing. `Reloader` builds the new profiles and extenders, holds them until the scheduler
says that no cycle is under way, and hands them over. Pods in the queue stay there: what is refused or waits is tried
again with the new profiles like after any change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from stowplan.app.configuration import ConfigurationSource, KnownPlugins, SourceError
from stowplan.app.profiles import Built
from stowplan.config.construct import resolve
from stowplan.config.declarations import Declarations
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import AS_IT_IS, Reading, load
from stowplan.config.types import Configuration
from stowplan.framework import plugin_source
from stowplan.framework.registry import Registry, RegistryError

# Read once, by what is made of them at start: the client, the lease, the server and the queue.
NEEDS_RESTART: Final = frozenset(
    {
        "parallelism",
        "leader_election",
        "client_connection",
        "enable_profiling",
        "enable_contention_profiling",
        "pod_initial_backoff_seconds",
        "pod_max_backoff_seconds",
        "delay_cache_until_active",
    }
)


@dataclass(frozen=True, slots=True)
class AcceptedConfiguration:
    """A configuration that can be put in force; fields are named as in the file."""

    #: As it will be in force: what needs a restart is still as it was.
    configuration: Configuration
    changes: tuple[str, ...] = ()
    needs_restart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RejectedConfiguration:
    """A configuration that cannot be used; the one in force stays."""

    reason: str


def reloaded(
    current: Configuration,
    text: str,
    registry: Registry,
    gates: FeatureGates = DEFAULT_GATES,
    reading: Reading = AS_IT_IS,
) -> AcceptedConfiguration | RejectedConfiguration:
    """Check a new text through all stages and say what it changes; whether the queue may be sorted so is not asked."""
    known = KnownPlugins(registry, gates)
    try:
        wanted = load(text, known, gates, reading)
    except ConfigError as error:
        return RejectedConfiguration(f"{error.stage}: {error}")
    except RegistryError as error:
        return RejectedConfiguration(f"construct: {error}")
    return _compare(current, wanted)


def _sorter(config: Configuration, known: Declarations) -> tuple[str, object]:
    """Return the plugin that sorts the queue and its arguments; they are the same in all profiles."""
    profile = config.profiles[0]
    [(name, _)] = resolve(profile, known)["queue_sort"]
    return name, profile.plugin_config.get(name)


def _compare(current: Configuration, wanted: Configuration) -> AcceptedConfiguration:
    changes: list[str] = []
    needs_restart: list[str] = []
    kept: dict[str, object] = {}
    for each in msgspec.structs.fields(Configuration):
        old, new = getattr(current, each.name), getattr(wanted, each.name)
        if old == new:
            continue
        if each.name in NEEDS_RESTART:
            needs_restart.append(each.encode_name)
            kept[each.name] = old
        elif each.name == "profiles":
            changes += _changed_profiles(current, wanted)
        else:
            changes.append(each.encode_name)
    return AcceptedConfiguration(msgspec.structs.replace(wanted, **kept), tuple(changes), tuple(needs_restart))


def _changed_profiles(current: Configuration, wanted: Configuration) -> list[str]:
    old = {profile.scheduler_name: profile for profile in current.profiles}
    new = {profile.scheduler_name: profile for profile in wanted.profiles}
    changed = [f"profile {name!r} added" for name in new if name not in old]
    changed += [f"profile {name!r} removed" for name in old if name not in new]
    changed += [f"profile {name!r} changed" for name in new if name in old and new[name] != old[name]]
    return changed or ["order of profiles"]


@dataclass(slots=True)
class Reloader:
    """Owns the configuration in force, and at most one that waits to replace it.

    `build` makes profiles and extenders without using them; `swap` puts them in force and is called by `apply` only.
    """

    configuration: Configuration
    registry: Registry
    build: Callable[[Configuration, Registry], Built]
    swap: Callable[[Configuration, Built], None]
    gates: FeatureGates = DEFAULT_GATES
    reading: Reading = AS_IT_IS
    _waiting: tuple[Configuration, Built] | None = field(default=None, init=False)
    _has_new_code: bool = field(default=False, init=False)

    def offer(self, text: str) -> AcceptedConfiguration | RejectedConfiguration:
        """Check a new text; if it is good, hold it until `apply`, in place of one that waits already."""
        answer, built = self._made(text, self.registry)
        if built is not None and isinstance(answer, AcceptedConfiguration):
            self._waiting = (answer.configuration, built) if answer.changes or self._has_new_code else None
        return answer

    def offer_anew(self, text: str, plugins: Callable[[], Registry]) -> AcceptedConfiguration | RejectedConfiguration:
        """Do the same with the plugins as they are written now; `plugins` finds them again.

        If anything about them is no good, all of them stay as they are.
        """
        sorted_by = self._text_of_sorter(self.configuration, self.registry)
        with plugin_source.reading_anew(self.registry.foreign) as rereading:
            try:
                registry = plugins()
            except RegistryError as error:
                return RejectedConfiguration(f"construct: {error}")
            answer, built = self._made(text, registry)
            if built is None or isinstance(answer, RejectedConfiguration):
                return answer
            if self._text_of_sorter(answer.configuration, registry) != sorted_by:
                what = "the code that sorts the queue has changed, and pods wait in the order of the old one"
                return RejectedConfiguration(f"profiles: {what}; restart the scheduler to sort it otherwise")
            rereading.keep()
        self._waiting, self._has_new_code, self.registry = (answer.configuration, built), True, registry
        return answer

    def _made(
        self, text: str, registry: Registry
    ) -> tuple[AcceptedConfiguration | RejectedConfiguration, Built | None]:
        answer = reloaded(self.configuration, text, registry, self.gates, self.reading)
        if isinstance(answer, RejectedConfiguration):
            return answer, None
        # What is in force is known by the plugins in force: of those that are offered, some may have gone with it.
        sorter = _sorter(self.configuration, KnownPlugins(self.registry, self.gates))
        if _sorter(answer.configuration, KnownPlugins(registry, self.gates)) != sorter:
            what = f"the queue is sorted by {sorter[0]!r}, and pods wait in that order"
            return RejectedConfiguration(f"profiles: {what}; restart the scheduler to sort it otherwise"), None
        try:
            # A plugin may refuse its arguments only when it is made, and a certificate is no good only when it is read.
            return answer, self.build(answer.configuration, registry)
        except Exception as error:
            return RejectedConfiguration(f"construct: {error}"), None

    def _text_of_sorter(self, config: Configuration, registry: Registry) -> bytes | None:
        """Return how the plugin that sorts the queue is written; None of one that cannot change."""
        name = _sorter(config, KnownPlugins(registry, self.gates))[0].rpartition(":")[2]
        return next((plugin_source.text_of(cls) for cls in registry.foreign if cls.__name__ == name), None)

    def apply(self) -> bool:
        """Put in force what waits, if anything does. Called between two cycles, never inside one."""
        if self._waiting is None:
            return False
        self.configuration, built = self._waiting
        self._waiting, self._has_new_code = None, False
        self.swap(self.configuration, built)
        return True

    async def reread(
        self, source: ConfigurationSource, plugins: Callable[[], Registry] | None = None
    ) -> AcceptedConfiguration | RejectedConfiguration:
        """Read a source again, if told how to find them the plugins, too, and offer what it says."""
        try:
            text = await source.read()
            return self.offer(text) if plugins is None else self.offer_anew(text, plugins)
        except SourceError as error:
            return RejectedConfiguration(str(error))

    async def follow(
        self, source: ConfigurationSource, tell: Callable[[AcceptedConfiguration | RejectedConfiguration], None]
    ) -> None:
        """Offer every new text of a source, and tell what became of it, until cancelled."""
        while True:
            await source.changed()
            tell(await self.reread(source))
