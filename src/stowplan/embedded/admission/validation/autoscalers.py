"""Checks horizontal pod autoscalers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage import autoscaler_forms
from stowplan.model.quantity import Quantity

#: Types of metrics, and where each is described, in the order in which upstream looks.
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_SELECTIONS: Final = ("Disabled", "Max", "Min")
_STEPS: Final = ("Percent", "Pods")
_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800


def check_autoscaler(problems: Problems, autoscaler: Object) -> None:
    """Check an autoscaler, of either version."""
    is_first_version = autoscaler.get("apiVersion") == autoscaler_forms.FIRST
    spec = (autoscaler_forms.to_second(autoscaler) if is_first_version else autoscaler)["spec"]
    _check_bounds(problems, spec["minReplicas"], spec.get("maxReplicas", 0))
    reference = spec.get("scaleTargetRef") or {}
    _check_reference(problems, reference, "spec.scaleTargetRef", needs_group=not is_first_version)
    for index, metric in enumerate(spec.get("metrics", ())):
        _check_metric(problems, metric, f"spec.metrics[{index}]")
    for direction in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(direction)
        if rules is not None:
            _check_scaling(problems, rules, f"spec.behavior.{direction}")


def check_autoscaler_update(problems: Problems, autoscaler: Object, before: Object) -> None:
    """In the first version the metadata carry a part of what is wanted, and are looked at again."""
    if autoscaler.get("apiVersion") == autoscaler_forms.FIRST and autoscaler["metadata"] != before["metadata"]:
        check_autoscaler(problems, autoscaler)


def _check_bounds(problems: Problems, least: int, most: int) -> None:
    if least < 1:
        problems.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        problems.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        problems.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if most < least:
        problems.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _check_reference(problems: Problems, reference: Object, path: str, *, needs_group: bool) -> None:
    for field in ("kind", "name"):
        problems.check_name(f"{path}.{field}", reference.get(field, ""), names.path_segment)
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        problems.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif needs_group and "/" not in version and version != "v1":
        problems.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _check_metric(problems: Problems, metric: Object, path: str) -> None:
    kind = metric.get("type", "")
    if not kind:
        problems.required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        problems.unsupported(f"{path}.type", kind, sorted(_SOURCES))
    described = [field for field in _SOURCES.values() if field in metric]
    if described:
        _check_source(problems, metric[described[0]], described[0], f"{path}.{described[0]}")
    field = _SOURCES.get(kind)
    if field is not None and field not in described:
        problems.required(f"{path}.{field}", "must populate information for the given metric source")
    if len(described) > 1:
        for other in described:
            if other != field:
                problems.forbidden(f"{path}.{other}", "must populate the given metric source only")


def _check_source(problems: Problems, source: Object, field: str, path: str) -> None:
    if field in ("resource", "containerResource"):
        if not source.get("name"):
            problems.required(f"{path}.name", "must specify a resource name")
        if field == "containerResource" and not source.get("container"):
            problems.required(f"{path}.container", "must specify a container")
    elif not (source.get("metric") or {}).get("name"):
        problems.required(f"{path}.metric.name", "must specify a metric name")
    if field == "object":
        described = source.get("describedObject") or {}
        _check_reference(problems, described, f"{path}.describedObject", needs_group=False)
    target = source.get("target") or {}
    _check_target(problems, target, f"{path}.target")
    _check_choice(problems, target, field, f"{path}.target")


def _check_target(problems: Problems, target: Object, path: str) -> None:
    kind = target.get("type", "")
    if not kind:
        problems.required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        problems.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        amount = target.get(field)
        if amount is not None and Quantity.parse(amount).sign <= 0:
            problems.invalid(f"{path}.{field}", amount, "must be positive")
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        problems.invalid(f"{path}.averageUtilization", percent, "must be greater than 0")


def _check_choice(problems: Problems, target: Object, field: str, path: str) -> None:
    """Some target has to be there, and of two that exclude each other only one."""
    wanted, missing = _CHOICES[field]
    given = [each for each in wanted if each in target]
    if not given:
        problems.required(f"{path}.{wanted[0]}", missing)
    if len(given) > 1 and field in _EXCLUSIVE:
        problems.forbidden(f"{path}.{_EXCLUSIVE[field][0]}", _EXCLUSIVE[field][1])


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


def _check_scaling(problems: Problems, rules: Object, path: str) -> None:
    window = rules.get("stabilizationWindowSeconds", 0)
    if window < 0:
        problems.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window > _LONGEST_WINDOW:
        detail = f"must be less than or equal to {_LONGEST_WINDOW}"
        problems.invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    problems.check_one_of(f"{path}.selectPolicy", rules.get("selectPolicy"), _SELECTIONS)
    if not rules.get("policies"):
        problems.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(rules.get("policies", ())):
        _check_step(problems, policy, f"{path}.policies[{index}]")
    _check_tolerance(problems, rules.get("tolerance"), f"{path}.tolerance")


def _check_step(problems: Problems, policy: Object, path: str) -> None:
    if policy.get("type") not in _STEPS:
        problems.unsupported(f"{path}.type", policy.get("type", ""), _STEPS)
    numbers: Iterable[tuple[str, Any]] = ((field, policy.get(field, 0)) for field in ("value", "periodSeconds"))
    for field, number in numbers:
        if number <= 0:
            problems.invalid(f"{path}.{field}", number, "must be greater than zero")
    period = policy.get("periodSeconds", 0)
    if period > _LONGEST_PERIOD:
        problems.invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_LONGEST_PERIOD}")


def _check_tolerance(problems: Problems, tolerance: str | None, path: str) -> None:
    if tolerance is not None and Quantity.parse(tolerance).sign < 0:
        problems.invalid(path, tolerance, "must be greater than or equal to 0")
