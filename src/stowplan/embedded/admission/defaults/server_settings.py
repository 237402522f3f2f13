"""Defaults of what tells an API server how to treat requests: webhooks, policies, other servers, priorities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stowplan.embedded.objects.resource import Object

_HTTPS_PORT: Final = 443
_WEBHOOK_SECONDS: Final = 10
_PRECEDENCE: Final = 1000
_SHARES: Final = 30
_QUEUING: Final = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def complete_validating_webhooks(configuration: Object) -> None:
    """Fill in a configuration of webhooks that refuse."""
    for webhook in configuration.get("webhooks", ()):
        _complete_webhook(webhook)


def complete_mutating_webhooks(configuration: Object) -> None:
    """Fill in a configuration of webhooks that change what comes."""
    for webhook in configuration.get("webhooks", ()):
        _complete_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def complete_validating_policy(policy: Object) -> None:
    """Fill in an admission policy that refuses."""
    begin_status(policy)
    complete_policy(policy)


def complete_policy(policy: Object) -> None:
    """Fill in an admission policy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _complete_match(spec.get("matchConstraints"))


def complete_policy_binding(binding: Object) -> None:
    """Fill in what binds an admission policy to resources."""
    _complete_match(binding.setdefault("spec", {}).get("matchResources"))


def complete_api_service(service: Object) -> None:
    """Fill in the registration of another API server."""
    begin_status(service)
    _complete_port(service.setdefault("spec", {}).get("service"))


def complete_flow_schema(schema: Object) -> None:
    """Fill in a flow schema."""
    begin_status(schema)
    spec = schema.setdefault("spec", {})
    spec.setdefault("priorityLevelConfiguration", {}).setdefault("name", "")
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or _PRECEDENCE


def complete_priority_level(level: Object) -> None:
    """Fill in a priority level."""
    begin_status(level)
    spec = level.setdefault("spec", {})
    if (exempt := spec.get("exempt")) is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)
    if (limited := spec.get("limited")) is not None:
        limited.setdefault("nominalConcurrencyShares", _SHARES)
        limited.setdefault("lendablePercent", 0)
        queuing = limited.setdefault("limitResponse", {}).get("queuing")
        if queuing is not None:
            for name, usual in _QUEUING.items():
                queuing[name] = queuing.get(name) or usual


def begin_status(obj: Object) -> None:
    """Give a new object a status that says nothing yet."""
    obj.setdefault("status", {})


def _complete_webhook(webhook: Object) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    webhook.setdefault("timeoutSeconds", _WEBHOOK_SECONDS)
    _complete_match(webhook)
    _complete_scopes(webhook.get("rules", ()))
    _complete_port(webhook.setdefault("clientConfig", {}).get("service"))


def _complete_match(match: Object | None) -> None:
    """Without a word, all resources in all namespaces are meant, in whatever version they come."""
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    _complete_scopes(match.get("resourceRules", ()))
    _complete_scopes(match.get("excludeResourceRules", ()))


def _complete_scopes(rules: Iterable[Object]) -> None:
    for rule in rules:
        rule.setdefault("scope", "*")


def _complete_port(service: Object | None) -> None:
    if service is not None:
        service.setdefault("port", _HTTPS_PORT)
