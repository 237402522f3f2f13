"""From the fields of a document to a whole configuration: what is not said gets its default.

Beside null, an empty string or zero counts as not said where the API says so. The plugins that a profile lists are laid
over the default ones; `multi_point` is still a list of its own then. `validate.py` goes on with the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from stowplan.config.declarations import Declarations, PluginArgs, args_type_of, class_name, is_reference
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.types import (
    Configuration,
    KubeSchedulerProfile,
    ListedPlugin,
    PluginConfig,
    Plugins,
    PluginSet,
    absent_points,
)

Fields = dict[str, Any]
_Args = TypeVar("_Args", bound=PluginArgs)

DEFAULT_SCHEDULER_NAME = "default-scheduler"
ALL = "*"


def complete(fields: Fields, known: Declarations, gates: FeatureGates) -> Configuration:
    """Make a configuration of the fields that a document has; some defaults depend on feature gates."""
    own = {name: value for name, value in fields.items() if name != "profiles"}
    own["leaderElection"] = _said(fields.get("leaderElection", {}), keep=("leaderElect",))
    own["clientConnection"] = _said(fields.get("clientConnection", {}))
    # Contention profiling follows profiling unless it is set.
    own.setdefault("enableContentionProfiling", fields.get("enableProfiling", True))
    # With several profiles each must have a name of its own.
    profiles = fields.get("profiles") or [{}]
    unnamed = DEFAULT_SCHEDULER_NAME if len(profiles) == 1 else ""
    complete = tuple(_profile({"schedulerName": unnamed, **each}, known, gates) for each in profiles)
    return _spelled_alike(replace(msgspec.convert(own, Configuration), profiles=complete))


def default_plugins(known: Declarations, gates: FeatureGates) -> Plugins:
    """Give the plugins of a profile that lists none: those whose feature gate, if they have one, is on."""
    declared = (one for one in known.values() if one.is_default and (not one.gate or gates.enabled(one.gate)))
    listed = PluginSet(enabled=tuple(ListedPlugin(one.name, one.weight) for one in declared))
    return replace(Plugins(multi_point=listed), **dict.fromkeys(absent_points(gates)))


def typed(args_type: type[_Args], fields: Fields, gates: FeatureGates) -> _Args:
    """Make arguments of the fields that a document has."""
    return msgspec.convert(fields, args_type).defaulted(gates)


def merge_plugins(default: Plugins, own: Plugins) -> Plugins:
    """Lay a profile's own lists over the default ones, point by point."""
    points = filter(default.has, Plugins.__struct_fields__)
    return replace(default, **{point: merge_set(default.at(point), own.at(point)) for point in points})


def merge_set(default: PluginSet, own: PluginSet) -> PluginSet:
    """Keep the defaults that are not disabled, each in its place, then the rest of the profile's own.

    A default that the profile lists again keeps its place and takes the new weight. A plugin listed twice by the
    profile stays twice: `construct.py` refuses it.
    """
    disabled = own.disabled + default.disabled
    off = {plugin.name for plugin in disabled}
    kept = () if ALL in off else tuple(plugin for plugin in default.enabled if plugin.name not in off)
    # The last of several entries of one name is the one that replaces.
    position = {plugin.name: index for index, plugin in enumerate(own.enabled)}
    replacing = {position[plugin.name] for plugin in kept if plugin.name in position}
    placed = tuple(own.enabled[position[plugin.name]] if plugin.name in position else plugin for plugin in kept)
    added = tuple(plugin for index, plugin in enumerate(own.enabled) if index not in replacing)
    return PluginSet(enabled=placed + added, disabled=tuple(ListedPlugin(plugin.name) for plugin in disabled))


def _said(fields: Fields, keep: tuple[str, ...] = ()) -> Fields:
    """Leave out what is empty or zero, so that it gets its default."""
    return {name: value for name, value in fields.items() if value or name in keep}


def _profile(fields: Fields, known: Declarations, gates: FeatureGates) -> KubeSchedulerProfile:
    plugins = merge_plugins(default_plugins(known, gates), msgspec.convert(fields.get("plugins", {}), Plugins))
    return KubeSchedulerProfile(
        scheduler_name=fields["schedulerName"],
        percentage_of_nodes_to_score=fields.get("percentageOfNodesToScore"),
        plugins=plugins,
        arguments=_arguments(fields.get("pluginConfig", []), plugins, known, gates),
    )


def _arguments(
    given: list[Fields], plugins: Plugins, known: Declarations, gates: FeatureGates
) -> tuple[PluginConfig, ...]:
    """Default the arguments that are given, then add those of every other enabled plugin that takes any."""
    named = {each.get("name", ""): None for each in given}
    takers = {name for name, one in known.items() if one.args_type is not None}
    absent = sorted((takers & plugins.names()) - named.keys() - _forgotten(plugins, known))
    written: list[tuple[str, Any]] = [(each.get("name", ""), each.get("args")) for each in given]
    written += [(name, {}) for name in absent]
    return tuple(
        PluginConfig(name, typed(args_type, args, gates) if (args_type := args_type_of(name, known)) else args)
        for name, args in written
    )


def _forgotten(plugins: Plugins, known: Declarations) -> frozenset[str]:
    """Name the default plugins that only this point lists: upstream has no default arguments for them."""
    elsewhere = plugins.names(but_at="pod_group_post_filter")
    return frozenset(name for name in plugins.names() - elsewhere if name in known and known[name].is_default)


def _spelled_alike(config: Configuration) -> Configuration:
    """Call plugins that are enabled as `where:Class` so wherever only the name of the class is written."""
    enabled = {name for profile in config.profiles for name in profile.plugins.names() if is_reference(name)}
    references = {class_name(reference): reference for reference in sorted(enabled)}
    if not references:
        return config
    return replace(config, profiles=tuple(_spelled_profile(profile, references) for profile in config.profiles))


def _spelled_profile(profile: KubeSchedulerProfile, references: Mapping[str, str]) -> KubeSchedulerProfile:
    plugins = profile.plugins
    points = filter(plugins.has, Plugins.__struct_fields__)
    sets = {point: _spelled_set(plugins.at(point), references) for point in points}
    arguments = tuple(replace(given, name=references.get(given.name, given.name)) for given in profile.arguments)
    return replace(profile, plugins=replace(plugins, **sets), arguments=arguments)


def _spelled_set(listed: PluginSet, references: Mapping[str, str]) -> PluginSet:
    sides = (listed.enabled, listed.disabled)
    return PluginSet(*(tuple(replace(one, name=references.get(one.name, one.name)) for one in side) for side in sides))
