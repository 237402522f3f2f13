"""The shipped test kit: builders of pods and nodes, a handle over plain objects, and the plugin check."""

from stowplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from stowplan.testing.check_plugin import check_plugin
from stowplan.testing.local_handle import LocalHandle

__all__ = ["LocalHandle", "NodeBuilder", "PodBuilder", "check_plugin", "make_node", "make_pod"]
