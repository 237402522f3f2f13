"""Pods that wait for room on a node that was freed for them: they count there before they are placed.

A pod of at least the priority of the one at hand, nominated to a node, is taken to run there when that node is
filtered.
"""

from __future__ import annotations

from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod, pod_id


class Nominations:
    """Pending pods by the node they are nominated to."""

    def __init__(self) -> None:
        #: The pods nominated to each node, by their ids; read by others, changed here.
        self.by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.by_node)

    def put(self, pod: Pod, node_name: str) -> None:
        """Nominate a pod, taking back any earlier nomination of it."""
        self.remove(pod)
        if node_name:
            self.by_node.setdefault(node_name, {})[pod_id(pod)] = pod
            self._node_of[pod_id(pod)] = node_name

    def update(self, old: Pod, new: Pod) -> None:
        """Take in a new version of a pod; a nomination that is not yet written to the pod stays as it is."""
        is_unwritten = not old.status.nominated_node_name and not new.status.nominated_node_name
        node_name = self.node_of(old) if is_unwritten else new.status.nominated_node_name
        self.remove(old)
        self.put(new, node_name)

    def remove(self, pod: Pod) -> None:
        """Take back the nomination of a pod, if it has one."""
        node_name = self._node_of.pop(pod_id(pod), None)
        if node_name is not None:
            del self.by_node[node_name][pod_id(pod)]
            if not self.by_node[node_name]:
                del self.by_node[node_name]

    def hollow(self, pod: Pod) -> None:
        """Keep no more of a nominated pod than that it is one, without requests or priority: nobody queues it any more.

        Upstream looks up nominated pods in the queue; one that was dropped from it, for it is being deleted, is known
        by name alone. It takes up a place among the pods of its node until it is gone, and nothing else.
        """
        node_name = self.node_of(pod)
        if node_name:
            metadata = NamespacedMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)
            self.put(Pod(metadata=metadata), node_name)

    def node_of(self, pod: Pod) -> str:
        return self._node_of.get(pod_id(pod), "")

    def on(self, node_name: str) -> list[Pod]:
        """Return the pods that are nominated to a node."""
        return list(self.by_node.get(node_name, {}).values())

    def ahead_of(self, pod: Pod) -> dict[str, list[Pod]]:
        """Return, by node, the nominated pods that `pod` must leave room for: others of at least its priority."""
        found = {
            node: [other for key, other in pods.items() if other.priority >= pod.priority and key != pod_id(pod)]
            for node, pods in self.by_node.items()
        }
        return {node: pods for node, pods in found.items() if pods}
