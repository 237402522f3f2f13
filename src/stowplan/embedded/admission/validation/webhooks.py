"""Checks configurations of admission webhooks, and the rules that say what they are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.objects.resource import Object

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_LONGEST_SECONDS: Final = 30
_MOST_CONDITIONS: Final = 64
_FORM: Final = "; desired format: https://host[/path]"


def check_webhooks(problems: Problems, configuration: Object) -> None:
    """Check a configuration of webhooks, of either kind."""
    taken = set()
    for index, webhook in enumerate(configuration.get("webhooks", ())):
        path = f"webhooks[{index}]"
        _check_webhook(problems, webhook, path)
        name = webhook.get("name")
        if name and name in taken:
            problems.duplicate(f"{path}.name", name)
        taken.add(name)


def check_rule(problems: Problems, rule: Object, path: str) -> None:
    """Check a rule: the operations and resources that are meant."""
    operations = rule.get("operations", ())
    _check_listed(problems, operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        problems.check_one_of(f"{path}.operations[{index}]", operation, _OPERATIONS)
    _check_listed(problems, rule.get("apiGroups", ()), f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions", ())
    _check_listed(problems, versions, f"{path}.apiVersions", "API versions")
    for index, version in enumerate(versions):
        if not version:
            problems.required(f"{path}.apiVersions[{index}]")
    _check_resources(problems, rule.get("resources", ()), f"{path}.resources")
    problems.check_one_of(f"{path}.scope", rule["scope"], _SCOPES)


def check_conditions(problems: Problems, conditions: Sequence[Object], path: str) -> None:
    """Check conditions for being asked at all; their expressions are not read."""
    if len(conditions) > _MOST_CONDITIONS:
        problems.too_many(path, len(conditions), _MOST_CONDITIONS)
    taken = set()
    for index, condition in enumerate(conditions):
        if not condition.get("expression", "").strip():
            problems.required(f"{path}[{index}].expression")
        name = condition.get("name", "")
        problems.check_name(f"{path}[{index}].name", name, names.qualified)
        if name and name in taken:
            problems.duplicate(f"{path}[{index}].name", name)
        taken.add(name)


def _check_webhook(problems: Problems, webhook: Object, path: str) -> None:
    _check_name(problems, webhook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(webhook.get("rules", ())):
        check_rule(problems, rule, f"{path}.rules[{index}]")
    problems.check_one_of(f"{path}.failurePolicy", webhook["failurePolicy"], FAILURE_POLICIES)
    problems.check_one_of(f"{path}.matchPolicy", webhook["matchPolicy"], MATCH_POLICIES)
    if "sideEffects" not in webhook:
        problems.required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    problems.check_one_of(f"{path}.sideEffects", webhook.get("sideEffects"), _SIDE_EFFECTS)
    seconds = webhook["timeoutSeconds"]
    if not 1 <= seconds <= _LONGEST_SECONDS:
        problems.invalid(f"{path}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for field in ("namespaceSelector", "objectSelector"):
        check_label_selector(problems, webhook[field], f"{path}.{field}")
    problems.check_one_of(f"{path}.reinvocationPolicy", webhook.get("reinvocationPolicy"), REINVOCATION_POLICIES)
    _check_client(problems, webhook["clientConfig"], f"{path}.clientConfig")
    check_conditions(problems, webhook.get("matchConditions", ()), f"{path}.matchConditions")
    _check_versions(problems, webhook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")


def _check_name(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
    elif found := names.subdomain(name):
        problems.invalid(path, name, ",".join(found))
    elif name.count(".") < 2:
        problems.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _check_versions(problems: Problems, versions: list[str], path: str) -> None:
    known = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        problems.required(path, f"must specify one of {known}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            problems.invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            problems.each(f"{path}[{index}]", version, names.label_with_letter(version))
    if not set(versions) & set(_REVIEW_VERSIONS):
        problems.invalid(path, versions, f"must include at least one of {known}")


def _check_client(problems: Problems, client: Object, path: str) -> None:
    if ("url" in client) == ("service" in client):
        problems.required(path, "exactly one of url or service is required")
    elif "url" in client:
        _check_url(problems, client["url"], f"{path}.url")
    else:
        _check_service(problems, client["service"], f"{path}.service")


def _check_url(problems: Problems, text: str, path: str) -> None:
    try:
        url = urlsplit(text)
    except ValueError as error:
        problems.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    user, _, host = url.netloc.rpartition("@")
    if url.scheme != "https":
        problems.invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        problems.invalid(path, host, f"host must be specified{_FORM}")
    if "@" in url.netloc:
        problems.invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        problems.invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        problems.invalid(path, url.query, "query parameters are not permitted in the URL")


def _check_service(problems: Problems, service: Object, path: str) -> None:
    for field in ("name", "namespace"):
        if not service.get(field):
            problems.required(f"{path}.{field}")
    check_service_port(problems, service["port"], f"{path}.port")
    text = service.get("path", "")
    if text in ("", "/"):
        return
    if not text.startswith("/"):
        problems.invalid(f"{path}.path", text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            problems.invalid(f"{path}.path", text, f"segment[{index}] may not be empty")
            continue
        problems.each(f"{path}.path", text, (f"segment[{index}]: {each}" for each in names.subdomain(step)))


def check_service_port(problems: Problems, port: int, path: str) -> None:
    """Check the port of a service that requests are passed on to."""
    if found := names.port_number(port):
        problems.invalid(path, port, f"port is not valid: {', '.join(found)}")


def _check_listed(problems: Problems, listed: Sequence[str], path: str, what: str) -> None:
    if not listed:
        problems.required(path)
    elif len(listed) > 1 and "*" in listed:
        problems.invalid(path, listed, f"if '*' is present, must not specify other {what}")


def _check_resources(problems: Problems, resources: Sequence[str], path: str) -> None:
    if not resources:
        problems.required(path)
    for index, resource in enumerate(resources):
        _check_resource(problems, resource, resources[:index], f"{path}[{index}]")
    if len(resources) > 1 and "*/*" in resources:
        problems.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    plain = [each for each in resources if each and "/" not in each]
    if "*" in plain and plain[-1] != "*":
        detail = "if '*' is present, must not specify other resources without subresources"
        problems.invalid(path, resources, detail)


def _check_resource(problems: Problems, resource: str, earlier: Sequence[str], path: str) -> None:
    if not resource:
        problems.required(path)
        return
    kind, slash, part = resource.partition("/")
    for covering in (f"{kind}/*", f"*/{part}") if slash else ():
        if covering in earlier:
            problems.invalid(path, resource, f"if '{covering}' is present, must not specify {resource}")
