"""The shipped test kit: builders of pods and nodes, a handle over plain objects, and the plugin check."""

from stowplan.testing.check_plugin import check_plugin
from stowplan.testing.local_handle import LocalHandle
from stowplan.testing.node_builder import NodeBuilder, make_node
from stowplan.testing.pod_builder import PodBuilder, make_pod

__all__ = ["LocalHandle", "NodeBuilder", "PodBuilder", "check_plugin", "make_node", "make_pod"]
