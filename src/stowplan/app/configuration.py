"""The configuration in force: what is written down, checked against the plugins that exist, and changed by flags.

It is written in a file, in a ConfigMap, or on the command line itself: a source gives the text and says when it may
have changed, and `app/reload.py` says what another one changes. `config` knows the file format and its rules; the
registry of plugins says who exists and where each takes part, and loads those that a configuration writes out.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import msgspec

from stowplan.app.options import OptionError, RunOptions, apply_flags
from stowplan.config import feature_gates, releases
from stowplan.config.declarations import PluginDeclaration, is_reference
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import AS_IT_IS, Reading, default_configuration, from_mapping, load, to_yaml
from stowplan.config.types import ClientConnection, Configuration
from stowplan.config.validate import validate
from stowplan.framework.registry import Registry
from stowplan.kube.client import ApiRequest
from stowplan.kube.errors import RequestError
from stowplan.observe.logs import log_for
from stowplan.plugins import in_tree
from stowplan.queue.places import QueueLimits

if TYPE_CHECKING:
    from stowplan.observe.component_metrics import RequestMetrics

STDIN: Final = "-"
CONFIG_KEY: Final = "config.yaml"
POLL_SECONDS: Final = 5.0

#: What a program may give as a configuration: a file, the text of one, what was read from one, or a finished one.
ConfigurationLike: TypeAlias = Configuration | Path | str | Mapping[str, object] | None

_log = log_for(__name__)


async def configure(options: RunOptions, source: ConfigurationSource | None, *, is_told: bool = True) -> Configuration:
    """Return the configuration in force at start; raise ConfigError, RegistryError or SourceError if there is none.

    What of it has no effect is told, unless it is only looked at to find the API server.
    """
    gates = options.feature_gates
    how = reading(options) if is_told else Reading(options.legacy_config)
    written = read_configuration(None if source is None else await source.read(), gates, how)
    found = apply_flags(options, written)
    # The flags may have made it wrong.
    validate(found, gates)
    return found


def reading(options: RunOptions) -> Reading:
    """Return how a configuration is read: what has no effect goes to the log."""
    return Reading(options.legacy_config, _log.warning)


def write_configuration(configuration: Configuration, path: str) -> None:
    try:
        Path(path).write_text(to_yaml(configuration), encoding="utf-8")
    except OSError as error:
        raise OptionError(f"--write-config-to {path}: cannot be written: {error.strerror}") from error


def queue_limits(config: Configuration, gates: FeatureGates = DEFAULT_GATES) -> QueueLimits:
    """Return how long pods wait under a configuration."""
    return QueueLimits(
        initial_backoff_seconds=config.pod_initial_backoff_seconds,
        max_backoff_seconds=config.pod_max_backoff_seconds,
        pops_early=gates.enabled("SchedulerPopFromBackoffQ"),
        narrows=gates.enabled("SchedulerPreQueueingHints"),
        nominates_gated=gates.changed("GatedPodsAreNominated"),
        counts_strangers_as_added=gates.changed("UnknownUpdateIsAnAddition"),
    )


def queue_limits_of(options: RunOptions, config: Configuration) -> QueueLimits:
    """Return how long pods wait: what the configuration says, and the flag for what it has no field for."""
    longest = int(options.pod_max_in_unschedulable_pods_duration.seconds)
    return replace(queue_limits(config, options.feature_gates), max_unschedulable_seconds=longest)


# What a text means


def read_configuration(
    text: str | None, gates: FeatureGates = DEFAULT_GATES, reading: Reading = AS_IT_IS
) -> Configuration:
    """Read the text of a configuration file, or give the default configuration without one.

    Raise ConfigError or RegistryError if it cannot be used.
    """
    known = KnownPlugins(installed_plugins(), gates)
    return default_configuration(known, gates) if text is None else load(text, known, gates, reading)


def _warn(note: str) -> None:
    # Told of the line that makes the cluster: from here by way of the reader and `Cluster`.
    warnings.warn(note, stacklevel=6)


WARNING: Final = Reading(tell=_warn)


def as_configuration(given: ConfigurationLike, registry: Registry, gates: FeatureGates) -> Configuration:
    """Read a configuration, however it is given; of texts, one with a line break or a brace is no path."""
    known = KnownPlugins(registry, gates)
    match given:
        case Configuration():
            return given
        case None:
            return default_configuration(known, gates)
        case Mapping():
            with _named("the mapping"):
                return from_mapping(given, known, gates, WARNING)
        case str() if "\n" in given or given.lstrip().startswith("{"):
            with _named("the text"):
                return load(given, known, gates, WARNING)
        case str() if not given.strip():
            raise ValueError("config: the text is empty; give a path, a text, a mapping, or None for the defaults")
        case str() | Path():
            text = _text_of(Path(given))
            with _named(str(given)):
                return load(text, known, gates, WARNING)
    raise TypeError(f"config: {type(given).__name__} is no configuration; give a path, a text, or a mapping")


@contextmanager
def _named(source: str) -> Iterator[None]:
    """Have an error say which configuration it is about."""
    try:
        yield
    except ConfigError as error:
        where = f"config: {source}: {error.stage}"
        raise ConfigError(error.stage, error.message, error.field, error.remedy, where) from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"not a text file in UTF-8: {error.reason} at byte {error.start}"
        raise ValueError(f"config: {path}: {problem}; give a KubeSchedulerConfiguration in YAML or JSON") from None
    except OSError as error:
        remedy = "check the path, or give the text itself, which has a line break or begins with a brace"
        raise type(error)(f"config: {path}: cannot be read: {error.strerror}; {remedy}") from None


def as_gates(given: object, release: str | None = None) -> FeatureGates:
    """Take feature gates as they were read, as a mapping, or as `--feature-gates` has them, in a release."""
    if isinstance(given, FeatureGates):
        if release not in (None, given.release):
            raise ValueError(f"release: {release!r} is not that of the feature gates, {given.release!r}; leave it out")
        return given
    if release is not None and release not in tuple(releases.RELEASES):
        known = " or ".join(f'"{one}"' for one in sorted(releases.RELEASES))
        raise releases.ReleaseError(f"release: expected {known}, got {release!r:.60}")
    wanted = release or releases.DEFAULT
    if isinstance(given, str | None):
        return feature_gates.parse(given or "", release=wanted)
    if isinstance(given, Mapping) and all(isinstance(value, bool) for value in given.values()):
        return feature_gates.with_settings(given, wanted)
    expected = 'a mapping such as {"StorageCapacityScoring": True}, or text as --feature-gates takes it'
    raise TypeError(f"feature_gates: expected {expected}, got {given!r:.60}")


def installed_plugins() -> Registry:
    """Return the in-tree plugins and what installed packages offer."""
    registry = Registry(in_tree())
    registry.add_entry_points()
    return registry


class KnownPlugins(Mapping[str, PluginDeclaration]):
    """What every plugin declares, by name; one written out as `where:Class` is loaded when it is looked up."""

    def __init__(self, registry: Registry, gates: FeatureGates) -> None:
        self._registry = registry
        self._gates = gates
        self._declared = registry.declarations(gates)

    def __getitem__(self, name: str) -> PluginDeclaration:
        if is_reference(name) and name not in self._declared:
            cls = self._registry.load(name)
            self._declared[name] = self._registry.declarations(self._gates)[cls.__name__]
        return self._declared[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


# Where it is written


class SourceError(Exception):
    """The text could not be had; the message names the source and what to do."""


def read_text(path: str | Path) -> str:
    """Read a file, or the standard input if the path is written `-`; raise SourceError if that cannot be done."""
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not a text file in UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}; check the path") from None


class ConfigurationSource(Protocol):
    """Somewhere a configuration is written down."""

    @property
    def name(self) -> str:
        """What messages call it."""

    async def read(self) -> str:
        """Return the text as it is now; raise SourceError if there is none."""

    async def changed(self) -> None:
        """Return once the text may be another than the one read last; never, if it cannot change."""


class FileSource:
    """A file, looked at every few seconds: a ConfigMap mounted as a volume changes by having its link replaced."""

    def __init__(self, path: str | Path, poll_seconds: float = POLL_SECONDS) -> None:
        self._path = Path(path)
        self._poll_seconds = poll_seconds
        #: What was read last; None if nothing could be.
        self._seen: str | None = None

    @property
    def name(self) -> str:
        return str(self._path)

    async def read(self) -> str:
        self._seen = None
        self._seen = await asyncio.to_thread(read_text, self._path)
        return self._seen

    async def changed(self) -> None:
        # Comparing the text, not its time: times are coarse, and links are replaced by links to older files. Two looks
        # must agree, for a file may be half written at the first.
        last = self._seen
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                found = await asyncio.to_thread(read_text, self._path)
            except SourceError:
                found = None
            if found == last != self._seen:
                return
            last = found


class ConfigMapSource:
    """A ConfigMap with the configuration under `config.yaml`, fetched when it is read, and again every few seconds."""

    def __init__(self, fetch: Callable[[], Awaitable[Mapping[str, Any]]], poll_seconds: float = POLL_SECONDS) -> None:
        self._fetch = fetch
        self._poll_seconds = poll_seconds
        #: The object that was read last; None if nothing could be.
        self._seen: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        if self._seen is None:
            return "ConfigMap"
        metadata = self._seen.get("metadata") or {}
        return f"ConfigMap {metadata.get('namespace', 'default')}/{metadata.get('name', '')}"

    async def read(self) -> str:
        self._seen = await self._fetch()
        data = self._seen.get("data") or {}
        if CONFIG_KEY not in data:
            keys = ", ".join(sorted(data)) or "none"
            problem = f"data.{CONFIG_KEY}: Required value; put the configuration there (keys: {keys})"
            raise SourceError(f"{self.name}: {problem}")
        text: str = data[CONFIG_KEY]
        return text

    async def changed(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                found = await self._fetch()
            except SourceError:
                # Out of reach for now: what is in force stays.
                continue
            if self._seen is None or found.get("data") != self._seen.get("data"):
                return


class InlineSource:
    """A text given on the command line; it cannot change."""

    name = "--config-text"

    def __init__(self, text: str) -> None:
        self._text = text

    async def read(self) -> str:
        return self._text

    async def changed(self) -> None:
        await asyncio.Event().wait()


async def find_source(options: RunOptions, requests: RequestMetrics) -> ConfigurationSource | None:
    """Return where the configuration is written down; None if nowhere."""
    named = [name for name in ("config", "config-map", "config-text") if name in options.given]
    if len(named) > 1:
        raise OptionError(f"--{' and --'.join(named)} each give a configuration; give one of them")
    if options.config:
        return FileSource(options.config)
    if options.config_text:
        return InlineSource(options.config_text)
    if options.config_map:
        return ConfigMapSource(partial(_get_config_map, options, requests))
    return None


async def _get_config_map(options: RunOptions, requests: RequestMetrics) -> dict[str, Any]:
    namespace, slash, name = options.config_map.partition("/")
    if not (namespace and slash and name):
        raise OptionError(f"--config-map {options.config_map!r}: write NAMESPACE/NAME")
    # Loaded here: a configuration in a file needs no client.
    from stowplan.app.clients import open_client

    client = await open_client(ClientConnection(options.kubeconfig), options.master, "", requests)
    try:
        answer = await client.send(ApiRequest("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}"))
    except RequestError as error:
        raise SourceError(f"--config-map {options.config_map}: cannot be read: {error.describe()}") from error
    finally:
        await client.close()
    return msgspec.json.decode(answer, type=dict[str, Any])
