"""Checks what governs pods: disruption budgets, priority classes, limit ranges, resource quotas."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.resources import check_amount, check_name
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.admission.validation.workloads import check_share
from stowplan.embedded.objects.resource import Object
from stowplan.model.quantity import Quantity

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_PREFIX: Final = "system-"
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_LIMIT_TYPES: Final = ("Container", "Pod", "PersistentVolumeClaim")
_SCOPES: Final = frozenset(
    (
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    )
)
_OPPOSITES: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_COMPUTE: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_OF_QUOTAS: Final = _COMPUTE | {
    "pods",
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "requests.storage",
    *(f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _COMPUTE),
}


def check_budget(problems: Problems, budget: Object) -> None:
    """Check a disruption budget."""
    spec = budget["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if least is not None and most is not None:
        shown = {"MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most}
        shown["UnhealthyPodEvictionPolicy"] = policy
        problems.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for field, amount in (("minAvailable", least), ("maxUnavailable", most)):
        if amount is not None:
            check_share(problems, amount, f"spec.{field}")
    check_label_selector(problems, spec.get("selector"), "spec.selector")
    problems.check_one_of("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)
    status = budget.get("status", {})
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        problems.check_not_negative(f"status.{field}", status.get(field))


def check_priority_class(problems: Problems, priority_class: Object) -> None:
    """Check a priority class: the highest priorities, and their names, are the system's own."""
    name, value = priority_class["metadata"].get("name", ""), priority_class["value"]
    if name.startswith(SYSTEM_PREFIX):
        if problem := _system_class_problem(name, value):
            detail = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"
            )
            problems.forbidden("metadata.name", detail)
    elif value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        problems.forbidden("value", detail)
    problems.check_one_of("preemptionPolicy", priority_class["preemptionPolicy"], _PREEMPTION_POLICIES)


def check_limit_range(problems: Problems, limit_range: Object) -> None:
    """Check the items of a limit range, one of each type."""
    taken: set[str] = set()
    for index, item in enumerate(limit_range["spec"].get("limits", ())):
        path, kind = f"spec.limits[{index}]", item.get("type", "")
        if found := names.qualified(kind):
            problems.each(f"{path}.type", kind, found)
        elif kind not in _LIMIT_TYPES and "/" not in kind:
            problems.invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in taken:
            problems.duplicate(f"{path}.type", kind)
        taken.add(kind)
        _check_limit_item(problems, item, path)


def check_quota(problems: Problems, quota: Object) -> None:
    """Check a resource quota: what it counts, and which pods it is about."""
    spec = quota["spec"]
    for name, amount in spec.get("hard", {}).items():
        path = f"spec.hard[{name}]"
        _check_quota_name(problems, name, path)
        check_amount(problems, name, amount, path)
    scopes = spec.get("scopes", [])
    if any(scope not in _SCOPES for scope in scopes):
        problems.invalid("spec.scopes", scopes, "unsupported scope")
    if any(first in scopes and second in scopes for first, second in _OPPOSITES):
        problems.invalid("spec.scopes", scopes, "conflicting scopes")


def _system_class_problem(name: str, value: int) -> str:
    known = _SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    return "" if known == value else f"value of {name} PriorityClass must be {known}"


def _check_limit_item(problems: Problems, item: Object, path: str) -> None:
    if item.get("type") == "Pod":
        for field in ("default", "defaultRequest"):
            if item.get(field):
                problems.forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    fields = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    for name in dict.fromkeys(name for field in fields for name in item.get(field, {})):
        check_name(problems, name, f"{path}[{name}]")
        found = {field: Quantity.parse(item[field][name]) for field in fields if name in item.get(field, {})}
        _check_order(problems, name, found, path)


#: Which amount may not be greater than which, where it is said, and how upstream words the two.
_ORDER: Final = (
    ("min", "max", "min", "min value", "max value"),
    ("min", "defaultRequest", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "max", "defaultRequest", "default request value", "max value"),
    ("defaultRequest", "default", "defaultRequest", "default request value", "default limit value"),
    ("min", "default", "default", "min value", "default value"),
    ("default", "max", "default", "default value", "max value"),
)


def _check_order(problems: Problems, name: str, found: dict[str, Quantity], path: str) -> None:
    for less, more, place, less_words, more_words in _ORDER:
        if less in found and more in found and found[less] > found[more]:
            detail = f"{less_words} {found[less]} is greater than {more_words} {found[more]}"
            # Of a default upstream shows what it is compared with.
            shown = found[place] if place != "default" else found[more if less == place else less]
            problems.invalid(f"{path}.{place}[{name}]", str(shown), detail)
    ratio = found.get("maxLimitRequestRatio")
    if ratio is not None and ratio < Quantity.of(1):
        problems.invalid(f"{path}.maxLimitRequestRatio[{name}]", str(ratio), f"ratio {ratio} is less than 1")


def _check_quota_name(problems: Problems, name: str, path: str) -> None:
    is_free = name.startswith(("count/", "requests.", "limits.", "hugepages-")) or "/" in name
    check_name(problems, name, path, frozenset((*_OF_QUOTAS, name)) if is_free else _OF_QUOTAS)
    if not is_free and name not in _OF_QUOTAS:
        problems.invalid(path, name, "must be a standard resource for quota")
