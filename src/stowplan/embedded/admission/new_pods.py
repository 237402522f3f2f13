"""What a new pod is given beyond its defaults: the labels it means by their keys, and its first status."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from stowplan.embedded.objects.resource import Object
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import BEST_EFFORT, BURSTABLE, CPU, MEMORY, qos_class
from stowplan.model.timestamps import format_time

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def resolve_label_keys(pod: Object) -> None:
    """Write the values of the labels that a pod names by their keys into its selectors."""
    spec, labels = pod["spec"], pod["metadata"].get("labels", {})
    for constraint in spec.get("topologySpreadConstraints", ()):
        _resolve(constraint, labels)
    if "affinity" in spec:
        for term in _pod_terms(spec["affinity"]):
            _resolve(term, labels)


def begin_status(pod: Object, now: datetime) -> None:
    """Let a new pod wait; one with gates says why."""
    status: Object = {"phase": "Pending", "qosClass": _qos(pod)}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": format_time(now),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    pod["status"] = status


def keep(pod: Object, before: Object) -> None:
    """Let a changed pod that does not mention what it was given keep it."""
    for part, fields in (("spec", ("priority", "preemptionPolicy")), ("status", ("qosClass",))):
        for field in fields:
            if field in (before.get(part) or {}):
                pod.setdefault(part, {}).setdefault(field, before[part][field])


def _resolve(term: Object, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field, ()):
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(expression)


def _pod_terms(affinity: Object) -> Iterator[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        yield from found.get(_REQUIRED, ())
        yield from (each["podAffinityTerm"] for each in found.get(_PREFERRED, ()) if "podAffinityTerm" in each)


def _qos(pod: Object) -> str:
    spec = pod["spec"]
    parts: list[Any] = [each["resources"] for each in (*spec.get("containers", ()), *spec.get("initContainers", ()))]
    if "resources" in spec or any("limits" in part for part in parts):
        return qos_class(decode.convert(Pod, pod))
    # Without limits it is simple, and most pods have none.
    amounts = (part["requests"].get(name) for part in parts if "requests" in part for name in (CPU, MEMORY))
    return BURSTABLE if any(amount and Quantity.parse(amount).sign > 0 for amount in amounts) else BEST_EFFORT
