"""Finds plugin classes by name and builds profiles from the configuration.

A name is an in-tree plugin, an entry point of the group `stowplan.plugins`, or written out in the configuration as
`package.module:Class` or `path/to/file.py:Class`, which is then known by the name of the class.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import msgspec

from stowplan.config.construct import resolve
from stowplan.config.declarations import PluginDeclaration, in_order
from stowplan.config.errors import ConfigError, suggestion
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates, comes_after
from stowplan.config.load import typed_arguments
from stowplan.config.types import KubeSchedulerProfile as ProfileConfig
from stowplan.config.types import ListedPlugin, PluginConfig, Plugins, PluginSet
from stowplan.framework import plugin_class, plugin_faults, plugin_source
from stowplan.framework.contract import POINTS, Filter, FilterNode, Plugin, Score, ScoreNode
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import TellsApart, TellsVolumesApart
from stowplan.framework.per_node import EachNodeFilter, EachNodeScore
from stowplan.framework.plugin_class import points_of
from stowplan.framework.profile import WEIGHED, Profile, problem_with_events

GROUP = "stowplan.plugins"
T = TypeVar("T", ListedPlugin, PluginConfig)


class RegistryError(ValueError):
    """A plugin cannot be found or built; the text says which, and what is known."""


class Registry:
    """Plugin classes by name."""

    def __init__(self, in_tree: Iterable[type[Plugin]]) -> None:
        self._classes: dict[str, type[Plugin]] = {}
        self._in_tree = frozenset(cls.__name__ for cls in in_tree)
        self._loaded: dict[str, type[Plugin]] = {}
        for cls in in_tree:
            self.add(cls)

    def add(self, cls: type[Plugin]) -> None:
        """Register a class under its own name."""
        known = self._classes.get(cls.__name__)
        if known is not None and known is not cls:
            raise RegistryError(
                f"plugin {cls.__name__!r} is registered twice: {_origin(known)} and {_origin(cls)}; rename one of them"
            )
        self._classes[cls.__name__] = cls

    def add_entry_points(self) -> None:
        """Register what installed packages offer in the entry-point group."""
        for entry in entry_points(group=GROUP):
            try:
                found = entry.load()
            except plugin_faults.FAULTS as error:
                why = plugin_faults.told(error)
                raise RegistryError(f"entry point {entry.name!r}: cannot load {entry.value!r}: {why}") from error
            self.add(_as_plugin(found, f"entry point {entry.name!r}"))

    def load(self, reference: str) -> type[Plugin]:
        """Load and register a plugin written out as `where:Class`; the same reference gives the same class again."""
        if reference not in self._loaded:
            self._loaded[reference] = load(reference)
            self.add(self._loaded[reference])
        return self._loaded[reference]

    @property
    def classes(self) -> Mapping[str, type[Plugin]]:
        """All plugins by name."""
        return self._classes

    @property
    def foreign(self) -> tuple[type[Plugin], ...]:
        """The plugins that are not in-tree."""
        return tuple(cls for name, cls in self._classes.items() if name not in self._in_tree)

    def declarations(self, gates: FeatureGates = DEFAULT_GATES) -> dict[str, PluginDeclaration]:
        """Return what every known plugin declares in the release, the default ones in their order."""
        declared = {
            name: plugin_class.declaration(cls, gates, is_in_tree=name in self._in_tree)
            for name, cls in self._classes.items()
            if not comes_after(cls.feature_gate, gates.release)
        }
        return in_order(declared)

    def profile(self, config: ProfileConfig, handle: Handle) -> Profile:
        """Build the plugins of one profile, each once, in the configured order."""
        config = self._load_references(config)
        declared = self.declarations(handle.feature_gates)
        _check_known(config, declared)
        resolved = resolve(config, declared)
        names = {name for listed in resolved.values() for name, _ in listed if name in self._classes}
        arguments = config.plugin_config
        instances = {name: self.make(name, arguments.get(name), handle) for name in sorted(names)}
        at: dict[str, list[tuple[Any, int]]] = {
            point: [
                (_lifted(instances[name], point), weight)
                for name, weight in resolved[point]
                if isinstance(instances.get(name), classes)
            ]
            for point, classes in POINTS.items()
        }
        plain: dict[str, Any] = {
            point: tuple(at[point] if point in WEIGHED else (plugin for plugin, _ in at[point])) for point in POINTS
        }
        by_volumes: list[Plugin] = [plugin for plugin in instances.values() if isinstance(plugin, TellsVolumesApart)]
        otherwise: list[Plugin] = [plugin for plugin in instances.values() if isinstance(plugin, TellsApart)]
        return Profile(
            name=config.scheduler_name,
            percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
            foreign=tuple(plugin for name, plugin in instances.items() if name not in self._in_tree),
            signing=tuple(plugin for plugin in otherwise if plugin not in by_volumes),
            signing_volumes=tuple(by_volumes),
            gates=handle.feature_gates,
            **plain,
        )

    def make(self, name: str, arguments: Any, handle: Handle) -> Plugin:
        """Make a plugin with its arguments as they are written; raise RegistryError if that cannot be done."""
        cls = self._classes[name]
        accepted = inspect.signature(cls).parameters
        keywords: dict[str, Any] = {"handle": handle} if "handle" in accepted else {}
        keywords |= _typed_arguments(cls, arguments, handle) if cls.args_type else _keywords(cls, arguments)
        missing = [key for key, wanted in accepted.items() if key not in keywords and _is_needed(wanted)]
        if missing:
            raise RegistryError(f"plugin {name!r}: argument {missing[0]!r} is missing; give it in the plugin's args")
        try:
            plugin = cls(**keywords)
        except (ConfigError, RegistryError):
            raise
        except plugin_faults.FAULTS as error:
            raise RegistryError(f"plugin {name!r}: cannot be made: {plugin_faults.told(error)}") from error
        if name not in self._in_tree:
            _check_events(plugin)
        return plugin

    def _load_references(self, config: ProfileConfig) -> ProfileConfig:
        """Load the plugins that the configuration writes out as `where:Class`, and put their names in its place."""
        at = {point: config.plugins.at(point) for point in Plugins.__struct_fields__}
        sets = {point: PluginSet(self._named(one.enabled), self._named(one.disabled)) for point, one in at.items()}
        arguments = self._named(config.arguments)
        return msgspec.structs.replace(config, plugins=Plugins(**sets), arguments=arguments)

    def _named(self, listed: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(
            msgspec.structs.replace(one, name=self.load(one.name).__name__) if ":" in one.name else one
            for one in listed
        )


def _check_events(plugin: Plugin) -> None:
    """Refuse a plugin that cannot say what it awaits, before the queue that asks it is in use."""
    try:
        problem = problem_with_events(plugin)
    except plugin_faults.FAULTS as error:
        raise RegistryError(f"plugin {plugin.name!r}: events failed: {plugin_faults.told(error)}") from error
    if problem:
        raise RegistryError(f"plugin {plugin.name!r}: {problem}")


def _lifted(plugin: Plugin, point: str) -> Plugin:
    """Return a plugin that only answers for one node as one that answers for all rows; any other as it is."""
    if point == "filter" and isinstance(plugin, FilterNode) and not isinstance(plugin, Filter):
        return EachNodeFilter(plugin)
    if point == "score" and isinstance(plugin, ScoreNode) and not isinstance(plugin, Score):
        return EachNodeScore(plugin)
    return plugin


def _check_known(config: ProfileConfig, declared: Collection[str]) -> None:
    for name in config.plugins.names():
        if name not in declared:
            what = f"profile {config.scheduler_name!r}: plugin {name!r} is not registered"
            raise RegistryError(f"{what}; {suggestion(name, declared)}")


def load(reference: str) -> type[Plugin]:
    """Load a plugin class from `package.module:Class` or `path/to/file.py:Class`."""
    where, _, name = reference.rpartition(":")
    try:
        module = plugin_source.load_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except plugin_faults.FAULTS as error:
        raise RegistryError(f"plugin {reference!r}: cannot load {where!r}: {plugin_faults.told(error)}") from error
    found = getattr(module, name, None)
    if found is None:
        classes = [key for key, value in vars(module).items() if _is_written_there(value, module)]
        raise RegistryError(
            f"plugin {reference!r}: {where!r} has no class {name!r}; {suggestion(name, classes)}"
            if classes
            else f"plugin {reference!r}: {where!r} has no class {name!r}, and no other that is a plugin"
        )
    return _as_plugin(found, f"{reference!r}")


def _as_plugin(found: Any, what: str) -> type[Plugin]:
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise RegistryError(
            f"plugin {what}: not a plugin class; inherit the extension points of stowplan.framework.contract"
        )
    if not points_of(found):
        raise RegistryError(
            f"plugin {what}: takes part in no extension point; inherit at least one of {', '.join(POINTS)}"
        )
    faults = plugin_class.faults(found)
    if faults:
        raise RegistryError(f"plugin {what}: {'; '.join(faults)}")
    return found


def _is_written_there(value: Any, module: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == module.__name__


def _typed_arguments(cls: type[Plugin], arguments: Any, handle: Handle) -> dict[str, Any]:
    """Return the arguments as the plugin declares them; those of one from elsewhere are still as they are written."""
    assert cls.args_type is not None
    if isinstance(arguments, cls.args_type):
        return {"args": arguments}
    try:
        return {"args": typed_arguments(cls.args_type, arguments, handle.feature_gates)}
    except ConfigError as error:
        raise RegistryError(f"plugin {cls.__name__!r}: args: {error}") from error


def _keywords(cls: type[Plugin], arguments: Any) -> dict[str, Any]:
    """Return arguments as they are written as the typed parameters of the constructor."""
    name, accepted = cls.__name__, inspect.signature(cls).parameters
    if not isinstance(arguments, Mapping | None):
        raise RegistryError(f"plugin {name!r}: args must be a mapping of argument names to values")
    given = {_snake(key): value for key, value in (arguments or {}).items() if key not in ("apiVersion", "kind")}
    unknown = sorted(given.keys() - accepted.keys())
    if unknown:
        known = ", ".join(sorted(accepted.keys() - {"handle"})) or "none"
        raise RegistryError(f"plugin {name!r}: unknown argument {unknown[0]!r}; it takes: {known}")
    hints = get_type_hints(cls.__init__)
    return {key: _converted(name, key, value, hints.get(key, Any)) for key, value in given.items()}


def _converted(name: str, key: str, value: Any, wanted: Any) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise RegistryError(f"plugin {name!r}: argument {key!r}: {error}") from error


def _is_needed(parameter: inspect.Parameter) -> bool:
    is_one = parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return is_one and parameter.default is inspect.Parameter.empty


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _origin(cls: type[Plugin]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
