"""Whether the profiles can be built from the plugins that exist, and what building them adds to the configuration.

`construct` is the last stage. `resolve` says which plugins run at which extension point, in which order and with which
weight; the framework asks it again when it makes the profiles for real.
"""

from __future__ import annotations

from msgspec.structs import replace

from stowplan.config import legacy
from stowplan.config.declarations import POINTS, Arguments, Declarations, PluginArgs, args_type_of, plugin_type
from stowplan.config.defaults import ALL
from stowplan.config.errors import ConfigError, child, suggestion
from stowplan.config.extender_tls import problem_with
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.types import Configuration, ExtenderConfig, KubeSchedulerProfile
from stowplan.model.duration import of_seconds
from stowplan.model.label_syntax import aggregate

_EXTENDER_TIMEOUT = of_seconds(5)
_WEIGHING = {"score": "Score", "placement_score": "PlacementScore"}
_MAX_NODE_SCORE = 100
_MAX_TOTAL_SCORE = 2**63 - 1

# Per point, (plugin name, weight); the weight is 0 at points that do not weigh.
Resolved = dict[str, tuple[tuple[str, int], ...]]


def construct(config: Configuration, known: Declarations, gates: FeatureGates) -> Configuration:
    """Give the configuration as it will be in force with the known plugins, or raise ConfigError."""
    config = _with_extenders(config, known)
    first: tuple[str, Arguments] | None = None
    for profile in config.profiles:
        sorter = _check_profile(profile, known, gates)
        first = first or sorter
        _check_one_queue(profile.scheduler_name, sorter, first)
    profiles = tuple(_without_unused_arguments(profile, known) for profile in config.profiles)
    return replace(config, profiles=profiles)


def _with_extenders(config: Configuration, known: Declarations) -> Configuration:
    for index, extender in enumerate(config.extenders):
        _check_tls(f"extenders[{index}].tlsConfig", extender)
    extenders = tuple(
        replace(extender, http_timeout=extender.http_timeout or _EXTENDER_TIMEOUT) for extender in config.extenders
    )
    ignored = tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    profiles = config.profiles
    for one in known.values() if ignored else ():
        if one.args_type is not None and one.args_type.field_of_ignored_resources:
            profiles = tuple(_ignoring(profile, one.args_type, ignored) for profile in profiles)
    return replace(config, extenders=extenders, profiles=profiles)


def _check_tls(path: str, extender: ExtenderConfig) -> None:
    problem = problem_with(extender.tls_config) if extender.tls_config is not None else None
    if problem is not None:
        where = child(path, problem.field) if problem.field else path
        raise ConfigError("construct", f"couldn't build extenders: {problem.text}", where)


def _ignoring(
    profile: KubeSchedulerProfile, args_type: type[PluginArgs], resources: tuple[str, ...]
) -> KubeSchedulerProfile:
    """Leave the extenders' resources to them; they replace what the arguments of that type name."""
    if not any(isinstance(given.args, args_type) for given in profile.arguments):
        why = f"can't find {args_type.__name__} in plugin config"
        raise ConfigError("construct", f"couldn't build extenders: {why}")
    ignored = {args_type.field_of_ignored_resources: resources}
    arguments = tuple(
        replace(given, args=replace(given.args, **ignored)) if isinstance(given.args, args_type) else given
        for given in profile.arguments
    )
    return replace(profile, arguments=arguments)


def _check_profile(profile: KubeSchedulerProfile, known: Declarations, gates: FeatureGates) -> tuple[str, Arguments]:
    """Check that a profile can be built; give its queue sort plugin and the arguments of that."""
    _check_arguments(profile, known, gates)
    [(sorter, _)] = resolve(profile, known)["queue_sort"]
    return sorter, profile.plugin_config.get(sorter)


def _check_arguments(profile: KubeSchedulerProfile, known: Declarations, gates: FeatureGates) -> None:
    """Check the arguments as the plugins do when they are made, which is before it is seen where they run."""
    arguments = profile.plugin_config
    for name in sorted(profile.plugins.names()):
        args, wanted = arguments.get(name), args_type_of(name, known)
        if wanted is not None and args is None:
            problem = f'initializing plugin "{name}": got args of type <nil>, want *{wanted.__name__}'
            raise profile_error(profile, problem, f"write {{name: {name}, args: {{}}}} under pluginConfig")
        if isinstance(args, PluginArgs) and args.is_checked_when_made:
            faults = args.faults("", gates)
            if faults:
                raise profile_error(profile, f'initializing plugin "{name}": {aggregate(tuple(faults))}')


def _check_one_queue(profile: str, found: tuple[str, Arguments], first: tuple[str, Arguments]) -> None:
    if found[0] != first[0]:
        problem = f'different queue sort plugins for profile "{profile}": "{found[0]}", first: "{first[0]}"'
        raise ConfigError("construct", f"initializing profiles: {problem}")
    if found[1] != first[1]:
        problem = f'different queue sort plugin args for profile "{profile}"'
        raise ConfigError("construct", f"initializing profiles: {problem}")


def _without_unused_arguments(profile: KubeSchedulerProfile, known: Declarations) -> KubeSchedulerProfile:
    """Drop the arguments of plugins that are not enabled, and put the rest in the order of their names."""
    enabled = profile.plugins.names()
    used = (given for given in profile.arguments if given.name in enabled and given.name in known)
    kept = tuple(sorted((given for given in used if given.args is not None), key=lambda given: given.name))
    return replace(profile, arguments=kept)


def resolve(profile: KubeSchedulerProfile, known: Declarations) -> Resolved:
    """Spread a profile's plugins over the extension points, or raise ConfigError naming the profile and the plugin."""
    for point in POINTS:
        _check_listed(profile, point, known)
    order = {point: _expand(profile, point, known) for point in POINTS}
    _check_needed(profile, order)
    weights = {point: _weights(profile, point, known) for point in _WEIGHING}
    return {
        point: tuple((name, weights[point][name] if point in weights else 0) for name in names)
        for point, names in order.items()
    }


def profile_error(profile: KubeSchedulerProfile, problem: str, remedy: str = "") -> ConfigError:
    where = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}"
    return ConfigError("construct", f"{where}: {problem}", remedy=remedy)


def _check_listed(profile: KubeSchedulerProfile, point: str, known: Declarations) -> None:
    """Check the plugins that a point lists itself, not through multiPoint."""
    seen: set[str] = set()
    for plugin in profile.plugins.at(point).enabled:
        if plugin.name not in known:
            raise _unknown(profile, point, plugin.name, known)
        if point not in known[plugin.name].points:
            raise profile_error(profile, f'plugin "{plugin.name}" does not extend {plugin_type(point)} plugin')
        if plugin.name in seen:
            raise _twice(profile, point, plugin.name)
        seen.add(plugin.name)


def _expand(profile: KubeSchedulerProfile, point: str, known: Declarations) -> list[str]:
    """Order the plugins of a point: those it re-lists, then the rest of multiPoint, then those only it lists."""
    own = profile.plugins.at(point)
    listed, off = [plugin.name for plugin in own.enabled], {plugin.name for plugin in own.disabled}
    if ALL in off:
        return listed
    relisted: set[str] = set()
    spread: list[str] = []
    for plugin in profile.plugins.multi_point.enabled:
        if plugin.name not in known:
            raise _unknown(profile, point, plugin.name, known)
        if point not in known[plugin.name].points or plugin.name in off:
            continue
        if plugin.name in listed:
            relisted.add(plugin.name)
        elif plugin.name in spread:
            raise _twice(profile, point, plugin.name)
        else:
            spread.append(plugin.name)
    return [name for name in listed if name in relisted] + spread + [name for name in listed if name not in relisted]


def _check_needed(profile: KubeSchedulerProfile, order: dict[str, list[str]]) -> None:
    of_profile = f'for profile with scheduler name "{profile.scheduler_name}"'
    if len(order["queue_sort"]) != 1:
        raise profile_error(
            profile, f"only one queue sort plugin required {of_profile}, but got {len(order['queue_sort'])}"
        )
    if not order["bind"]:
        raise profile_error(profile, f"at least one bind plugin is needed {of_profile}")
    if len(order["placement_generate"]) > 1:
        raise profile_error(profile, f"at most one placement generate plugin is allowed {of_profile}")


def _weights(profile: KubeSchedulerProfile, point: str, known: Declarations) -> dict[str, int]:
    """Weigh every plugin that could run at the point; what the point lists itself wins over multiPoint."""
    weights: dict[str, int] = {}
    total = 0
    for plugin in profile.plugins.at(point).enabled + profile.plugins.multi_point.enabled:
        if plugin.name in weights or plugin.name not in known or point not in known[plugin.name].points:
            continue
        weights[plugin.name] = plugin.weight or 1
        most = weights[plugin.name] * _MAX_NODE_SCORE
        # A total below zero leaves more room than 64 bits hold. Upstream wraps around and refuses what comes next.
        if total < 0 or most > _MAX_TOTAL_SCORE - total:
            label = "score plugins" if point == "score" else "placement score plugins"
            raise profile_error(profile, f"{label}: total score of {_WEIGHING[point]} plugins could overflow")
        total += most
    return weights


def _unknown(profile: KubeSchedulerProfile, point: str, name: str, known: Declarations) -> ConfigError:
    remedy = legacy.remedy_for(name) or suggestion(name, known)
    return profile_error(profile, f'{plugin_type(point)} "{name}" does not exist', remedy)


def _twice(profile: KubeSchedulerProfile, point: str, name: str) -> ConfigError:
    return profile_error(profile, f'plugin "{name}" already registered as "{plugin_type(point)}"')
