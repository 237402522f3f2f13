"""The plugins that come with the scheduler: one package, or one file, per plugin under upstream's name.

A line in `IN_TREE` is all it takes to add one; what else there is to say of a plugin its class declares itself (see
`stowplan.framework.contract`). `docs/plugins` has a page of each, made from the class.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stowplan.framework.contract import Plugin

#: Module and class of each, in the order in which they run at every extension point: upstream's, as far as it has them.
IN_TREE: Final = (
    "schedulinggates:SchedulingGates",
    "queuesort:PrioritySort",
    "nodename:NodeName",
    "nodeunschedulable:NodeUnschedulable",
    "tainttoleration:TaintToleration",
    "nodeaffinity:NodeAffinity",
    "nodeports:NodePorts",
    "deferredpodscheduling:DeferredPodScheduling",
    "noderesources.fit:NodeResourcesFit",
    "volumerestrictions:VolumeRestrictions",
    "nodevolumelimits.plugin:NodeVolumeLimits",
    "volumebinding.plugin:VolumeBinding",
    "volumezone:VolumeZone",
    "podtopologyspread.plugin:PodTopologySpread",
    "interpodaffinity.plugin:InterPodAffinity",
    # Before preemption: freeing an idle claim is kinder than evicting a pod.
    "dynamicresources.plugin:DynamicResources",
    "defaultpreemption.plugin:DefaultPreemption",
    "noderesources.balanced_allocation:NodeResourcesBalancedAllocation",
    "imagelocality:ImageLocality",
    "defaultbinder:DefaultBinder",
    "nodedeclaredfeatures:NodeDeclaredFeatures",
    "gangscheduling:GangScheduling",
    "topologyplacement:TopologyPlacementGenerator",
    "podgrouppodscount:PodGroupPodsCount",
    "coscheduling:Coscheduling",
)


def in_tree() -> tuple[type[Plugin], ...]:
    """Import and return the plugin classes."""
    return tuple(map(_imported, IN_TREE))


def _imported(reference: str) -> type[Plugin]:
    module, _, name = reference.partition(":")
    cls: type[Plugin] = getattr(import_module(f"{__name__}.{module}"), name)
    return cls
