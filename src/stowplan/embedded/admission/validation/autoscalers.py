"""Rules of horizontal pod autoscalers."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import NOT_NEGATIVE, Field
from stowplan.embedded.objects.releases import changed
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage import conversion
from stowplan.model.quantity import Quantity

#: Types of metrics, and where each is described, in the order in which upstream looks.
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_NOT_TO_ZERO: Final = "must specify at least one Object or External metric to support scaling to zero replicas"
_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800


def check_autoscaler(autoscaler: Field) -> None:
    """Check an autoscaler, of either version."""
    is_first_version = autoscaler.get("apiVersion") == conversion.FIRST_AUTOSCALERS
    if is_first_version:
        autoscaler = Field(autoscaler.problems, "", conversion.to_second_autoscaler(autoscaler.value))
    spec = autoscaler["spec"]
    _check_bounds(spec["maxReplicas"], spec["minReplicas"])
    _check_reference(spec["scaleTargetRef"], needs_group=not is_first_version)
    spec["metrics"].each(_check_metric)
    if spec.get("minReplicas") == 0 and not {"Object", "External"} & {each.get("type") for each in spec["metrics"]}:
        spec["metrics"].forbidden(_NOT_TO_ZERO)
    for direction in ("scaleUp", "scaleDown"):
        if direction in spec["behavior"]:
            _check_scaling(spec["behavior"][direction])


def check_autoscaler_update(autoscaler: Field, before: Object) -> None:
    """In the first version the metadata carry a part of what is wanted, and are looked at again."""
    if (
        autoscaler.get("apiVersion") == conversion.FIRST_AUTOSCALERS
        and autoscaler.get("metadata") != before["metadata"]
    ):
        check_autoscaler(autoscaler)


def _check_bounds(most: Field, least: Field) -> None:
    lowest = 0 if changed("AutoscalersToZero", least.problems.release) else 1
    if least.value < lowest:
        least.invalid(f"must be greater than or equal to {lowest}")
    most.check_needed(detail=most.problems.advice("must be set and greater than 0"))
    most.check_not_negative("must be greater than or equal to 1")
    if (most.value or 0) < least.value:
        most.invalid("must be greater than or equal to `minReplicas`", most.value or 0)


def _check_reference(reference: Field, *, needs_group: bool) -> None:
    for field in ("kind", "name"):
        reference[field].check_needed(names.path_segment)
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        reference["apiVersion"].invalid(f"unexpected GroupVersion string: {version}")
    elif needs_group and "/" not in version and version != "v1":
        reference["apiVersion"].invalid("apiVersion must specify API group", version)


def _check_metric(metric: Field) -> None:
    kind = metric["type"]
    kind.check_needed(detail="must specify a metric source type")
    kind.check_is_one_of(sorted(_SOURCES))
    described = [field for field in _SOURCES.values() if field in metric]
    if described:
        _check_source(metric[described[0]], described[0])
    field = _SOURCES.get(kind.value)
    if field is not None and field not in described:
        metric[field].required("must populate information for the given metric source")
    for other in described if len(described) > 1 else ():
        if other != field:
            metric[other].forbidden("must populate the given metric source only")


def _check_source(source: Field, kind: str) -> None:
    if kind in ("resource", "containerResource"):
        source["name"].check_needed(detail="must specify a resource name")
        if kind == "containerResource":
            source["container"].check_needed(detail="must specify a container")
    else:
        source["metric"]["name"].check_needed(detail="must specify a metric name")
    if kind == "object":
        _check_reference(source["describedObject"], needs_group=False)
    _check_target(source["target"])
    _check_choice(source["target"], kind)


def _check_target(target: Field) -> None:
    kind = target["type"]
    kind.check_needed(detail="must specify a metric target type")
    if kind.value not in ("Utilization", "Value", "AverageValue"):
        kind.invalid("must be either Utilization, Value, or AverageValue", kind.value or "")
    for field in ("value", "averageValue"):
        amount = target[field]
        if amount.value is not None and Quantity.parse(amount.value).sign <= 0:
            amount.invalid("must be positive")
    if "averageUtilization" in target:
        target["averageUtilization"].check_positive("must be greater than 0")


def _check_choice(target: Field, kind: str) -> None:
    """Some target has to be there, and of two that exclude each other only one."""
    wanted, missing = _CHOICES[kind]
    given = [each for each in wanted if each in target]
    if not given:
        target[wanted[0]].required(missing)
    if len(given) > 1 and kind in _EXCLUSIVE:
        field, detail = _EXCLUSIVE[kind]
        target[field].forbidden(detail)


_RAW_OR_USE: Final = (
    ("averageUtilization", "averageValue"),
    "must set either a target raw value or a target utilization",
)
_NOT_BOTH: Final = ("averageValue", "may not set both a target raw value and a target utilization")
_CHOICES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "object": (("averageValue", "value"), "must set either a target value or averageValue"),
    "external": (("averageValue", "value"), "must set either a target value for metric or a per-pod target"),
    "pods": (("averageValue",), "must specify a positive target averageValue"),
    "resource": _RAW_OR_USE,
    "containerResource": _RAW_OR_USE,
}
_EXCLUSIVE: Final = {
    "external": ("value", "may not set both a target value for metric and a per-pod target"),
    "resource": _NOT_BOTH,
    "containerResource": _NOT_BOTH,
}


def _check_scaling(rules: Field) -> None:
    window, tolerance = rules["stabilizationWindowSeconds"], rules["tolerance"]
    window.check_not_negative("must be greater than or equal to zero")
    window.check_at_most(_LONGEST_WINDOW, f"must be less than or equal to {_LONGEST_WINDOW}")
    rules["selectPolicy"].check_one_of(("Disabled", "Max", "Min"))
    rules["policies"].check_needed(detail="must specify at least one Policy")
    for policy in rules["policies"]:
        policy["type"].check_is_one_of(("Percent", "Pods"))
        policy["value"].check_positive()
        policy["periodSeconds"].check_positive()
        policy["periodSeconds"].check_at_most(_LONGEST_PERIOD, f"must be less than or equal to {_LONGEST_PERIOD}")
    if tolerance.value is not None and Quantity.parse(tolerance.value).sign < 0:
        tolerance.invalid(NOT_NEGATIVE)
