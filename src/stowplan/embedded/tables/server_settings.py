"""The columns of what tells an API server how to treat requests: webhooks, policies, other servers, priorities."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, Columns, TableColumn, column, count, number, shown, value
from stowplan.embedded.tables.wording import NONE, UNSET, human, reference, selector

_AVAILABLE: Final = "Available"


def parameter_kind(policy: Object) -> str:
    kind = reading.mapping(policy, "spec", "paramKind")
    return reference(kind, "apiVersion", "kind") if kind else UNSET


def parameter(binding: Object) -> str:
    """Name what a policy is given; from here nobody can tell whether that is in a namespace."""
    found = reading.mapping(binding, "spec", "paramRef")
    if name := reading.text(found, "name"):
        return f"{reading.text(found, 'namespace') or '*'}/{name}"
    return (selector(found["selector"]) or NONE) if "selector" in found else UNSET


def service(registration: Object) -> str:
    found = reading.mapping(registration, "spec", "service")
    return reference(found, "namespace", "name") if found else "Local"


def availability(registration: Object) -> str:
    condition = reading.condition(registration, _AVAILABLE) or {}
    status, reason = reading.text(condition, "status") or "Unknown", reading.text(condition, "reason")
    return f"{status} ({reason})" if reason and status != "True" else status


def is_dangling(schema: Object) -> str:
    return reading.text(reading.condition(schema, "Dangling") or {}, "status") or "?"


def request_state(request: Object) -> str:
    kinds = {each.get("type") for each in reading.entries(request, "status", "conditions")}
    words = ["Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"]
    if "Failed" in kinds:
        words.append("Failed")
    if reading.text(request, "status", "certificate"):
        words.append("Issued")
    return ",".join(words)


def parent(address: Object) -> str:
    found = reading.mapping(address, "spec", "parentRef")
    if not found:
        return NONE
    names = [reading.text(found, "namespace"), reading.text(found, "name")]
    return "/".join([_resource(found), *(name for name in names if name)])


def _resource(reference: Object) -> str:
    group, plural = reading.text(reference, "group"), reading.text(reference, "resource")
    return (f"{plural}.{group}" if group else plural).lower()


def _limit(name: str, path: str) -> TableColumn:
    """Make a column of what a priority level limits, if it does."""
    return shown(name, f"spec.limited.{path}", NONE, int, "integer")


_WEBHOOKS: Final = (count("Webhooks", "webhooks"), AGE)
_PARAMETER_KIND: Final = column("ParamKind", parameter_kind)
_POLICY_BINDING: Final = (value("PolicyName", "spec.policyName"), column("ParamRef", parameter), AGE)

COLUMNS: Final[Columns] = {
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": (
        count("Mutations", "spec.mutations"),
        _PARAMETER_KIND,
        AGE,
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": (
        count("Validations", "spec.validations"),
        _PARAMETER_KIND,
        AGE,
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "apiservices.apiregistration.k8s.io": (column("Service", service), column(_AVAILABLE, availability), AGE),
    "certificatesigningrequests.certificates.k8s.io": (
        AGE,
        value("SignerName", "spec.signerName", NONE),
        value("Requestor", "spec.username"),
        shown("RequestedDuration", "spec.expirationSeconds", NONE, lambda seconds: human(timedelta(seconds=seconds))),
        column("Condition", request_state),
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": (
        value("PriorityLevel", "spec.priorityLevelConfiguration.name"),
        number("MatchingPrecedence", "spec.matchingPrecedence"),
        value("DistinguisherMethod", "spec.distinguisherMethod.type", NONE),
        AGE,
        column("MissingPL", is_dangling),
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        value("Type", "spec.type"),
        _limit("NominalConcurrencyShares", "nominalConcurrencyShares"),
        _limit("Queues", "limitResponse.queuing.queues"),
        _limit("HandSize", "limitResponse.queuing.handSize"),
        _limit("QueueLengthLimit", "limitResponse.queuing.queueLengthLimit"),
        AGE,
    ),
    "ipaddresses.networking.k8s.io": (column("ParentRef", parent),),
    "servicecidrs.networking.k8s.io": (
        column("CIDRs", lambda obj: ",".join(reading.texts(obj, "spec", "cidrs"))),
        AGE,
    ),
}
