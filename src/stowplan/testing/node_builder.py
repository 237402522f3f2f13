"""Nodes in one readable line: `make_node("n").capacity(cpu="8", memory="32Gi").taint("gpu").build()`.

Every method returns a new builder, so a half-built node can be kept and varied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from stowplan.model.meta import ObjectMeta
from stowplan.model.node import ContainerImage, Node, Taint
from stowplan.model.quantity import Quantity

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
PODS = 110


def make_node(name: str = "node") -> NodeBuilder:
    """Start a node that takes 110 pods and has its host name as a label, as every kubelet sets them."""
    meta = ObjectMeta(name=name, uid=f"uid-{name}", labels={HOSTNAME: name})
    return NodeBuilder(Node(metadata=meta)).capacity(pods=PODS)


@dataclass(frozen=True, slots=True)
class NodeBuilder:
    """An unfinished node; `build` gives it."""

    node: Node

    def build(self) -> Node:
        return self.node

    def capacity(self, resources: Mapping[str, str | int] | None = None, **named: str | int) -> NodeBuilder:
        """Set what the node has, all allocatable: `capacity(cpu="8", pods=20)`, `capacity({"nvidia.com/gpu": 4})`."""
        amounts = {**(resources or {}), **named}
        more = {name.replace("_", "-"): Quantity.parse(str(amount)) for name, amount in amounts.items()}
        status = self.node.status
        return self._status(allocatable={**status.allocatable, **more}, capacity={**status.capacity, **more})

    def label(self, key: str, value: str = "") -> NodeBuilder:
        return self._meta(labels={**self.node.labels, key: value})

    def zone(self, zone: str) -> NodeBuilder:
        return self.label(ZONE, zone)

    def annotation(self, key: str, value: str) -> NodeBuilder:
        return self._meta(annotations={**self.node.metadata.annotations, key: value})

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> NodeBuilder:
        return self._spec(taints=(*self.node.spec.taints, Taint(key=key, value=value, effect=effect)))

    def cordon(self) -> NodeBuilder:
        """Make the node unschedulable, without the taint that the node controller would add."""
        return self._spec(unschedulable=True)

    def image(self, name: str, size_bytes: int) -> NodeBuilder:
        image = ContainerImage(names=(name,), size_bytes=size_bytes)
        return self._status(images=(*self.node.status.images, image))

    def _meta(self, **fields: Any) -> NodeBuilder:
        return NodeBuilder(replace(self.node, metadata=replace(self.node.metadata, **fields)))

    def _spec(self, **fields: Any) -> NodeBuilder:
        return NodeBuilder(replace(self.node, spec=replace(self.node.spec, **fields)))

    def _status(self, **fields: Any) -> NodeBuilder:
        return NodeBuilder(replace(self.node, status=replace(self.node.status, **fields)))
