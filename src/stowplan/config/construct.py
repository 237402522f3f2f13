"""Whether the profiles can be built from the plugins that exist, and what building them adds to the configuration.

This is the last stage; `resolve.py` is asked again by the framework when it makes the profiles for real.
"""

from __future__ import annotations

import msgspec

from stowplan.config.arguments import Arguments, NodeResourcesFitArgs
from stowplan.config.errors import ConfigError
from stowplan.config.points import PointsOf
from stowplan.config.resolve import profile_error, resolve
from stowplan.config.types import Configuration, Extender, PluginArguments, Profile
from stowplan.config.validate_arguments import argument_faults
from stowplan.model.duration import of_seconds
from stowplan.model.label_syntax import aggregate

_FIT = "NodeResourcesFit"
_EXTENDER_TIMEOUT = of_seconds(5)


def construct(config: Configuration, known: PointsOf) -> Configuration:
    """Give the configuration as it will be in force with the known plugins, or raise ConfigError."""
    config = _with_extenders(config)
    sorters: dict[str, tuple[str, Arguments]] = {}
    for profile in config.profiles:
        sorters[profile.scheduler_name] = _check_profile(profile, known)
    _check_one_queue(sorters)
    profiles = tuple(_without_unused_arguments(profile, known) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles)


def _with_extenders(config: Configuration) -> Configuration:
    for extender in config.extenders:
        _check_tls(extender)
    extenders = tuple(
        msgspec.structs.replace(extender, http_timeout=extender.http_timeout or _EXTENDER_TIMEOUT)
        for extender in config.extenders
    )
    ignored = tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    profiles = config.profiles
    if ignored:
        profiles = tuple(_ignoring(profile, ignored) for profile in profiles)
    return msgspec.structs.replace(config, extenders=extenders, profiles=profiles)


def _check_tls(extender: Extender) -> None:
    tls = extender.tls_config
    if tls is not None and tls.insecure and (tls.ca_file or tls.ca_data):
        why = "specifying a root certificates file with the insecure flag is not allowed"
        raise ConfigError("construct", f"couldn't build extenders: {why}")


def _ignoring(profile: Profile, resources: tuple[str, ...]) -> Profile:
    """Let NodeResourcesFit leave the extenders' resources to them; they replace what its arguments name."""
    if not isinstance(profile.plugin_config.get(_FIT), NodeResourcesFitArgs):
        why = "can't find NodeResourcesFitArgs in plugin config"
        raise ConfigError("construct", f"couldn't build extenders: {why}")
    return msgspec.structs.replace(
        profile, arguments=tuple(_with_ignored(given, resources) for given in profile.arguments)
    )


def _with_ignored(given: PluginArguments, resources: tuple[str, ...]) -> PluginArguments:
    if not isinstance(given.args, NodeResourcesFitArgs):
        return given
    return PluginArguments(given.name, msgspec.structs.replace(given.args, ignored_resources=resources))


def _check_profile(profile: Profile, known: PointsOf) -> tuple[str, Arguments]:
    """Check that a profile can be built; give its queue sort plugin and the arguments of that."""
    if _FIT in known and _FIT in profile.plugins.names():
        _check_fit(profile)
    [(sorter, _)] = resolve(profile, known)["queue_sort"]
    return sorter, profile.plugin_config.get(sorter)


def _check_fit(profile: Profile) -> None:
    args = profile.plugin_config.get(_FIT)
    faults = argument_faults("", args) if isinstance(args, NodeResourcesFitArgs) else []
    if faults:
        raise profile_error(profile, f'initializing plugin "{_FIT}": {aggregate(tuple(faults))}')


def _check_one_queue(sorters: dict[str, tuple[str, Arguments]]) -> None:
    first, first_args = next(iter(sorters.values()))
    for profile, (sorter, args) in sorters.items():
        if sorter != first:
            problem = f'different queue sort plugins for profile "{profile}": "{sorter}", first: "{first}"'
            raise ConfigError("construct", f"initializing profiles: {problem}")
        if args != first_args:
            problem = f'different queue sort plugin args for profile "{profile}"'
            raise ConfigError("construct", f"initializing profiles: {problem}")


def _without_unused_arguments(profile: Profile, known: PointsOf) -> Profile:
    """Drop the arguments of plugins that are not enabled, and put the rest in the order of their names."""
    enabled = profile.plugins.names()
    used = (given for given in profile.arguments if given.name in enabled and given.name in known)
    kept = tuple(sorted((given for given in used if given.args is not None), key=lambda given: given.name))
    return msgspec.structs.replace(profile, arguments=kept)
