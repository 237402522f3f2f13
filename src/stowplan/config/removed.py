"""Plugins and versions of the configuration that earlier releases had, and what is in their place.

`validate.py` refuses the names in upstream's words; `legacy.py` converts them where the user asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Volumes of these kinds are those of CSI drivers by now, and are counted as such.
COUNTS_VOLUMES: Final = "NodeVolumeLimits"

#: By the name that is gone: the plugin that does its work today.
SUCCESSORS: Final[Mapping[str, str]] = {
    "AzureDiskLimits": COUNTS_VOLUMES,
    "CinderLimits": COUNTS_VOLUMES,
    "EBSLimits": COUNTS_VOLUMES,
    "GCEPDLimits": COUNTS_VOLUMES,
    "SelectorSpread": "PodTopologySpread",
}
#: Names that version v1 itself refuses; the others were gone before it.
REFUSED_BY_V1: Final = frozenset(name for name, by in SUCCESSORS.items() if by == COUNTS_VOLUMES)

_BY_HAND: Final[Mapping[str, str]] = {
    "NodeLabel": "write it as addedAffinity of NodeAffinity",
    "NodePreferAvoidPods": "taint the nodes instead",
    "NodeResourcesLeastAllocated": "give NodeResourcesFit the scoringStrategy LeastAllocated",
    "NodeResourcesMostAllocated": "give NodeResourcesFit the scoringStrategy MostAllocated",
    "RequestedToCapacityRatio": "give NodeResourcesFit the scoringStrategy RequestedToCapacityRatio",
    "ServiceAffinity": "let pods say it with affinity",
}

OLDER_VERSIONS: Final = ("v1beta3", "v1beta2", "v1beta1")
FLAG: Final = "--legacy-config"


def remedy_for(name: str) -> str:
    """Say what to do about a plugin that is gone; nothing if there never was one of that name."""
    if name in SUCCESSORS:
        return f"{name} is gone: write {SUCCESSORS[name]} instead, or give {FLAG} to have the file converted"
    return f"{name} is gone: {_BY_HAND[name]}" if name in _BY_HAND else ""
