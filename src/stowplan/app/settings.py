"""Configuration files as a scheduler reads them: checked against the plugins that exist, loading those they write out.

`config` knows the file format and its rules; the registry of plugins says who exists and what each declares.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from stowplan.config.declarations import PluginDeclaration, is_reference
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.load import AS_IT_IS, Reading, default_configuration, from_mapping, load
from stowplan.config.types import Configuration
from stowplan.framework.registry import Registry
from stowplan.plugins import NOT_BUILT, in_tree
from stowplan.queue.backoff import QueueLimits


def read_configuration(
    text: str | None, gates: FeatureGates = DEFAULT_GATES, reading: Reading = AS_IT_IS
) -> Configuration:
    """Read the text of a configuration file, or give the default configuration without one.

    Raise ConfigError or RegistryError if it cannot be used.
    """
    known = KnownPlugins(installed_plugins())
    return default_configuration(known, gates) if text is None else load(text, known, gates, reading)


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
            return default_configuration(known, gates)
        case Mapping():
            return from_mapping(given, known, gates, WARNING)
        case str() if "\n" in given or given.lstrip().startswith("{"):
            return load(given, known, gates, WARNING)
        case str() if not given.strip():
            raise ValueError("config: the text is empty; give a path, a text, a mapping, or None for the defaults")
        case str() | Path():
            return load(Path(given).read_text(encoding="utf-8"), known, gates, WARNING)
    raise TypeError(f"config: {type(given).__name__} is no configuration; give a path, a text, or a mapping")


def installed_plugins() -> Registry:
    """Return the in-tree plugins, the names of those that are not built, and what installed packages offer."""
    registry = Registry(in_tree(), NOT_BUILT)
    registry.add_entry_points()
    return registry


def queue_limits(config: Configuration, gates: FeatureGates = DEFAULT_GATES) -> QueueLimits:
    """Return how long pods wait under a configuration."""
    return QueueLimits(
        initial_backoff_seconds=config.pod_initial_backoff_seconds,
        max_backoff_seconds=config.pod_max_backoff_seconds,
        pops_early=gates.enabled("SchedulerPopFromBackoffQ"),
    )


class KnownPlugins(Mapping[str, PluginDeclaration]):
    """What every plugin declares, by name; one written out as `where:Class` is loaded when it is looked up."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._declared = registry.declarations()

    def __getitem__(self, name: str) -> PluginDeclaration:
        if is_reference(name) and name not in self._declared:
            cls = self._registry.load(name)
            self._declared[name] = self._registry.declarations()[cls.__name__]
        return self._declared[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)
