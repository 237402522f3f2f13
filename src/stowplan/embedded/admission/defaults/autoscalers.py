"""Defaults of horizontal pod autoscalers, of either version."""

from __future__ import annotations

import copy
from typing import Final

from stowplan.embedded.admission import shapes
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage import autoscaler_forms
from stowplan.embedded.storage.catalogue import BUILT_IN

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
_SECOND: Final = next(
    resource
    for resource in BUILT_IN
    if resource.api_version == autoscaler_forms.SECOND and resource.kind == "HorizontalPodAutoscaler"
)


def complete_autoscaler(autoscaler: Object) -> None:
    """Fill in a horizontal pod autoscaler: one of the first version is filled in as it would be in the second."""
    autoscaler.setdefault("spec", {})
    if autoscaler.get("apiVersion") != autoscaler_forms.FIRST:
        _annotate(autoscaler, autoscaler_forms.without_carriers(autoscaler["metadata"].get("annotations")))
        _complete_spec(autoscaler["spec"])
        return
    second = _second(autoscaler)
    _complete_spec(second["spec"])
    first = autoscaler_forms.to_first(second)
    _annotate(autoscaler, first["metadata"].get("annotations", {}))
    autoscaler.update({part: first[part] for part in ("spec", "status") if part in first})


def _second(autoscaler: Object) -> Object:
    """The form of the second version. What annotations carry came unseen: all or nothing of it has the right form."""
    second = copy.deepcopy(autoscaler_forms.to_second(autoscaler))
    try:
        shapes.read(_SECOND, {part: second[part] for part in ("spec", "status") if part in second})
    except StatusError:
        metadata = autoscaler["metadata"]
        kept = autoscaler_forms.without_carriers(metadata.get("annotations"))
        return copy.deepcopy(autoscaler_forms.to_second({**autoscaler, "metadata": {**metadata, "annotations": kept}}))
    return second


def _annotate(autoscaler: Object, annotations: Object) -> None:
    autoscaler["metadata"].pop("annotations", None)
    if annotations:
        autoscaler["metadata"]["annotations"] = annotations


def _complete_spec(spec: Object) -> None:
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = autoscaler_forms.usual_metrics()
    if (behavior := spec.get("behavior")) is not None:
        for direction, usual in _SCALING.items():
            behavior[direction] = {**copy.deepcopy(usual), **behavior.get(direction, {})}
