"""The order in which upstream walks nodes: zone by zone in turn, one node of each per round.

It decides nothing unless nodes are sampled or totals tie under the deterministic rule; see `engine.pick`.
"""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.model.node import Node

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


class NodeTree:
    """Node names by zone, zones in the order they were first seen, and the walk over them that was settled last."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}
        self._walk: list[str] = []

    def put(self, node: Node) -> None:
        """Add a node, or move it to its new zone."""
        zone, name = zone_key(node), node.metadata.name
        if self._zone_of.get(name) != zone:
            self.remove(name)
            self._zones.setdefault(zone, {})[name] = None
            self._zone_of[name] = zone

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]

    def settle(self) -> list[str]:
        """Return the walk. It is made anew if others are there than last time; who only changed zone keeps its turn."""
        if self._zone_of.keys() != set(self._walk):
            self._walk = list(self.names())
        return self._walk

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
