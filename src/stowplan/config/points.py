"""The extension points, and which of them each in-tree plugin takes part in.

Points have the names of the plugin contract (`pre_filter`); the configuration file spells them `preFilter`.
`resolve.py` uses the table to spread multiPoint plugins over their points.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# In the order in which kube-scheduler goes through them: it decides which of two faults is reported.
POINTS = (
    "pre_filter",
    "filter",
    "post_filter",
    "reserve",
    "pre_score",
    "score",
    "pre_bind",
    "bind",
    "post_bind",
    "permit",
    "pre_enqueue",
    "queue_sort",
    "placement_generate",
    "placement_score",
)

PointsOf = Mapping[str, frozenset[str]]


def camel(point: str) -> str:
    """Spell a point as the configuration file does: `pre_filter` is `preFilter`."""
    head, *rest = point.split("_")
    return head + "".join(word.capitalize() for word in rest)


def plugin_type(point: str) -> str:
    """Name the kind of plugin a point takes, as error messages do: `pre_filter` takes a `PreFilterPlugin`."""
    return "".join(word.capitalize() for word in point.split("_")) + "Plugin"


def _points(text: str) -> frozenset[str]:
    return frozenset(text.split())


IN_TREE: PointsOf = MappingProxyType(
    {
        "SchedulingGates": _points("pre_enqueue"),
        "PrioritySort": _points("queue_sort"),
        "NodeUnschedulable": _points("filter"),
        "NodeName": _points("filter"),
        "TaintToleration": _points("filter pre_score score"),
        "NodeAffinity": _points("pre_filter filter pre_score score"),
        "NodePorts": _points("pre_filter filter"),
        "NodeResourcesFit": _points("pre_filter filter pre_score score placement_score"),
        "VolumeRestrictions": _points("pre_filter filter"),
        "NodeVolumeLimits": _points("pre_filter filter"),
        "VolumeBinding": _points("pre_filter filter pre_score score reserve pre_bind"),
        "VolumeZone": _points("pre_filter filter"),
        "PodTopologySpread": _points("pre_filter filter pre_score score"),
        "InterPodAffinity": _points("pre_filter filter pre_score score"),
        "DynamicResources": _points("pre_enqueue pre_filter filter post_filter score reserve pre_bind"),
        "DefaultPreemption": _points("pre_enqueue post_filter"),
        "NodeResourcesBalancedAllocation": _points("pre_score score"),
        "ImageLocality": _points("score"),
        "DefaultBinder": _points("bind"),
        "NodeDeclaredFeatures": _points("pre_filter filter"),
        "GangScheduling": _points("pre_enqueue permit"),
        "TopologyPlacementGenerator": _points("placement_generate"),
        "PodGroupPodsCount": _points("placement_score"),
    }
)
