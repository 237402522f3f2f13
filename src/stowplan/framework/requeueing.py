"""Which changes the plugins of a profile await, plugin by plugin, as the queue wants to know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.framework.changes import ANYTHING, NODE, Action
from stowplan.framework.contract import POINTS, Awaited, Plugin, Requeue
from stowplan.framework.per_node import EachNodeFilter
from stowplan.framework.profile import Profile

#: The name under which a refusal by an extender is known; nobody can say what would change its mind.
EXTENDER: Final = "Extender"
EVERYTHING: Final = (Awaited(ANYTHING, Action.ALL),)


def awaited_by(profile: Profile) -> dict[str, tuple[Awaited, ...]]:
    """Return what each plugin of the profile awaits; those that do not say await everything."""
    awaited = {plugin.name: complete(_awaited(plugin)) for plugin in _plugins(profile)}
    return {**awaited, EXTENDER: EVERYTHING}


def complete(awaited: tuple[Awaited, ...]) -> tuple[Awaited, ...]:
    """Let a plugin that awaits new nodes hear of every node whose taints changed or that was uncordoned.

    A node often comes tainted and is opened later; to a pod that is when it is new, and upstream asks nobody then.
    """
    of_nodes = [one.actions for one in awaited if one.resource == NODE]
    hears_of_new = any(Action.ADD in actions for actions in of_nodes)
    hears_of_taints = any(Action.UPDATE_NODE_TAINT in actions for actions in of_nodes)
    return (*awaited, Awaited(NODE, Action.UPDATE_NODE_TAINT)) if hears_of_new and not hears_of_taints else awaited


def problem_with_events(plugin: Plugin) -> str:
    """Say what is wrong with what a plugin says it awaits; nothing if it can be used. What it raises is raised."""
    if not isinstance(plugin, Requeue):
        return ""
    # What an author may return is not known before; one who yields would be heard once, and never again.
    listed: Any = plugin.events()
    if not isinstance(listed, tuple | list):
        return f"events answers with a tuple of Awaited(resource, actions), got {type(listed).__name__} {listed!r:.60}"
    for one in listed:
        if not isinstance(one, Awaited):
            return f"events answers with a tuple of Awaited(resource, actions), got one with {one!r:.60} in it"
        if not _is_sound(one):
            return f"events: an Awaited is (resource, Action, hint(pod, old, new) or None), got {one!r:.120}"
    return ""


def _is_sound(one: Any) -> bool:
    has_hint = one.hint is None or callable(one.hint)
    return isinstance(one.resource, str) and isinstance(one.actions, Action) and has_hint


def _awaited(plugin: Plugin) -> tuple[Awaited, ...]:
    inside = plugin.inside if isinstance(plugin, EachNodeFilter) else plugin
    return inside.events() if isinstance(inside, Requeue) else EVERYTHING


def _plugins(profile: Profile) -> Iterator[Plugin]:
    # Whoever only scores or sorts rejects nobody.
    for point in POINTS:
        if point not in ("queue_sort", "pre_score", "score"):
            listed: tuple[Any, ...] = getattr(profile, point)
            yield from listed
