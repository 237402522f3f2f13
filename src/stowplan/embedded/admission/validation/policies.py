"""Rules of what governs pods: disruption budgets, priority classes, limit ranges, resource quotas."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_label_selector
from stowplan.embedded.admission.validation.pods import PREEMPTION_POLICIES
from stowplan.embedded.admission.validation.resources import check_amount, check_name
from stowplan.embedded.admission.validation.workloads import share
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types import release
from stowplan.model.quantity import Quantity

_HIGHEST_USER_PRIORITY: Final = 1_000_000_000
_SYSTEM_PREFIX: Final = "system-"
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_LIMIT_TYPES: Final = ("Container", "Pod", "PersistentVolumeClaim")
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


def check_budget(budget: Field) -> None:
    """Check a disruption budget."""
    spec = budget["spec"]
    least, most, policy = spec["minAvailable"], spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]
    if least.value is not None and most.value is not None:
        shown = {"MinAvailable": least.value, "Selector": spec.get("selector"), "MaxUnavailable": most.value}
        shown["UnhealthyPodEvictionPolicy"] = policy.value
        spec.invalid("minAvailable and maxUnavailable cannot be both set", shown)
    least.check_set(share)
    most.check_set(share)
    check_label_selector(spec["selector"])
    policy.check_one_of(("AlwaysAllow", "IfHealthyBudget"))
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        budget["status"][field].check_not_negative()


def check_priority_class(priority_class: Field) -> None:
    """Check a priority class: the highest priorities, and their names, are the system's own."""
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value")
    if name.startswith(_SYSTEM_PREFIX):
        if problem := _system_class_problem(name, value):
            reserved = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only"
            priority_class["metadata"]["name"].forbidden(f"{reserved}. error: {problem}")
    elif value > _HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        priority_class["value"].forbidden(detail)
    priority_class["preemptionPolicy"].check_one_of(PREEMPTION_POLICIES)


def check_priority_class_update(priority_class: Field, before: Object) -> None:
    if priority_class.get("value") != before.get("value"):
        priority_class["value"].forbidden("may not be changed in an update.")
    priority_class["preemptionPolicy"].check_unchanged(before.get("preemptionPolicy"))


def check_limit_range(limit_range: Field) -> None:
    """Check the items of a limit range, one of each type."""
    taken: set[str] = set()
    for item in limit_range["spec"]["limits"]:
        kind = item["type"]
        kind.check(_limit_type)
        kind.check_unique(taken)
        _check_limit_item(item)


def check_quota(quota: Field) -> None:
    """Check a resource quota: what it counts, and which pods it is about."""
    spec = quota["spec"]
    for name in spec.get("hard", ()):
        amount = spec["hard"].entry(name)
        is_free = name.startswith(("count/", "requests.", "limits.", "hugepages-")) or "/" in name
        check_name(amount, name, frozenset((*_OF_QUOTAS, name)) if is_free else _OF_QUOTAS)
        if not is_free and name not in _OF_QUOTAS:
            amount.invalid("must be a standard resource for quota", name)
        check_amount(amount, name)
    scopes = spec.get("scopes", [])
    if not set(scopes).issubset(release.choices("io.k8s.api.core.v1.ResourceQuotaSpec", "scopes")):
        spec["scopes"].invalid("unsupported scope")
    if any(first in scopes and second in scopes for first, second in _OPPOSITES):
        spec["scopes"].invalid("conflicting scopes")


def _system_class_problem(name: str, value: int) -> str:
    known = _SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    return "" if known == value else f"value of {name} PriorityClass must be {known}"


def _limit_type(kind: str) -> names.Details:
    if found := names.qualified(kind):
        return found
    return () if kind in _LIMIT_TYPES or "/" in kind else ("must be a standard limit type or fully qualified",)


def _check_limit_item(item: Field) -> None:
    if item.get("type") == "Pod":
        for field in ("default", "defaultRequest"):
            if item[field]:
                item[field].forbidden("may not be specified when `type` is 'Pod'")
    fields = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    for name in dict.fromkeys(name for field in fields for name in item.get(field, {})):
        check_name(item.entry(name), name)
        found = {field: Quantity.parse(item[field].get(name)) for field in fields if name in item.get(field, {})}
        _check_order(item, name, found)


#: Which amount may not be greater than which, where it is said, and how upstream words the two.
_ORDER: Final = (
    ("min", "max", "min", "min value", "max value"),
    ("min", "defaultRequest", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "max", "defaultRequest", "default request value", "max value"),
    ("defaultRequest", "default", "defaultRequest", "default request value", "default limit value"),
    ("min", "default", "default", "min value", "default value"),
    ("default", "max", "default", "default value", "max value"),
)


def _check_order(item: Field, name: str, found: dict[str, Quantity]) -> None:
    for less, more, place, less_words, more_words in _ORDER:
        if less in found and more in found and found[less] > found[more]:
            detail = f"{less_words} {found[less]} is greater than {more_words} {found[more]}"
            # Of a default upstream shows what it is compared with.
            shown = found[place] if place != "default" else found[more if less == place else less]
            item[place].entry(name).invalid(detail, str(shown))
    ratio = found.get("maxLimitRequestRatio")
    if ratio is not None and ratio < Quantity.of(1):
        item["maxLimitRequestRatio"].entry(name).invalid(f"ratio {ratio} is less than 1", str(ratio))
