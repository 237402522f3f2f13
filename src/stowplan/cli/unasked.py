"""Which plugins of one's own are not asked where there are only files: nothing is bound there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stowplan.framework.profile import Profile

#: The points of the binding cycle, by their upstream names.
_POINTS: Final = {"permit": "Permit", "pre_bind": "PreBind", "bind": "Bind", "post_bind": "PostBind"}


def notes(profiles: Iterable[Profile]) -> list[str]:
    """Name the foreign plugins that are not asked at all their points, each once."""
    found = (_note(plugin.name, _points(profile, plugin)) for profile in profiles for plugin in profile.foreign)
    return list(dict.fromkeys(note for note in found if note))


def _points(profile: Profile, plugin: Any) -> list[str]:
    return [word for point, word in _POINTS.items() if plugin in getattr(profile, point)]


def _note(plugin: str, points: list[str]) -> str:
    if not points:
        return ""
    verb, whom = ("is", "it") if len(points) == 1 else ("are", "them")
    return f"plugin {plugin!r}: {' and '.join(points)} {verb} not asked here; `stowplan up --once` asks {whom}"
