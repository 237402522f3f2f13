"""Which plugins run at which extension point, in which order, with which weight.

The registry of plugins says which points each of them takes part in; with that, multiPoint can be spread out.
`construct.py` goes on from here.
"""

from __future__ import annotations

from stowplan.config import removed
from stowplan.config.errors import ConfigError
from stowplan.config.merge import ALL
from stowplan.config.points import POINTS, PointsOf, plugin_type
from stowplan.config.suggestion import suggestion
from stowplan.config.types import Plugins, PluginSet, Profile

# Per point, (plugin name, weight); the weight is 0 at points that do not weigh.
Resolved = dict[str, tuple[tuple[str, int], ...]]

_WEIGHING = {"score": "Score", "placement_score": "PlacementScore"}
_MAX_NODE_SCORE = 100
_MAX_TOTAL_SCORE = 2**63 - 1


def resolve(profile: Profile, points_of: PointsOf) -> Resolved:
    """Spread a profile's plugins over the extension points, or raise ConfigError naming the profile and the plugin."""
    try:
        return _resolve(profile, points_of)
    except _RefusedError as refused:
        raise profile_error(profile, str(refused), refused.remedy) from None


def profile_error(profile: Profile, problem: str, remedy: str = "") -> ConfigError:
    where = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}"
    return ConfigError("construct", f"{where}: {problem}", remedy=remedy)


class _RefusedError(Exception):
    """What is wrong, before it is said of which profile."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy


def _resolve(profile: Profile, points_of: PointsOf) -> Resolved:
    plugins = profile.plugins
    for point in POINTS:
        _check_listed(point, plugins.at(point), points_of)
    order = {point: _expand(point, plugins, points_of) for point in POINTS}
    _check_needed(profile, order)
    weights = {point: _weights(point, plugins, points_of) for point in _WEIGHING}
    return {
        point: tuple((name, weights[point][name] if point in weights else 0) for name in names)
        for point, names in order.items()
    }


def _check_listed(point: str, listed: PluginSet, points_of: PointsOf) -> None:
    """Check the plugins that a point lists itself, not through multiPoint."""
    seen: set[str] = set()
    for plugin in listed.enabled:
        if plugin.name not in points_of:
            raise _unknown(point, plugin.name, points_of)
        if point not in points_of[plugin.name]:
            raise _RefusedError(f'plugin "{plugin.name}" does not extend {plugin_type(point)} plugin')
        if plugin.name in seen:
            raise _twice(point, plugin.name)
        seen.add(plugin.name)


def _expand(point: str, plugins: Plugins, points_of: PointsOf) -> list[str]:
    """Order the plugins of a point: those it re-lists, then the rest of multiPoint, then those only it lists."""
    listed = [plugin.name for plugin in plugins.at(point).enabled]
    off = {plugin.name for plugin in plugins.at(point).disabled}
    if ALL in off:
        return listed
    relisted: set[str] = set()
    spread: list[str] = []
    for plugin in plugins.multi_point.enabled:
        if plugin.name not in points_of:
            raise _unknown(point, plugin.name, points_of)
        if point not in points_of[plugin.name] or plugin.name in off:
            continue
        if plugin.name in listed:
            relisted.add(plugin.name)
        elif plugin.name in spread:
            raise _twice(point, plugin.name)
        else:
            spread.append(plugin.name)
    return [name for name in listed if name in relisted] + spread + [name for name in listed if name not in relisted]


def _check_needed(profile: Profile, order: dict[str, list[str]]) -> None:
    of_profile = f'for profile with scheduler name "{profile.scheduler_name}"'
    if len(order["queue_sort"]) != 1:
        raise _RefusedError(f"only one queue sort plugin required {of_profile}, but got {len(order['queue_sort'])}")
    if not order["bind"]:
        raise _RefusedError(f"at least one bind plugin is needed {of_profile}")


def _weights(point: str, plugins: Plugins, points_of: PointsOf) -> dict[str, int]:
    """Weigh every plugin that could run at the point; what the point lists itself wins over multiPoint."""
    weights: dict[str, int] = {}
    total = 0
    for plugin in plugins.at(point).enabled + plugins.multi_point.enabled:
        if plugin.name in weights or point not in points_of.get(plugin.name, ()):
            continue
        weights[plugin.name] = plugin.weight or 1
        most = weights[plugin.name] * _MAX_NODE_SCORE
        # A total below zero leaves more room than 64 bits hold. Upstream wraps around and refuses what comes next.
        if total < 0 or most > _MAX_TOTAL_SCORE - total:
            label = "score plugins" if point == "score" else "placement score plugins"
            raise _RefusedError(f"{label}: total score of {_WEIGHING[point]} plugins could overflow")
        total += most
    return weights


def _unknown(point: str, name: str, points_of: PointsOf) -> _RefusedError:
    remedy = removed.remedy_for(name) or suggestion(name, points_of)
    return _RefusedError(f'{plugin_type(point)} "{name}" does not exist', remedy)


def _twice(point: str, name: str) -> _RefusedError:
    return _RefusedError(f'plugin "{name}" already registered as "{plugin_type(point)}"')
