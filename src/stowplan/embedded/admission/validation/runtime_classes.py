"""Checks runtime classes, and leases by which components keep each other informed."""

from __future__ import annotations

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.placement import check_tolerations
from stowplan.embedded.admission.validation.problems import NOT_NEGATIVE, Problems
from stowplan.embedded.admission.validation.resources import check_amounts
from stowplan.embedded.objects.resource import Object


def check_class(problems: Problems, runtime_class: Object) -> None:
    """Check a runtime class."""
    problems.check_name("handler", runtime_class.get("handler", ""), names.label)
    amounts = (runtime_class.get("overhead") or {}).get("podFixed")
    if amounts:
        # Upstream calls the path so.
        check_amounts(problems, amounts, "overhead.limits")
    scheduling = runtime_class.get("scheduling") or {}
    check_labels(problems, scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations = scheduling.get("tolerations") or []
    check_tolerations(problems, tolerations, "scheduling.tolerations")
    for index, toleration in enumerate(tolerations):
        if any(_key(toleration) == _key(each) for each in tolerations[:index]):
            problems.duplicate(f"scheduling.tolerations[{index}]", _shown(toleration))


def check_class_update(problems: Problems, runtime_class: Object, before: Object) -> None:
    problems.check_unchanged("handler", runtime_class.get("handler"), before.get("handler"))


def check_lease(problems: Problems, lease: Object) -> None:
    """Check a lease."""
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds", 1), spec.get("leaseTransitions", 0)
    if seconds <= 0:
        problems.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions < 0:
        problems.invalid("spec.leaseTransitions", transitions, NOT_NEGATIVE)


def _key(toleration: Object) -> tuple[str, ...]:
    return tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect"))


def _shown(toleration: Object) -> Object:
    """The fields as Go has them, as upstream shows them."""
    fields = dict(zip(("Key", "Operator", "Value", "Effect"), _key(toleration), strict=True))
    return {**fields, "TolerationSeconds": toleration.get("tolerationSeconds")}
