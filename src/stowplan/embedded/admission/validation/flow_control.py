"""Checks which requests are treated alike (flow schemas), and how many at a time (priority levels)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

_HIGHEST_PRECEDENCE: Final = 10000
_EXEMPT: Final = "exempt"
_DISTINGUISHERS: Final = ("ByNamespace", "ByUser")
#: Kinds of subjects, and where each is described.
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_LEVELS: Final = ("Exempt", "Limited")
_RESPONSES: Final = ("Queue", "Reject")
_MOST_QUEUES: Final = 10_000_000
_NO_NAMESPACE: Final = "resource rules that are not cluster scoped must supply at least one namespace"
_NAMESPACE_RULE: Final = "each member of this list must be '*' or a DNS-1123 label; "


def check_schema(problems: Problems, schema: Object) -> None:
    """Check a flow schema."""
    spec, name = schema["spec"], schema["metadata"].get("name", "")
    _check_precedence(problems, spec["matchingPrecedence"], name)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type", "") not in _DISTINGUISHERS:
        shown = {"Type": method.get("type", "")}
        problems.unsupported("spec.distinguisherMethod.type", shown, _DISTINGUISHERS)
    level = spec["priorityLevelConfiguration"].get("name", "")
    if level:
        problems.each("spec.priorityLevelConfiguration.name", level, names.subdomain(level))
    else:
        problems.required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    for index, rule in enumerate(spec.get("rules", ())):
        _check_rule(problems, rule, f"spec.rules[{index}]")


def check_level(problems: Problems, level: Object) -> None:
    """Check a priority level."""
    spec, kind = level["spec"], level["spec"].get("type", "")
    if (level["metadata"].get("name") == _EXEMPT) != (kind == "Exempt"):
        problems.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    problems.check_needed_one_of("spec.type", kind, _LEVELS)
    if kind == "Exempt":
        if "limited" in spec:
            problems.forbidden("spec.limited", "must be nil if the type is not Limited")
        _check_shares(problems, spec.get("exempt") or {}, "spec.exempt")
    if kind == "Limited":
        if "exempt" in spec:
            problems.forbidden("spec.exempt", "must be nil if the type is Limited")
        if "limited" not in spec:
            problems.required("spec.limited", "must not be empty when type is Limited")
        else:
            _check_limits(problems, spec["limited"], "spec.limited")


def _check_precedence(problems: Problems, precedence: int, name: str) -> None:
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        problems.invalid(path, precedence, "must be a positive value")
    if precedence > _HIGHEST_PRECEDENCE:
        problems.invalid(path, precedence, f"must not be greater than {_HIGHEST_PRECEDENCE}")
    if precedence == 1 and name != _EXEMPT:
        problems.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")


def _check_rule(problems: Problems, rule: Object, path: str) -> None:
    subjects = rule.get("subjects") or ()
    if not subjects:
        problems.required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        _check_subject(problems, subject, f"{path}.subjects[{index}]")
    on_resources, on_paths = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not on_resources and not on_paths:
        problems.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, each in enumerate(on_resources):
        _check_resources(problems, each, f"{path}.resourceRules[{index}]")
    for index, each in enumerate(on_paths):
        _check_paths(problems, each, f"{path}.nonResourceRules[{index}]")


def _check_subject(problems: Problems, subject: Object, path: str) -> None:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        problems.unsupported(f"{path}.kind", kind, _SUBJECTS)
        return
    field = _SUBJECTS[kind]
    described = subject.get(field)
    if described is None:
        problems.required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")
    else:
        _check_described(problems, described, kind, f"{path}.{field}")
    for other, where in reversed(_SUBJECTS.items()):
        if other != kind and where in subject:
            problems.forbidden(f"{path}.{where}", f"{where} is forbidden when subject kind is not '{other}'")


def _check_described(problems: Problems, described: Object, kind: str, path: str) -> None:
    name = described.get("name", "")
    if not name:
        problems.required(f"{path}.name")
    if kind != "ServiceAccount":
        return
    if name and name != "*":
        problems.each(f"{path}.name", name, names.subdomain(name))
    if namespace := described.get("namespace"):
        problems.each(f"{path}.namespace", namespace, names.label(namespace))
    else:
        problems.required(f"{path}.namespace", "must specify namespace for service account")


def _check_resources(problems: Problems, rule: Object, path: str) -> None:
    _check_verbs(problems, rule.get("verbs") or [], f"{path}.verbs")
    needed = (("apiGroups", "api group"), ("resources", "resource"))
    for field, what in needed:
        listed = rule.get(field) or []
        if not listed:
            problems.required(f"{path}.{field}", f"resource rules must supply at least one {what}")
        _check_alone(problems, listed, f"{path}.{field}", f"{what}s")
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        problems.required(f"{path}.namespaces", _NO_NAMESPACE)
    _check_alone(problems, namespaces, f"{path}.namespaces", "namespaces")
    for index, name in enumerate(namespaces if "*" not in namespaces else ()):
        problems.each(f"{path}.namespaces[{index}]", name, (_NAMESPACE_RULE + each for each in names.label(name)))


def _check_paths(problems: Problems, rule: Object, path: str) -> None:
    _check_verbs(problems, rule.get("verbs") or [], f"{path}.verbs")
    urls = rule.get("nonResourceURLs") or []
    if not urls:
        problems.required(f"{path}.nonResourceURLs", "nonResourceURLs must contain at least one value")
    _check_alone(problems, urls, f"{path}.nonResourceURLs", "non-resource URLs")
    for index, url in enumerate(urls if "*" not in urls else ()):
        if problem := _url_problem(url):
            problems.invalid(f"{path}.nonResourceURLs[{index}]", url, problem)


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    return "wildcard can only do suffix matching" if "*" in url.removesuffix("/*") else ""


def _check_verbs(problems: Problems, verbs: list[str], path: str) -> None:
    if not verbs:
        problems.required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        _check_alone(problems, verbs, path, "verbs")
    elif not set(verbs) <= set(_VERBS):
        problems.unsupported(path, verbs, _VERBS)


def _check_alone(problems: Problems, listed: Sequence[str], path: str, what: str) -> None:
    if len(listed) > 1 and "*" in listed:
        problems.invalid(path, listed, f"if '*' is present, must not specify other {what}")


def _check_shares(problems: Problems, shares: Object, path: str) -> None:
    number, percent = shares.get("nominalConcurrencyShares", 0), shares.get("lendablePercent", 0)
    if number < 0:
        problems.invalid(f"{path}.nominalConcurrencyShares", number, "must be a non-negative integer")
    if not 0 <= percent <= 100:
        problems.invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _check_limits(problems: Problems, limits: Object, path: str) -> None:
    _check_shares(problems, limits, path)
    response, where = limits["limitResponse"], f"{path}.limitResponse"
    kind, queuing = response.get("type", ""), response.get("queuing")
    problems.check_needed_one_of(f"{where}.type", kind, _RESPONSES)
    if kind == "Reject" and queuing is not None:
        problems.forbidden(f"{where}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    if kind == "Queue":
        if queuing is None:
            detail = "must not be empty if limited.limitResponse.type is Limited"
            problems.required(f"{where}.queuing", detail)
        else:
            _check_queuing(problems, queuing, f"{where}.queuing")
    borrowed = limits.get("borrowingLimitPercent", 0)
    if borrowed < 0:
        problems.invalid(f"{path}.borrowingLimitPercent", borrowed, "if specified, must be a non-negative integer")


def _check_queuing(problems: Problems, queuing: Object, path: str) -> None:
    for field in ("queueLengthLimit", "queues", "handSize"):
        if queuing[field] <= 0:
            problems.invalid(f"{path}.{field}", queuing[field], "must be positive")
    queues, hand = queuing["queues"], queuing["handSize"]
    if queues > _MOST_QUEUES:
        problems.invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand > queues > 0:
        problems.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
