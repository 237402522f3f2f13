"""Taints that follow from the state of a node: not ready, unreachable, under pressure, cordoned.

The pods of a node that is not ready are not ready either.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.following import conditions, resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.nodes import KnownNode
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.model.timestamps import format_time
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
    (key, effect)
    for key, effects in (
        (NOT_READY, (NO_SCHEDULE, NO_EXECUTE)),
        (UNREACHABLE, (NO_SCHEDULE, NO_EXECUTE)),
        (UNSCHEDULABLE, (NO_SCHEDULE,)),
        *((key, (NO_SCHEDULE,)) for key in _PRESSURES.values()),
    )
    for effect in effects
)


class NodeLifecycle:
    """Keeps the taints of nodes, and the readiness of pods on those that are not ready."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._queue = WorkQueue()
        self._failures = setting.failures("node-controller", resources.nodes(setting.api))
        setting.nodes.follower.tell(self._on_node)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [Worker(self._queue, self.reconcile, (self._setting.nodes.follower,), self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Bring the taints of a node in line with its state."""
        node = self._setting.nodes.get(key[1])
        # A node without a Ready condition has just come; the heartbeats see to it.
        if node is None or "Ready" not in node.conditions:
            return None
        wanted = wanted_taints(node)
        if {(taint.key, taint.effect) for taint in node.taints} & _MANAGED != wanted:
            self._write_taints(node.name, wanted)
        if not node.is_ready:
            for pod in self._setting.pods.on_node(node.name):
                if pod.is_ready:
                    self._mark_not_ready(pod)
        return None

    def _write_taints(self, name: str, wanted: frozenset[tuple[str, str]]) -> None:
        resource = resources.nodes(self._setting.api)
        obj = self._setting.api.get(resource, "", name)
        taints = obj.setdefault("spec", {}).get("taints") or []
        kept = [each for each in taints if _pair(each) not in _MANAGED - wanted]
        missing = sorted(wanted - {_pair(each) for each in kept})
        moment = format_time(self._setting.now())
        obj["spec"]["taints"] = [
            *kept,
            *({"key": key, "effect": effect, "timeAdded": moment} for key, effect in missing),
        ]
        self._setting.api.update(resource, "", name, obj)

    def _mark_not_ready(self, pod: KnownPod) -> None:
        resource = resources.pods(self._setting.api)
        try:
            obj = self._setting.api.get(resource, *pod.key)
        except StatusError:
            return
        ready = conditions.find(obj.get("status") or {}, "Ready")
        if ready is not None and ready.get("status") == "True":
            moment = format_time(self._setting.now())
            conditions.put(obj["status"], {**ready, "status": "False", "lastTransitionTime": moment})
            self._setting.api.update(resource, *pod.key, obj, subresource="status")

    def _on_node(self, _: KnownNode | None, after: KnownNode | None) -> None:
        if after is not None:
            self._queue.add(("", after.name))


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
