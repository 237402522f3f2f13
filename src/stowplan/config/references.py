"""Plugins written out as `where:Class`, which the rest of a configuration may call by the name of the class.

Everything is spelled as it is where the plugin is enabled, so that all stages and a file written out again agree.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from stowplan.config.types import Configuration, Plugin, Plugins, PluginSet, Profile


def spelled_alike(config: Configuration) -> Configuration:
    """Replace the names of classes by the references that enable them."""
    enabled = {name for profile in config.profiles for name in profile.plugins.names() if is_reference(name)}
    references = {class_name(reference): reference for reference in sorted(enabled)}
    if not references:
        return config
    return replace(config, profiles=tuple(_profile(profile, references) for profile in config.profiles))


def is_reference(name: str) -> bool:
    return ":" in name


def class_name(reference: str) -> str:
    return reference.rpartition(":")[2]


def _profile(profile: Profile, references: Mapping[str, str]) -> Profile:
    sets = {point: _set(profile.plugins.at(point), references) for point in Plugins.__struct_fields__}
    arguments = tuple(replace(given, name=references.get(given.name, given.name)) for given in profile.arguments)
    return replace(profile, plugins=Plugins(**sets), arguments=arguments)


def _set(listed: PluginSet, references: Mapping[str, str]) -> PluginSet:
    return PluginSet(_spelled(listed.enabled, references), _spelled(listed.disabled, references))


def _spelled(plugins: tuple[Plugin, ...], references: Mapping[str, str]) -> tuple[Plugin, ...]:
    return tuple(replace(plugin, name=references.get(plugin.name, plugin.name)) for plugin in plugins)
