"""The default plugins, which feature gates they need, and what becomes of them when a profile lists its own.

The result still has `multi_point` as a list of its own; `resolve.py` spreads it over the extension points.
"""

from __future__ import annotations

from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.types import Plugin, Plugins, PluginSet

ALL = "*"

# The order is the order in which plugins run at every point.
_IN_ORDER = (
    Plugin("SchedulingGates"),
    Plugin("PrioritySort"),
    Plugin("NodeUnschedulable"),
    Plugin("NodeName"),
    Plugin("TaintToleration", 3),
    Plugin("NodeAffinity", 2),
    Plugin("NodePorts"),
    Plugin("NodeResourcesFit", 1),
    Plugin("VolumeRestrictions"),
    Plugin("NodeVolumeLimits"),
    Plugin("VolumeBinding"),
    Plugin("VolumeZone"),
    Plugin("PodTopologySpread", 2),
    Plugin("InterPodAffinity", 2),
    # Before preemption: freeing an idle claim is kinder than evicting a pod.
    Plugin("DynamicResources", 2),
    Plugin("DefaultPreemption"),
    Plugin("NodeResourcesBalancedAllocation", 1),
    Plugin("ImageLocality", 1),
    Plugin("DefaultBinder"),
    Plugin("NodeDeclaredFeatures"),
    Plugin("GangScheduling"),
    Plugin("TopologyPlacementGenerator"),
    Plugin("PodGroupPodsCount", 1),
)
_GATE_OF = {
    "NodeDeclaredFeatures": "NodeDeclaredFeatures",
    "GangScheduling": "GangScheduling",
    "TopologyPlacementGenerator": "TopologyAwareWorkloadScheduling",
    "PodGroupPodsCount": "TopologyAwareWorkloadScheduling",
}


def default_plugins(gates: FeatureGates) -> Plugins:
    """Give the plugins of a profile that lists none: those whose feature gate, if they have one, is on."""
    ungated = (plugin for plugin in _IN_ORDER if plugin.name not in _GATE_OF or gates.enabled(_GATE_OF[plugin.name]))
    return Plugins(multi_point=PluginSet(enabled=tuple(ungated)))


DEFAULT_PLUGINS = default_plugins(DEFAULT_GATES)


def merge_plugins(default: Plugins, own: Plugins) -> Plugins:
    """Lay a profile's own lists over the default ones, point by point."""
    return Plugins(**{point: merge_set(default.at(point), own.at(point)) for point in Plugins.__struct_fields__})


def merge_set(default: PluginSet, own: PluginSet) -> PluginSet:
    """Keep the defaults that are not disabled, each in its place, then the rest of the profile's own.

    A default that the profile lists again keeps its place and takes the new weight. A plugin listed twice by the
    profile stays twice: `resolve.py` refuses it.
    """
    disabled = own.disabled + default.disabled
    off = {plugin.name for plugin in disabled}
    kept = () if ALL in off else tuple(plugin for plugin in default.enabled if plugin.name not in off)
    # The last of several entries of one name is the one that replaces.
    position = {plugin.name: index for index, plugin in enumerate(own.enabled)}
    replacing = {position[plugin.name] for plugin in kept if plugin.name in position}
    placed = tuple(own.enabled[position[plugin.name]] if plugin.name in position else plugin for plugin in kept)
    added = tuple(plugin for index, plugin in enumerate(own.enabled) if index not in replacing)
    return PluginSet(enabled=placed + added, disabled=tuple(Plugin(plugin.name) for plugin in disabled))
