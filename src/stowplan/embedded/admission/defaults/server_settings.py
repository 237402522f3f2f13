"""Defaults of what tells an API server how to treat requests: webhooks, policies, other servers, priorities."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.defaults.filling import fill_empty, fill_missing, part
from stowplan.embedded.objects.resource import Object

_HTTPS_PORT: Final = 443
_WEBHOOK_SECONDS: Final = 10
_PRECEDENCE: Final = 1000
_SHARES: Final = 30


def complete_validating_webhooks(configuration: Object) -> None:
    """Fill in a configuration of webhooks that refuse."""
    for webhook in configuration.get("webhooks", ()):
        fill_missing(webhook, failurePolicy="Fail", timeoutSeconds=_WEBHOOK_SECONDS)
        _complete_match(webhook)
        _complete_port(part(webhook, "clientConfig"))


def complete_mutating_webhooks(configuration: Object) -> None:
    """Fill in a configuration of webhooks that change what comes."""
    complete_validating_webhooks(configuration)
    for webhook in configuration.get("webhooks", ()):
        fill_missing(webhook, reinvocationPolicy="Never")


def complete_validating_policy(policy: Object) -> None:
    """Fill in an admission policy that refuses."""
    begin_status(policy)
    complete_policy(policy)


def complete_policy(policy: Object) -> None:
    """Fill in an admission policy."""
    spec = fill_missing(part(policy, "spec"), failurePolicy="Fail")
    _complete_match(spec.get("matchConstraints"))


def complete_policy_binding(binding: Object) -> None:
    """Fill in what binds an admission policy to resources."""
    _complete_match(part(binding, "spec").get("matchResources"))


def complete_api_service(service: Object) -> None:
    """Fill in the registration of another API server."""
    begin_status(service)
    _complete_port(part(service, "spec"))


def complete_flow_schema(schema: Object) -> None:
    """Fill in a flow schema."""
    begin_status(schema)
    fill_missing(part(schema, "spec", "priorityLevelConfiguration"), name="")
    fill_empty(schema["spec"], matchingPrecedence=_PRECEDENCE)


def complete_priority_level(level: Object) -> None:
    """Fill in a priority level."""
    begin_status(level)
    spec = part(level, "spec")
    if (exempt := spec.get("exempt")) is not None:
        fill_missing(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if (limited := spec.get("limited")) is not None:
        fill_missing(limited, nominalConcurrencyShares=_SHARES, lendablePercent=0)
        if (queuing := part(limited, "limitResponse").get("queuing")) is not None:
            fill_empty(queuing, handSize=8, queues=64, queueLengthLimit=50)


def begin_status(obj: Object) -> None:
    """Give a new object a status that says nothing yet."""
    part(obj, "status")


def _complete_match(match: Object | None) -> None:
    """Without a word, all resources in all namespaces are meant, in whatever version they come."""
    if match is None:
        return
    fill_missing(match, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})
    for field in ("rules", "resourceRules", "excludeResourceRules"):
        for rule in match.get(field, ()):
            fill_missing(rule, scope="*")


def _complete_port(client: Object) -> None:
    if (service := client.get("service")) is not None:
        fill_missing(service, port=_HTTPS_PORT)
