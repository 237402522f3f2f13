"""From the fields of a document to a whole configuration: what is not said gets its default.

Beside null, an empty string or zero counts as not said where the API says so. `validate.py` goes on with the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from stowplan.config import arguments
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.merge import default_plugins, merge_plugins
from stowplan.config.types import (
    ClientConnection,
    Configuration,
    Extender,
    ExtenderTls,
    LeaderElection,
    ManagedResource,
    Plugin,
    PluginArguments,
    Plugins,
    PluginSet,
    Profile,
)
from stowplan.model.affinity import NodeAffinity, TopologySpreadConstraint
from stowplan.model.duration import of_seconds

Fields = dict[str, Any]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

DEFAULT_SCHEDULER_NAME = "default-scheduler"
DEFAULT_RESOURCES = (arguments.ResourceSpec("cpu", 1), arguments.ResourceSpec("memory", 1))
# With StorageCapacityScoring: the emptier the storage, the better.
DEFAULT_STORAGE_SHAPE = (arguments.UtilizationShapePoint(0, 10), arguments.UtilizationShapePoint(100, 0))


def complete(fields: Fields, gates: FeatureGates = DEFAULT_GATES) -> Configuration:
    """Make a configuration of the fields that a document has; some defaults depend on feature gates."""
    own = {name: value for name, value in fields.items() if name not in ("apiVersion", "kind")}
    own["leaderElection"] = _build(LeaderElection, _said(fields.get("leaderElection", {}), keep=("leaderElect",)))
    own["clientConnection"] = _build(ClientConnection, _said(fields.get("clientConnection", {})))
    # Contention profiling follows profiling unless it is set.
    own.setdefault("enableContentionProfiling", fields.get("enableProfiling", True))
    own["profiles"] = _profiles(fields.get("profiles", []), gates)
    own["extenders"] = tuple(_extender(each) for each in fields.get("extenders", ()))
    return _build(Configuration, own)


def _build(struct: type[_Struct], fields: Fields) -> _Struct:
    """Fill a struct from fields named as in the document."""
    names = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
    return struct(**{names[name]: value for name, value in fields.items()})


def _said(fields: Fields, keep: tuple[str, ...] = ()) -> Fields:
    """Leave out what is empty or zero, so that it gets its default."""
    return {name: value for name, value in fields.items() if value or name in keep}


def _profiles(profiles: list[Fields], gates: FeatureGates) -> tuple[Profile, ...]:
    profiles = profiles or [{}]
    # With several profiles each must have a name of its own.
    unnamed = DEFAULT_SCHEDULER_NAME if len(profiles) == 1 else ""
    return tuple(_profile(fields, unnamed, gates) for fields in profiles)


def _profile(fields: Fields, unnamed: str, gates: FeatureGates) -> Profile:
    own = {point: _plugin_set(given) for point, given in fields.get("plugins", {}).items()}
    plugins = merge_plugins(default_plugins(gates), _build(Plugins, own))
    return Profile(
        scheduler_name=fields.get("schedulerName", unnamed),
        percentage_of_nodes_to_score=fields.get("percentageOfNodesToScore"),
        plugins=plugins,
        arguments=_arguments(fields.get("pluginConfig", []), plugins, gates),
    )


def _plugin_set(fields: Fields) -> PluginSet:
    return PluginSet(**{side: tuple(_build(Plugin, each) for each in plugins) for side, plugins in fields.items()})


def _arguments(given: list[Fields], plugins: Plugins, gates: FeatureGates) -> tuple[PluginArguments, ...]:
    """Default the arguments that are given, then add those of every other enabled plugin that takes any."""
    written = [(each.get("name", ""), each.get("args")) for each in given]
    own = [PluginArguments(name, _default(name, args, gates)) for name, args in written]
    named = {each.name for each in own}
    absent = sorted(name for name in plugins.names() if name in _DEFAULTS and name not in named)
    return (*own, *(PluginArguments(name, _default(name, {}, gates)) for name in absent))


def _default(name: str, args: Any, gates: FeatureGates) -> arguments.Arguments:
    if name not in _DEFAULTS:
        written: arguments.Arguments = args
        return written
    defaulted = _DEFAULTS[name]({field: value for field, value in args.items() if field not in ("apiVersion", "kind")})
    if isinstance(defaulted, arguments.VolumeBindingArgs) and gates.enabled("StorageCapacityScoring"):
        return msgspec.structs.replace(defaulted, shape=defaulted.shape or DEFAULT_STORAGE_SHAPE)
    return defaulted


def _dynamic_resources(fields: Fields) -> arguments.DynamicResourcesArgs:
    return arguments.DynamicResourcesArgs(
        filter_timeout=fields.get("filterTimeout", of_seconds(10)),
        binding_timeout=fields.get("bindingTimeout", of_seconds(600)),
    )


def _node_affinity(fields: Fields) -> arguments.NodeAffinityArgs:
    added = fields.get("addedAffinity")
    return arguments.NodeAffinityArgs(None if added is None else msgspec.convert(added, NodeAffinity))


def _balanced_allocation(fields: Fields) -> arguments.NodeResourcesBalancedAllocationArgs:
    return arguments.NodeResourcesBalancedAllocationArgs(_resources(fields))


def _fit(fields: Fields) -> arguments.NodeResourcesFitArgs:
    given = fields.get("scoringStrategy", {"type": "LeastAllocated"})
    ratio = given.get("requestedToCapacityRatio")
    strategy = arguments.ScoringStrategy(
        type=given.get("type", ""),
        resources=_resources(given),
        requested_to_capacity_ratio=None
        if ratio is None
        else arguments.RequestedToCapacityRatioParam(_shape(ratio.get("shape", ()))),
    )
    ignored, groups = fields.get("ignoredResources", ()), fields.get("ignoredResourceGroups", ())
    return arguments.NodeResourcesFitArgs(strategy, tuple(ignored), tuple(groups))


def _topology_spread(fields: Fields) -> arguments.PodTopologySpreadArgs:
    constraints = msgspec.convert(fields.get("defaultConstraints", ()), tuple[TopologySpreadConstraint, ...])
    return arguments.PodTopologySpreadArgs(constraints, fields.get("defaultingType") or "System")


def _volume_binding(fields: Fields) -> arguments.VolumeBindingArgs:
    shape = fields.get("shape")
    return arguments.VolumeBindingArgs(
        bind_timeout_seconds=fields.get("bindTimeoutSeconds", 600),
        shape=None if shape is None else _shape(shape),
    )


def _resources(fields: Fields) -> tuple[arguments.ResourceSpec, ...]:
    given = fields.get("resources", ())
    specs = (arguments.ResourceSpec(each.get("name", ""), each.get("weight") or 1) for each in given)
    return tuple(specs) or DEFAULT_RESOURCES


def _shape(points: list[Fields]) -> tuple[arguments.UtilizationShapePoint, ...]:
    return tuple(_build(arguments.UtilizationShapePoint, point) for point in points)


def _extender(fields: Fields) -> Extender:
    own = dict(fields)
    own["managedResources"] = tuple(_build(ManagedResource, each) for each in fields.get("managedResources", ()))
    if "tlsConfig" in fields:
        own["tlsConfig"] = _build(ExtenderTls, fields["tlsConfig"])
    return _build(Extender, own)


_DEFAULTS: dict[str, Callable[[Fields], arguments.InTreeArguments]] = {
    "DefaultPreemption": lambda fields: _build(arguments.DefaultPreemptionArgs, fields),
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": lambda fields: _build(arguments.InterPodAffinityArgs, fields),
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _topology_spread,
    "VolumeBinding": _volume_binding,
}
