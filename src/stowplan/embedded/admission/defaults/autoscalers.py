"""Defaults of horizontal pod autoscalers, of either version."""

from __future__ import annotations

import copy
from typing import Final

from stowplan.embedded.admission import shapes
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.catalogue import built_in

#: How fast an autoscaler goes up and down.
_SCALING: Final[dict[str, Object]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
}
_SECOND: Final = built_in("autoscaling", "horizontalpodautoscalers", "v2")


def complete_autoscaler(autoscaler: Object) -> None:
    """Fill in a horizontal pod autoscaler: one of the first version is filled in as it would be in the second."""
    autoscaler.setdefault("spec", {})
    if autoscaler.get("apiVersion") != conversion.FIRST_AUTOSCALERS:
        _annotate(autoscaler, conversion.without_carriers(autoscaler["metadata"].get("annotations")))
        _complete_spec(autoscaler["spec"])
        return
    second = _second(autoscaler)
    _complete_spec(second["spec"])
    first = conversion.to_first_autoscaler(second)
    _annotate(autoscaler, first["metadata"].get("annotations", {}))
    autoscaler.update({part: first[part] for part in ("spec", "status") if part in first})


def _second(autoscaler: Object) -> Object:
    """The form of the second version. What annotations carry came unseen: all or nothing of it has the right form."""
    second = copy.deepcopy(conversion.to_second_autoscaler(autoscaler))
    try:
        shapes.read(_SECOND, {part: second[part] for part in ("spec", "status") if part in second})
    except StatusError:
        metadata = autoscaler["metadata"]
        kept = conversion.without_carriers(metadata.get("annotations"))
        return copy.deepcopy(
            conversion.to_second_autoscaler({**autoscaler, "metadata": {**metadata, "annotations": kept}})
        )
    return second


def _annotate(autoscaler: Object, annotations: Object) -> None:
    autoscaler["metadata"].pop("annotations", None)
    if annotations:
        autoscaler["metadata"]["annotations"] = annotations


def _complete_spec(spec: Object) -> None:
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = conversion.usual_metrics()
    if (behavior := spec.get("behavior")) is not None:
        for direction, usual in _SCALING.items():
            behavior[direction] = {**copy.deepcopy(usual), **behavior.get(direction, {})}
