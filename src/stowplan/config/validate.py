"""Whether every field of a defaulted configuration has a value that is allowed.

All faults are told at once. What depends on which plugins exist is left to `construct.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.config.declarations import PluginArgs, camel
from stowplan.config.errors import ConfigError, duplicate, invalid, label_key_faults, required
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.legacy import REFUSED_BY_V1, remedy_for
from stowplan.config.schema import GROUP, VERSION
from stowplan.config.types import (
    Configuration,
    ExtenderConfig,
    KubeSchedulerProfile,
    LeaderElection,
    Plugins,
)
from stowplan.model.duration import of_seconds
from stowplan.model.label_syntax import aggregate
from stowplan.model.requests import is_extended

_REMOVED = f'was invalid in version "{VERSION}" (KubeSchedulerConfiguration is version "{GROUP}/{VERSION}")'
# Plugins listed under multiPoint or at the placement points are not compared with the removed ones.
_UNCHECKED_POINTS = ("multi_point", "placement_generate", "placement_score")
_CHECKED_POINTS = tuple(point for point in Plugins.__struct_fields__ if point not in _UNCHECKED_POINTS)

# Upstream looks for the check of NodeResourcesFit's arguments under this name, where it finds what is no such thing.
_MISTAKEN_FOR_A_PLUGIN = "NodeResourcesFitArgs"


def validate(config: Configuration, gates: FeatureGates = DEFAULT_GATES) -> None:
    """Raise ConfigError with every fault of the configuration, if there are any."""
    faults = tuple(_faults(config, gates))
    if faults:
        raise ConfigError("validate", aggregate(faults), remedy="; ".join(_remedies(config)))


def _faults(config: Configuration, gates: FeatureGates) -> Iterator[str]:
    if config.client_connection.burst < 0:
        yield invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")
    yield from _leader_election_faults(config.leader_election)
    if config.parallelism <= 0:
        yield invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    yield from _profiles_faults(config.profiles, gates)
    yield from _percentage_faults("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    yield from _backoff_faults(config)
    yield from _extenders_faults(config.extenders)


def _remedies(config: Configuration) -> list[str]:
    """Say what to do about plugins that are gone or misnamed, which upstream's words do not."""
    listed = (profile.plugins.at(point).enabled for profile in config.profiles for point in _CHECKED_POINTS)
    named = [plugin.name for enabled in listed for plugin in enabled]
    named += [given.name for profile in config.profiles for given in profile.arguments]
    remedies = [remedy_for(name) for name in dict.fromkeys(named) if name in REFUSED_BY_V1]
    if _MISTAKEN_FOR_A_PLUGIN in named:
        remedies.append(f"the name of the plugin is {_MISTAKEN_FOR_A_PLUGIN.removesuffix('Args')}")
    return remedies


def _leader_election_faults(election: LeaderElection) -> Iterator[str]:
    if not election.leader_elect:
        return
    spans = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, span in spans.items():
        if span <= of_seconds(0):
            yield invalid(f"leaderElection.{name}", span, "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        why = "must be greater than `RenewDeadline`"
        # Upstream shows the deadline here, not the lease.
        yield invalid("leaderElection.leaseDuration", election.renew_deadline, why)
    if election.resource_lock != "leases":
        why = 'resourceLock value must be "leases"'
        yield invalid("leaderElection.resourceLock", election.resource_lock, why)


def _percentage_faults(path: str, percentage: int | None) -> Iterator[str]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _backoff_faults(config: Configuration) -> Iterator[str]:
    initial, most = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if most < initial:
        why = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid("podMaxBackoffSeconds", most, why)


def _profiles_faults(profiles: tuple[KubeSchedulerProfile, ...], gates: FeatureGates) -> Iterator[str]:
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        yield from _profile_faults(path, profile, gates)
        if profile.scheduler_name in seen:
            # Upstream shows an empty object instead of the name.
            yield duplicate(f"{path}.schedulerName", {})
        seen.add(profile.scheduler_name)
    yield from _queue_sort_faults(profiles)


def _profile_faults(path: str, profile: KubeSchedulerProfile, gates: FeatureGates) -> Iterator[str]:
    if not profile.scheduler_name:
        yield required(f"{path}.schedulerName")
    yield from _percentage_faults(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    for point in _CHECKED_POINTS:
        for index, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in REFUSED_BY_V1:
                yield invalid(f"{path}.plugins.{camel(point)}.enabled[{index}]", plugin.name, _REMOVED)
    yield from _arguments_faults(path, profile, gates)


def _arguments_faults(path: str, profile: KubeSchedulerProfile, gates: FeatureGates) -> Iterator[str]:
    seen: set[str] = set()
    for index, given in enumerate(profile.arguments):
        where = f"{path}.pluginConfig[{index}]"
        if given.name in seen:
            yield duplicate(where, given.name)
        seen.add(given.name)
        if given.name in REFUSED_BY_V1:
            yield invalid(where, given.name, _REMOVED)
        elif given.name == _MISTAKEN_FOR_A_PLUGIN:
            yield invalid(f"{where}.args", given.args, "has to match plugin args")
        elif isinstance(given.args, PluginArgs) and not given.args.is_checked_when_made:
            yield from given.args.faults(f"{where}.args", gates)


def _queue_sort_faults(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[str]:
    """Check that one queue can serve all profiles: they must sort it by the same plugin with the same arguments."""
    canon = profiles[0].plugins.queue_sort
    if len(canon.enabled) > 1:
        why = "only one queue sort plugin can be enabled"
        yield invalid("profiles[0].plugins.queueSort.Enabled", len(canon.enabled), why)
    sorter = canon.enabled[0].name if canon.enabled else ""
    sorter_args = profiles[0].plugin_config.get(sorter)
    for index, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != canon:
            own = profile.plugins.queue_sort
            shown = {"Enabled": own.enabled or None, "Disabled": own.disabled or None}
            why = "must be the same for all profiles"
            yield invalid(f"profiles[{index}].plugins.queueSort", shown, why)
        for given in profile.arguments:
            if given.name == sorter and given.args != sorter_args:
                why = "queueSort must be the same for all profiles"
                yield invalid(f"profiles[{index}].pluginConfig.args", given.args, why)


def _extenders_faults(extenders: tuple[ExtenderConfig, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for place, resource in enumerate(extender.managed_resources):
            where = f"{path}.managedResources[{place}].name"
            yield from _resource_faults(where, resource.name)
            if resource.name in seen:
                yield invalid(where, resource.name, "duplicate extender managed resource name")
            seen.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield invalid("extenders", found, "only one extender can implement bind")


def _resource_faults(path: str, name: str) -> Iterator[str]:
    problems = label_key_faults(path, name)
    yield from problems
    if not problems and not is_extended(name):
        yield invalid(path, name, "is an invalid extended resource name")
