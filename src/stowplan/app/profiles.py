"""The profiles and extenders of a configuration, with the columns that the plugins declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from stowplan.app.plugin_handle import PluginHandle
from stowplan.config.types import Configuration
from stowplan.extender.client import connect
from stowplan.framework import plugin_faults
from stowplan.framework.extender import Extender
from stowplan.framework.plugin_faults import Stopwatch
from stowplan.framework.profile import Profile
from stowplan.framework.registry import Registry
from stowplan.model.node import Node
from stowplan.table.facts import add_declared


@dataclass(frozen=True, slots=True)
class Built:
    """What a configuration comes to, not yet in use: nobody was asked or contacted."""

    profiles: Mapping[str, Profile]
    extenders: tuple[Extender, ...]
    #: Where the plugins come from, and the columns that they declare.
    registry: Registry
    columns: Mapping[str, Callable[[Node], Any]]


def build(config: Configuration, registry: Registry, handle: PluginHandle) -> Built:
    """Make the profiles of a configuration, by name, and its extenders."""
    built = (registry.profile(profile, handle) for profile in config.profiles)
    profiles = [replace(profile, stopwatch=handle.stopwatch) for profile in built]
    columns: dict[str, Callable[[Node], Any]] = {}
    for profile in profiles:
        for plugin in profile.foreign:
            for name, read in plugin.columns.items():
                add_declared(columns, name, _told_of(handle.stopwatch, plugin.name, name, read))
    return Built({profile.name: profile for profile in profiles}, connect(config.extenders), registry, columns)


def _told_of(stopwatch: Stopwatch, plugin: str, column: str, read: Callable[[Node], Any]) -> Callable[[Node], Any]:
    """Have it told when a column of a plugin cannot be read off a node; it has no number there then."""

    @wraps(read)
    def number(node: Node) -> Any:
        try:
            return read(node)
        except plugin_faults.FAULTS as error:
            stopwatch.trace_column(error, plugin, column, node.name)
            raise

    return number
