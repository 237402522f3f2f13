"""The configuration in force: what is written down, checked against the plugins that exist, and changed by flags.

`app/configuration_source.py` has where the text comes from, and `app/reload.py` what another one changes later on.
`config` knows the file format and its rules; the registry of plugins says who exists and where each takes part, and
loads those that a configuration writes out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from stowplan.app.configuration_source import (
    ConfigurationSource,
)
from stowplan.app.options import OptionError, RunOptions, apply_flags
from stowplan.config import feature_gates
from stowplan.config.external import to_yaml
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import AS_IT_IS, Reading, default_configuration, from_mapping, load
from stowplan.config.points import IN_TREE
from stowplan.config.types import Configuration
from stowplan.config.validate import validate
from stowplan.framework.registry import Registry
from stowplan.observe.logs import log_for
from stowplan.plugins import NOT_BUILT, in_tree
from stowplan.queue.backoff import QueueLimits

_log = log_for(__name__)


async def configure(options: RunOptions, source: ConfigurationSource | None) -> Configuration:
    """Return the configuration in force at start; raise ConfigError, RegistryError or SourceError if there is none."""
    gates = options.feature_gates
    if source is None:
        written = default_configuration(KnownPlugins(installed_plugins()), gates)
    else:
        written = read_configuration(await source.read(), gates, reading(options))
    found = apply_flags(options, written)
    # The flags may have made it wrong.
    validate(found, gates)
    return found


def reading(options: RunOptions) -> Reading:
    """Return how a configuration is read: what has no effect goes to the log."""
    return Reading(options.legacy_config, _log.warning)


def write_configuration(configuration: Configuration, path: str) -> None:
    """Write a configuration for --write-config-to."""
    try:
        Path(path).write_text(to_yaml(configuration), encoding="utf-8")
    except OSError as error:
        raise OptionError(f"--write-config-to {path}: cannot be written: {error.strerror}") from error


def read_configuration(text: str, gates: FeatureGates = DEFAULT_GATES, reading: Reading = AS_IT_IS) -> Configuration:
    """Read the text of a configuration file; raise ConfigError or RegistryError if it cannot be used."""
    return load(text, KnownPlugins(installed_plugins()), gates, reading)


#: What a program may give as a configuration: a file, the text of one, what was read from one, or a finished one.
ConfigurationLike: TypeAlias = Configuration | Path | str | Mapping[str, object] | None


def _warn(note: str) -> None:
    # Told of the line that makes the cluster: from here by way of the reader and `Cluster`.
    warnings.warn(note, stacklevel=6)


WARNING: Final = Reading(tell=_warn)


def as_configuration(given: ConfigurationLike, registry: Registry, gates: FeatureGates) -> Configuration:
    """Read a configuration, however it is given; of texts, one with a line break or a brace is no path."""
    known = KnownPlugins(registry)
    match given:
        case Configuration():
            return given
        case None:
            return default_configuration(gates=gates)
        case Mapping():
            return from_mapping(given, known, gates, WARNING)
        case str() if "\n" in given or given.lstrip().startswith("{"):
            return load(given, known, gates, WARNING)
        case str() if not given.strip():
            raise ValueError("config: the text is empty; give a path, a text, a mapping, or None for the defaults")
        case str() | Path():
            return load(Path(given).read_text(encoding="utf-8"), known, gates, WARNING)
    raise TypeError(f"config: {type(given).__name__} is no configuration; give a path, a text, or a mapping")


def as_gates(given: object) -> FeatureGates:
    """Take feature gates as they were read, as a mapping, or as `--feature-gates` has them."""
    if isinstance(given, FeatureGates):
        return given
    if isinstance(given, str):
        return feature_gates.parse(given)
    if isinstance(given, Mapping) and all(isinstance(value, bool) for value in given.values()):
        return feature_gates.with_settings(given)
    expected = 'a mapping such as {"StorageCapacityScoring": True}, or text as --feature-gates takes it'
    raise TypeError(f"feature_gates: expected {expected}, got {given!r:.60}")


def installed_plugins() -> Registry:
    """Return the in-tree plugins, the names of those that are not built, and what installed packages offer."""
    registry = Registry(in_tree(), {name: IN_TREE[name] for name in NOT_BUILT})
    registry.add_entry_points()
    return registry


def queue_limits(config: Configuration, gates: FeatureGates = DEFAULT_GATES) -> QueueLimits:
    """Return how long pods wait under a configuration."""
    return QueueLimits(
        initial_backoff_seconds=config.pod_initial_backoff_seconds,
        max_backoff_seconds=config.pod_max_backoff_seconds,
        pops_early=gates.enabled("SchedulerPopFromBackoffQ"),
    )


def queue_limits_of(options: RunOptions, config: Configuration) -> QueueLimits:
    """Return how long pods wait: what the configuration says, and the flag for what it has no field for."""
    longest = int(options.pod_max_in_unschedulable_pods_duration.seconds)
    return replace(queue_limits(config, options.feature_gates), max_unschedulable_seconds=longest)


class KnownPlugins(Mapping[str, frozenset[str]]):
    """The extension points of every plugin by name; one written out as `where:Class` is loaded when it is looked up."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._points = registry.points()

    def __getitem__(self, name: str) -> frozenset[str]:
        if ":" in name and name not in self._points:
            cls = self._registry.load(name)
            self._points[name] = self._registry.points()[cls.__name__]
        # In-tree plugins take part where upstream's do, also at points that are not run here.
        return self._points[name] | IN_TREE.get(name, frozenset())

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)
