"""The order in which upstream walks nodes: zone by zone in turn, one node of each per round.

It decides nothing unless nodes are sampled or totals tie under the deterministic rule; see `engine.pick`.
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.model.node import Node

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


class NodeTree:
    """Node names by zone, zones in the order they were first seen."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}

    def put(self, node: Node) -> bool:
        """Add a node, or move it to its new zone; say whether the order changed."""
        zone, name = zone_key(node), node.metadata.name
        if self._zone_of.get(name) == zone:
            return False
        self.remove(name)
        self._zones.setdefault(zone, {})[name] = None
        self._zone_of[name] = zone
        return True

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]

    def names(self) -> Iterable[str]:
        """Yield the names round by round: the first of every zone, then the second of every zone that has one, ..."""
        rounds = [iter(zone) for zone in self._zones.values()]
        while rounds:
            remaining = []
            for zone in rounds:
                name = next(zone, None)
                if name is not None:
                    yield name
                    remaining.append(zone)
            rounds = remaining


def zone_key(node: Node) -> str:
    """Return upstream's key of a node's zone; empty when the node has neither region nor zone."""
    labels = node.metadata.labels
    region = next((labels[key] for key in _REGION if key in labels), "")
    zone = next((labels[key] for key in _ZONE if key in labels), "")
    return f"{region}:\x00:{zone}" if region or zone else ""
