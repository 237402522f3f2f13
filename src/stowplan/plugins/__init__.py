"""The in-tree plugins, one file each. `in_tree` imports them; `NOT_BUILT` is the one list of those still missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stowplan.framework.contract import Plugin

#: Known by name, so that configuration files naming them load. What they do is asked for by alpha features only.
NOT_BUILT = (
    "TopologyPlacementGenerator",
    "PodGroupPodsCount",
)


def in_tree() -> tuple[type[Plugin], ...]:
    """Return the plugin classes in upstream's default order, then the one that upstream has not got in its tree."""
    from stowplan.plugins.coscheduling import Coscheduling
    from stowplan.plugins.default_binder import DefaultBinder
    from stowplan.plugins.default_preemption import DefaultPreemption
    from stowplan.plugins.dynamic_resources import DynamicResources
    from stowplan.plugins.gang_scheduling import GangScheduling
    from stowplan.plugins.image_locality import ImageLocality
    from stowplan.plugins.inter_pod_affinity import InterPodAffinity
    from stowplan.plugins.node_affinity import NodeAffinity
    from stowplan.plugins.node_declared_features import NodeDeclaredFeatures
    from stowplan.plugins.node_name import NodeName
    from stowplan.plugins.node_ports import NodePorts
    from stowplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
    from stowplan.plugins.node_resources_fit import NodeResourcesFit
    from stowplan.plugins.node_unschedulable import NodeUnschedulable
    from stowplan.plugins.node_volume_limits import NodeVolumeLimits
    from stowplan.plugins.pod_topology_spread import PodTopologySpread
    from stowplan.plugins.priority_sort import PrioritySort
    from stowplan.plugins.scheduling_gates import SchedulingGates
    from stowplan.plugins.taint_toleration import TaintToleration
    from stowplan.plugins.volume_binding import VolumeBinding
    from stowplan.plugins.volume_restrictions import VolumeRestrictions
    from stowplan.plugins.volume_zone import VolumeZone

    return (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        DefaultPreemption,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
        GangScheduling,
        Coscheduling,
    )
