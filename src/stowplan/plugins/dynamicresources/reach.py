"""From which nodes devices can be reached: one node by its name, all of them, or those that a selector matches."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.model import node_selector
from stowplan.model.affinity import NodeSelector
from stowplan.model.device_pool import Device, ResourceSliceSpec
from stowplan.model.node import Node
from stowplan.model.node_selector import CompiledNodeSelector


class ReachError(Exception):
    """A node selector that cannot be understood."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Who can reach a slice or a device. The name counts first, then "all nodes", then the selector."""

    node_name: str = ""
    is_everywhere: bool = False
    selector: CompiledNodeSelector | None = None

    @staticmethod
    def of_slice(spec: ResourceSliceSpec) -> Reach:
        return _reach(spec.node_name, spec.all_nodes, spec.node_selector)

    @staticmethod
    def of_device(device: Device) -> Reach:
        return _reach(device.node_name, device.all_nodes, device.node_selector)

    @property
    def is_given(self) -> bool:
        return bool(self.node_name) or self.is_everywhere or self.selector is not None

    def includes(self, node: Node) -> bool:
        """Say whether a node is among them. Raise ReachError."""
        if self.node_name:
            return node.name == self.node_name
        if self.is_everywhere or self.selector is None:
            return self.is_everywhere
        if self.selector.parse_error is not None:
            raise ReachError(f"failed to parse node selector: {self.selector.parse_error}")
        return self.selector.matches(node.name, node.labels)


def _reach(node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> Reach:
    compiled = node_selector.compile_node_selector(selector) if selector is not None else None
    return Reach(node_name or "", bool(all_nodes), compiled)
