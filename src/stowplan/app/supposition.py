"""What is supposed of a cluster, and taken back: `Cluster.suppose` and everything that has to be as before afterwards.

The table, other objects, groups and nominations are put back by a log of what was done to them (`table/undo.py`); pods
that were placed are unreserved; plugins that keep state of their own (`Undoable`) are given back what they had. Kept
answers need nothing: the journals tell which rows moved, there and back. Nothing is copied but what is on its way.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from stowplan.app.plugin_handle import PluginHandle
from stowplan.cache.cache import Cache
from stowplan.config.types import Configuration
from stowplan.engine.scheduling_cycle import Draw
from stowplan.framework.contract import POINTS, Bind, Permit, Plugin, PostBind, PreBind, Undoable
from stowplan.framework.per_node import unwrapped
from stowplan.framework.profile import Profile


class SuppositionError(RuntimeError):
    """A cluster was used while something else is supposed of it, or after what was supposed had been taken back."""


@contextmanager
def taken_back(cache: Cache, handle: PluginHandle, profiles: Iterable[Profile]) -> Iterator[None]:
    """Take back, at the end, whatever is done to a cluster meanwhile."""
    undoable = {
        id(plugin): plugin for profile in profiles for plugin in _plugins(profile) if isinstance(plugin, Undoable)
    }
    saved = [(plugin, plugin.save_state()) for plugin in undoable.values()]
    try:
        with handle.supposing(same_draws(handle.draw)), cache.suppose() as undo:
            nominations, before = handle.nominations, handle.nominations.undo
            nominations.undo = undo
            try:
                yield
            finally:
                nominations.undo = before
    finally:
        # Last: they find the cluster as it was.
        for plugin, state in saved:
            plugin.restore_state(state)


def not_taking_part(profiles: Iterable[Profile], config: Configuration) -> tuple[str, ...]:
    """Name the plugins and extenders of which not everything is supposed that they would do or know.

    Nobody holds, prepares or binds a pod that is only supposed. An extender that knows nodes by name alone knows those
    of the cluster, whatever is supposed of them.
    """
    late = (Permit, PreBind, Bind, PostBind)
    foreign = (unwrapped(plugin) for profile in profiles for plugin in profile.foreign)
    plugins = {f"plugin {plugin.name}": None for plugin in foreign if isinstance(plugin, late)}
    extenders = (f"extender {each.url_prefix}" for each in config.extenders if each.node_cache_capable)
    return (*plugins, *extenders)


def same_draws(draw: Draw) -> Draw:
    """Return a draw that comes to what this one would come to, and leaves it as it is; another's is used as it is."""
    source = getattr(draw, "__self__", None)
    if not isinstance(source, random.Random):
        return draw
    copied = random.Random()
    copied.setstate(source.getstate())
    return copied.randrange


def _plugins(profile: Profile) -> Iterator[Plugin]:
    """Yield the plugins of a profile as their authors wrote them."""
    for point in POINTS:
        for found in getattr(profile, point):
            yield unwrapped(found[0] if isinstance(found, tuple) else found)
