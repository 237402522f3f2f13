"""Rules of what governs pods: disruption budgets, priority classes, limit ranges, resource quotas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import IMMUTABLE, Field
from stowplan.embedded.admission.validation.metadata import check_label_selector
from stowplan.embedded.admission.validation.pods import PREEMPTION_POLICIES
from stowplan.embedded.admission.validation.resources import check_amount, check_container_name, check_name
from stowplan.embedded.admission.validation.workloads import share
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types import release
from stowplan.model.quantity import Quantity
from stowplan.model.requests import CPU, HUGE_PAGES_PREFIX, MEMORY, NATIVE_DOMAIN

_HIGHEST_USER_PRIORITY: Final = 1_000_000_000
_SYSTEM_PREFIX: Final = "system-"
_SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_LIMIT_TYPES: Final = ("Container", "Pod", "PersistentVolumeClaim")
_OF_EXPRESSIONS: Final = ("scopeName", "operator", "values")
_EXISTS: Final = "Exists"
#: Scopes that a pod is in or not, and what of pods and of claims quotas of a scope can count.
_WITHOUT_VALUES: Final = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_OF_PODS: Final = frozenset(
    ("pods", *(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in (CPU, MEMORY)))
)
_COUNTED: Final = {
    **dict.fromkeys((*_WITHOUT_VALUES, "PriorityClass"), _OF_PODS),
    "BestEffort": frozenset(("pods",)),
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
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
    scopes = spec["scopes"]
    for scope in scopes.value or ():
        _check_scope(scopes, scope, scopes, spec)
    _check_opposites(scopes, scopes, scopes.value or ())
    _check_scope_selector(spec)


def check_quota_update(quota: Field, before: Object) -> None:
    scopes = quota["spec"]["scopes"]
    if set(scopes.value or ()) != set(before["spec"].get("scopes", ())):
        scopes.invalid(IMMUTABLE)


def _check_scope_selector(spec: Field) -> None:
    selector = spec["scopeSelector"]
    expressions = selector["matchExpressions"]
    shown = {"MatchExpressions": [_shown(each) for each in expressions.value or ()]}
    for each in expressions:
        # Upstream does not say which of them.
        scope, operator, values = (Field(spec.problems, name, each.get(name), expressions) for name in _OF_EXPRESSIONS)
        _check_scope(scope, scope.value, expressions, spec, shown)
        _check_operator(scope.value, operator, values)
    _check_opposites(expressions, spec["scopes"], [each.get("scopeName") for each in expressions.value or ()])


def _check_operator(scope: str, operator: Field, values: Field) -> None:
    if scope in _WITHOUT_VALUES and operator.value != _EXISTS:
        named = [f"ResourceQuotaScope{name}" for name in _WITHOUT_VALUES]
        operator.invalid(f"must be 'Exists' when scope is any of {', '.join(named[:-1])} or {named[-1]}")
    if operator.value in ("In", "NotIn"):
        if not values:
            values.required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
    elif operator.value not in (_EXISTS, "DoesNotExist"):
        operator.invalid("not a valid selector operator")
    elif values:
        values.invalid("must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")


def _check_scope(place: Field, scope: str, whole: Field, spec: Field, shown: Any = None) -> None:
    """Check a scope, and that quotas of it can count what this one does."""
    if scope not in release.choices("io.k8s.api.core.v1.ResourceQuotaSpec", "scopes"):
        place.invalid("unsupported scope")
    for name in sorted(spec.get("hard") or ()):
        is_standard = name in _OF_QUOTAS or name.startswith((HUGE_PAGES_PREFIX, f"requests.{HUGE_PAGES_PREFIX}"))
        if is_standard and name not in _COUNTED.get(scope, (name,)):
            whole.invalid("unsupported scope applied to resource", whole.value if shown is None else shown)


def _check_opposites(place: Field, scopes: Field, found: Iterable[str]) -> None:
    for pair in _OPPOSITES:
        if set(pair).issubset(found):
            place.invalid("conflicting scopes", scopes.value)


def _shown(expression: Object) -> Object:
    """An expression as upstream shows it."""
    return {
        "ScopeName": expression.get("scopeName", ""),
        "Operator": expression.get("operator", ""),
        "Values": expression.get("values"),
    }


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
    fields, kind = ["max", "min"], item.get("type")
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if item[field]:
                item[field].forbidden("may not be specified when `type` is 'Pod'")
    else:
        fields += ["default", "defaultRequest"]
    if kind == "PersistentVolumeClaim" and not any("storage" in item[field] for field in ("min", "max")):
        item["limits"].required("either minimum or maximum storage value is required, but neither was provided")
    fields.append("maxLimitRequestRatio")
    check = check_container_name if kind in ("Pod", "Container") else check_name
    for field in fields:
        for name in item.get(field) or ():
            check(item[field].entry(name), name)
    for name in dict.fromkeys(name for field in fields for name in item.get(field) or ()):
        found = {field: Quantity.parse(item[field].get(name)) for field in fields if name in item[field]}
        _check_order(item, name, found)
        _check_ratio(item["maxLimitRequestRatio"].entry(name), found)
        _check_no_overcommitment(item, name, found)


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


def _check_ratio(place: Field, found: dict[str, Quantity]) -> None:
    ratio = found.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if ratio < Quantity.of(1):
        place.invalid(f"ratio {ratio} is less than 1", str(ratio))
    if "min" in found and "max" in found and found["min"].sign > 0:
        most = found["max"].milli_value / found["min"].milli_value
        if ratio.milli_value / 1000 > most:
            place.invalid(f"ratio {ratio} is greater than max/min = {most:.6f}", str(ratio))


def _check_no_overcommitment(item: Field, name: str, found: dict[str, Quantity]) -> None:
    default, request = found.get("default"), found.get("defaultRequest")
    can_overcommit = not name.startswith(HUGE_PAGES_PREFIX) and ("/" not in name or NATIVE_DOMAIN in name)
    if not can_overcommit and default is not None and request is not None and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        item["defaultRequest"].entry(name).invalid(detail, str(request))
