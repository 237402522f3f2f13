"""On which nodes a DaemonSet runs, and what its pods are made like so that the scheduler puts them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stowplan.embedded.following.nodes import KnownNode
from stowplan.embedded.objects.resource import Object
from stowplan.model import decode
from stowplan.model.affinity import NodeSelector, Toleration
from stowplan.model.node_selector import CompiledNodeSelector, compile_node_selector
from stowplan.model.selectors import Selector, from_labels
from stowplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, is_tolerated

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: A daemon stays whatever happens to its node.
_TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a pod template asks of a node."""

    node_name: str
    labels: Selector
    affinity: CompiledNodeSelector | None
    tolerations: tuple[Toleration, ...]

    def should_run(self, node: KnownNode) -> bool:
        """Whether a pod should be started on the node."""
        return self._may_be_on(node) and self._tolerates(node, (NO_SCHEDULE, NO_EXECUTE))

    def may_stay(self, node: KnownNode) -> bool:
        """Whether a pod that is on the node may stay there."""
        return self._may_be_on(node) and self._tolerates(node, (NO_EXECUTE,))

    def _may_be_on(self, node: KnownNode) -> bool:
        if self.node_name and self.node_name != node.name:
            return False
        if not self.labels.matches(node.labels):
            return False
        return self.affinity is None or self.affinity.matches(node.name, node.labels)

    def _tolerates(self, node: KnownNode, effects: tuple[str, ...]) -> bool:
        taints = (taint for taint in node.taints if taint.effect in effects)
        return all(is_tolerated(taint, self.tolerations) for taint in taints)


def fit_of(template: Object) -> Fit:
    """Read what a pod template asks of a node."""
    spec = template["spec"]
    required = _node_affinity(spec).get(_REQUIRED)
    return Fit(
        node_name=spec.get("nodeName") or "",
        labels=from_labels(spec.get("nodeSelector") or {}),
        affinity=compile_node_selector(decode.convert(NodeSelector, required)) if required else None,
        tolerations=tuple(decode.convert(Toleration, each) for each in _tolerations(spec)),
    )


def place(pod: Object, node: str) -> None:
    """Make a pod one for this node alone: the scheduler decides, but has no choice."""
    spec = pod["spec"]
    spec["tolerations"] = _tolerations(spec)
    own = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = _node_affinity(spec).get(_REQUIRED) or {}
    terms = required.get("nodeSelectorTerms") or [{}]
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    required = {"nodeSelectorTerms": [{**term, "matchFields": [own]} for term in terms]}
    spec["affinity"] = {**affinity, "nodeAffinity": {**node_affinity, _REQUIRED: required}}


def _node_affinity(spec: Object) -> Object:
    affinity: Any = (spec.get("affinity") or {}).get("nodeAffinity")
    return affinity or {}


def _tolerations(spec: Object) -> list[Object]:
    """The tolerations of the template with those that every daemon has."""
    tolerations = list(spec.get("tolerations") or [])
    extra = (*_TOLERATED, _TOLERATED_ON_HOST_NETWORK) if spec.get("hostNetwork") else _TOLERATED
    for key, effect in extra:
        added = {"key": key, "operator": "Exists", "effect": effect}
        if added not in tolerations:
            tolerations.append(added)
    return tolerations
