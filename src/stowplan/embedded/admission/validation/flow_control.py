"""Rules of which requests are treated alike (flow schemas), and how many at a time (priority levels)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.objects.releases import changed

_HIGHEST_PRECEDENCE: Final = 10000
_EXEMPT: Final = "exempt"
_DISTINGUISHERS: Final = ("ByNamespace", "ByUser")
#: Kinds of subjects, and where each is described.
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
#: What is described where, by the type of a level and of its response; and what is said to one of another type.
_MEMBERS: Final = {
    "Exempt": ("exempt", "must be nil if the type is Limited"),
    "Limited": ("limited", "must be nil if the type is not Limited"),
}
_RESPONSE_MEMBERS: Final = {
    "Queue": ("queuing", "must be nil if limited.limitResponse.type is not Limited"),
    "Reject": ("", ""),
}
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_MOST_QUEUES: Final = 10_000_000
_NO_NAMESPACE: Final = "resource rules that are not cluster scoped must supply at least one namespace"


def check_schema(schema: Field) -> None:
    """Check a flow schema."""
    spec = schema["spec"]
    precedence = spec["matchingPrecedence"]
    precedence.check_positive("must be a positive value")
    precedence.check_at_most(_HIGHEST_PRECEDENCE, f"must not be greater than {_HIGHEST_PRECEDENCE}")
    if precedence.value == 1 and schema["metadata"].get("name") != _EXEMPT:
        precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec["distinguisherMethod"]
    if method.value is not None and method.get("type", "") not in _DISTINGUISHERS:
        method["type"].unsupported(_DISTINGUISHERS, {"Type": method.get("type", "")})
    level = spec["priorityLevelConfiguration"]["name"]
    level.check_needed(names.subdomain, "must reference a priority level")
    spec["rules"].each(_check_rule)


def check_level(level: Field) -> None:
    """Check a priority level."""
    spec, kind = level["spec"], level["spec"]["type"]
    if (level["metadata"].get("name") == _EXEMPT) != (kind.value == "Exempt"):
        kind.invalid("must be 'Exempt' if and only if `name` is 'exempt'", kind.value or "")
    kind.check_needed_one_of(("Exempt", "Limited"))
    _check_of_type(spec, _MEMBERS)
    if kind.value == "Exempt":
        _check_shares(spec["exempt"])
    if kind.value == "Limited":
        if "limited" not in spec:
            spec["limited"].required(spec.problems.advice("must not be empty when type is Limited"))
        else:
            _check_limits(spec["limited"])


def _check_of_type(struct: Field, members: Mapping[str, tuple[str, str]]) -> None:
    """Refuse a member that is there for another type than the struct says it is of."""
    kind, problems = struct.get("type"), struct.problems
    if kind not in members and not changed("LevelsOfNoType", problems.release):
        return
    for of, (member, advice) in members.items():
        if of != kind and struct.get(member) is not None:
            struct[member].forbidden(problems.advice(advice))


def _check_rule(rule: Field) -> None:
    rule["subjects"].check_needed(detail="subjects must contain at least one value")
    rule["subjects"].each(_check_subject)
    if not rule["resourceRules"] and not rule["nonResourceRules"]:
        rule.required("at least one of resourceRules and nonResourceRules has to be non-empty")
    rule["resourceRules"].each(_check_resources)
    rule["nonResourceRules"].each(_check_paths)


def _check_subject(subject: Field) -> None:
    kind = subject.get("kind", "")
    subject["kind"].check_is_one_of(_SUBJECTS)
    if kind not in _SUBJECTS:
        return
    described = subject[_SUBJECTS[kind]]
    if described.value is None:
        described.required(f"{_SUBJECTS[kind]} is required when subject kind is '{kind}'")
    else:
        _check_described(described, kind)
    for other, where in reversed(_SUBJECTS.items()):
        if other != kind and where in subject:
            subject[where].forbidden(f"{where} is forbidden when subject kind is not '{other}'")


def _check_described(described: Field, kind: str) -> None:
    name = described["name"]
    is_account = kind == "ServiceAccount"
    name.check_needed(names.subdomain if is_account and name.value != "*" else None)
    if is_account:
        described["namespace"].check_needed(names.label, "must specify namespace for service account")


def _check_resources(rule: Field) -> None:
    _check_verbs(rule["verbs"])
    for field, what in (("apiGroups", "api group"), ("resources", "resource")):
        rule[field].check_needed(detail=f"resource rules must supply at least one {what}")
        _check_alone(rule[field], f"{what}s")
    namespaces = rule["namespaces"]
    if not rule.get("clusterScope"):
        namespaces.check_needed(detail=_NO_NAMESPACE)
    _check_alone(namespaces, "namespaces")
    for name in namespaces if "*" not in namespaces else ():
        name.check(_namespace)


def _check_paths(rule: Field) -> None:
    _check_verbs(rule["verbs"])
    urls = rule["nonResourceURLs"]
    urls.check_needed(detail="nonResourceURLs must contain at least one value")
    _check_alone(urls, "non-resource URLs")
    for url in urls if "*" not in urls else ():
        url.check(_url)


def _namespace(name: str) -> list[str]:
    return [f"each member of this list must be '*' or a DNS-1123 label; {each}" for each in names.label(name)]


def _url(url: str) -> list[str]:
    problems = {
        "must not be empty": not url,
        "must start with slash": not url.startswith("/"),
        "must not contain white-space": " " in url,
        "must not contain double slash": "//" in url,
        "wildcard can only do suffix matching": "*" in url.removesuffix("/*"),
    }
    return [problem for problem, is_there in problems.items() if is_there][:1]


def _check_verbs(verbs: Field) -> None:
    if not verbs.check_needed(detail="verbs must contain at least one value"):
        return
    if "*" in verbs:
        _check_alone(verbs, "verbs")
    elif not set(verbs.value) <= set(_VERBS):
        verbs.unsupported(_VERBS)


def _check_alone(listed: Field, what: str) -> None:
    if "*" in listed and len(listed.value) > 1:
        listed.invalid(f"if '*' is present, must not specify other {what}")


def _check_shares(shares: Field) -> None:
    shares["nominalConcurrencyShares"].check_not_negative("must be a non-negative integer")
    shares["lendablePercent"].check_between(0, 100, "must be between 0 and 100, inclusive")


def _check_limits(limits: Field) -> None:
    _check_shares(limits)
    kind, queuing = limits["limitResponse"]["type"], limits["limitResponse"]["queuing"]
    kind.check_needed_one_of(("Queue", "Reject"))
    _check_of_type(limits["limitResponse"], _RESPONSE_MEMBERS)
    if kind.value == "Queue":
        if queuing.value is None:
            queuing.required(queuing.problems.advice("must not be empty if limited.limitResponse.type is Limited"))
        else:
            _check_queuing(queuing)
    limits["borrowingLimitPercent"].check_not_negative("if specified, must be a non-negative integer")


def _check_queuing(queuing: Field) -> None:
    for field in ("queueLengthLimit", "queues", "handSize"):
        queuing[field].check_positive("must be positive")
    queues, hand = queuing["queues"], queuing["handSize"]
    queues.check_at_most(_MOST_QUEUES, f"must not be greater than {_MOST_QUEUES}")
    if hand.value > queues.value > 0:
        hand.invalid(f"should not be greater than queues ({queues.value})")
