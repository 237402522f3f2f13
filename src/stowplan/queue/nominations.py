"""Pods that wait for room on a node that was freed for them: they count there before they are placed.

A pod of at least the priority of the one at hand, nominated to a node, is taken to run there when that node is
filtered.
"""

from __future__ import annotations

from typing import Final

from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod, pod_id
from stowplan.table.shape import PodShape
from stowplan.table.undo import UndoLog

#: So many nodes that have changed are remembered.
_MOST_CHANGES: Final = 1 << 12


class Nominations:
    """Pending pods by the node they are nominated to."""

    def __init__(self) -> None:
        #: The pods nominated to each node, by their ids; read by others, changed here.
        self.by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        #: Their shapes, as far as somebody has found them out, by their ids.
        self.shapes: dict[str, PodShape] = {}
        #: Moves on with every change.
        self.position = 0
        # The nodes that the last changes were about.
        self._changed: list[str] = []
        #: What takes back what is supposed; None if nothing is.
        self.undo: UndoLog | None = None

    def __bool__(self) -> bool:
        return bool(self.by_node)

    def put(self, pod: Pod, node_name: str) -> None:
        """Nominate a pod, taking back any earlier nomination of it."""
        self.remove(pod)
        if node_name:
            self._note(pod, node_name)
            self.by_node.setdefault(node_name, {})[pod_id(pod)] = pod
            self._node_of[pod_id(pod)] = node_name
            self._mark(node_name)

    def update(self, old: Pod, new: Pod) -> None:
        """Take in a new version of a pod; a nomination that is not yet written to the pod stays as it is."""
        is_unwritten = not old.status.nominated_node_name and not new.status.nominated_node_name
        node_name = self.node_of(old) if is_unwritten else new.status.nominated_node_name
        self.remove(old)
        self.put(new, node_name)

    def remove(self, pod: Pod) -> None:
        """Take back the nomination of a pod, if it has one."""
        node_name = self._node_of.get(pod_id(pod))
        if node_name is not None:
            self._note(pod, node_name)
            del self._node_of[pod_id(pod)]
            del self.by_node[node_name][pod_id(pod)]
            if not self.by_node[node_name]:
                del self.by_node[node_name]
            self.shapes.pop(pod_id(pod), None)
            self._mark(node_name)

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
        found = {node_name: self.ahead_on(node_name, pod) for node_name in self.by_node}
        return {node_name: pods for node_name, pods in found.items() if pods}

    def ahead_on(self, node_name: str, pod: Pod) -> list[Pod]:
        """Return those of one node."""
        own = pod_id(pod)
        pods = self.by_node.get(node_name, {}).items()
        return [other for key, other in pods if other.priority >= pod.priority and key != own]

    def since(self, position: int) -> list[str] | None:
        """Return the nodes that changes after `position` were about, repeats included; None if that is not known."""
        first = self.position - len(self._changed)
        return self._changed[position - first :] if position >= first else None

    def _note(self, pod: Pod, node_name: str) -> None:
        """Note how the nominations to a node are put back, that of a pod among them."""
        if self.undo is not None:
            self.undo.add(self._mark, node_name)
            self.undo.keep(self.shapes, pod_id(pod))
            self.undo.keep(self._node_of, pod_id(pod))
            self.undo.keep(self.by_node, node_name)

    def _mark(self, node_name: str) -> None:
        if len(self._changed) == _MOST_CHANGES:
            del self._changed[: _MOST_CHANGES // 2]
        self._changed.append(node_name)
        self.position += 1
