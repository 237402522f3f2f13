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
    from stowplan.plugins.defaultbinder import DefaultBinder
    from stowplan.plugins.defaultpreemption.plugin import DefaultPreemption
    from stowplan.plugins.dynamicresources.plugin import DynamicResources
    from stowplan.plugins.gangscheduling import GangScheduling
    from stowplan.plugins.imagelocality import ImageLocality
    from stowplan.plugins.interpodaffinity.plugin import InterPodAffinity
    from stowplan.plugins.nodeaffinity import NodeAffinity
    from stowplan.plugins.nodedeclaredfeatures import NodeDeclaredFeatures
    from stowplan.plugins.nodename import NodeName
    from stowplan.plugins.nodeports import NodePorts
    from stowplan.plugins.noderesources.balanced_allocation import NodeResourcesBalancedAllocation
    from stowplan.plugins.noderesources.fit import NodeResourcesFit
    from stowplan.plugins.nodeunschedulable import NodeUnschedulable
    from stowplan.plugins.nodevolumelimits.plugin import NodeVolumeLimits
    from stowplan.plugins.podtopologyspread.plugin import PodTopologySpread
    from stowplan.plugins.queuesort import PrioritySort
    from stowplan.plugins.schedulinggates import SchedulingGates
    from stowplan.plugins.tainttoleration import TaintToleration
    from stowplan.plugins.volumebinding.plugin import VolumeBinding
    from stowplan.plugins.volumerestrictions import VolumeRestrictions
    from stowplan.plugins.volumezone import VolumeZone

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
