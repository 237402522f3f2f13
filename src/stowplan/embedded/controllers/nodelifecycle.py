"""Taints that follow from the state of a node: not ready, unreachable, under pressure, cordoned.

The pods of a node that is not ready are not ready either.
"""

from __future__ import annotations

from typing import Any

from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE

_PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE = f"{_PREFIX}not-ready", f"{_PREFIX}unreachable"
UNSCHEDULABLE = f"{_PREFIX}unschedulable"
_PRESSURES = {
    "MemoryPressure": f"{_PREFIX}memory-pressure",
    "DiskPressure": f"{_PREFIX}disk-pressure",
    "PIDPressure": f"{_PREFIX}pid-pressure",
    "NetworkUnavailable": f"{_PREFIX}network-unavailable",
}
#: What this controller adds and takes away; other taints of these keys are somebody else's.
_MANAGED = frozenset(
    (
        *((key, NO_SCHEDULE) for key in (NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values())),
        *((key, NO_EXECUTE) for key in (NOT_READY, UNREACHABLE)),
    )
)


class NodeLifecycleController(Controller):
    """Keeps the taints of nodes, and the readiness of pods on those that are not ready."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "node-controller", context.nodes.resource)
        self._watch(context.nodes, self._enqueue)

    def reconcile(self, key: ObjectKey) -> None:
        """Bring the taints of a node in line with its state."""
        node = self._context.nodes.get(key)
        # A node without a Ready condition has just come; the heartbeats see to it.
        if node is None or "Ready" not in node.conditions:
            return
        wanted = wanted_taints(node)
        if {(taint.key, taint.effect) for taint in node.taints} & _MANAGED != wanted:
            self._write_taints(node.name, wanted)
        if not node.is_ready:
            for pod in self._context.pods.by_node.find(node.name):
                if pod.is_ready:
                    self._mark_not_ready(pod)

    def _write_taints(self, name: str, wanted: frozenset[tuple[str, str]]) -> None:
        obj = self._api.get(self._resource, "", name)
        taints = obj.setdefault("spec", {}).get("taints") or []
        kept = [each for each in taints if _pair(each) not in _MANAGED - wanted]
        missing, moment = sorted(wanted - {_pair(each) for each in kept}), self._moment()
        added = [{"key": key, "effect": effect, "timeAdded": moment} for key, effect in missing]
        obj["spec"]["taints"] = [*kept, *added]
        self._update(self._resource, obj)

    def _mark_not_ready(self, pod: KnownPod) -> None:
        resource = self._context.pods.resource
        try:
            obj = self._api.get(resource, *pod.key)
        except StatusError:
            return
        ready = conditions.find(obj.get("status") or {}, "Ready")
        if ready is not None and ready.get("status") == "True":
            conditions.put(obj["status"], {**ready, "status": "False", "lastTransitionTime": self._moment()})
            self._update(resource, obj, "status")


def wanted_taints(node: KnownNode) -> frozenset[tuple[str, str]]:
    """Which of the managed taints a node should have."""
    wanted = {(key, NO_SCHEDULE) for kind, key in _PRESSURES.items() if node.conditions.get(kind) == "True"}
    if node.is_unschedulable:
        wanted.add((UNSCHEDULABLE, NO_SCHEDULE))
    if not node.is_ready:
        key = NOT_READY if node.conditions["Ready"] == "False" else UNREACHABLE
        wanted |= {(key, NO_SCHEDULE), (key, NO_EXECUTE)}
    return frozenset(wanted)


def _pair(taint: dict[str, Any]) -> tuple[str, str]:
    return (taint.get("key", ""), taint.get("effect", ""))
