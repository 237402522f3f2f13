"""Rules of configurations of admission webhooks and of what they are asked about, and of other API servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_label_selector

FAILURE_POLICIES: Final = ("Fail", "Ignore")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_LONGEST_SECONDS: Final = 30
_MOST_CONDITIONS: Final = 64
_HIGHEST_GROUP_PRIORITY: Final = 20000
_HIGHEST_VERSION_PRIORITY: Final = 1000
_FORM: Final = "; desired format: https://host[/path]"


def check_webhooks(configuration: Field) -> None:
    """Check a configuration of webhooks, of either kind."""
    taken: set[str] = set()
    for webhook in configuration["webhooks"]:
        _check_webhook(webhook)
        if webhook["name"]:
            webhook["name"].check_unique(taken)


def check_rule(rule: Field) -> None:
    """Check a rule: the operations and resources that are meant."""
    _check_listed(rule["operations"], "operations")
    for operation in rule["operations"]:
        operation.check_one_of(_OPERATIONS)
    _check_listed(rule["apiGroups"], "API groups")
    _check_listed(rule["apiVersions"], "API versions")
    for version in rule["apiVersions"]:
        version.check_needed()
    _check_resources(rule["resources"])
    rule["scope"].check_one_of(("*", "Cluster", "Namespaced"))


def check_match(match: Field) -> None:
    """Check which objects are meant, in which versions."""
    match["matchPolicy"].check_one_of(_MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        check_label_selector(match[field])


def check_conditions(conditions: Field) -> None:
    """Check conditions for being asked at all; their expressions are not read."""
    conditions.check_number_of_items(_MOST_CONDITIONS)
    taken: set[str] = set()
    for condition in conditions:
        if not condition.get("expression", "").strip():
            condition["expression"].required()
        if condition["name"].check_needed(names.qualified):
            condition["name"].check_unique(taken)


def check_api_service(registration: Field) -> None:
    """Check the registration of another API server."""
    spec = registration["spec"]
    group, version, name = spec.get("group", ""), spec.get("version", ""), registration["metadata"]["name"]
    wanted = f"{version}.{group}"
    if (name.value or "") != wanted and not names.path_segment(name.value or ""):
        name.invalid(f'must be `spec.version+"."+spec.group`: "{wanted}"', name.value or "")
    if not group and version != "v1":
        spec["group"].required("only v1 may have an empty group and it better be legacy kube")
    spec["group"].check_given(names.subdomain)
    spec["version"].check(names.label_with_letter)
    for field, highest in (
        ("groupPriorityMinimum", _HIGHEST_GROUP_PRIORITY),
        ("versionPriority", _HIGHEST_VERSION_PRIORITY),
    ):
        spec[field].check_between(1, highest, f"must be positive and less than {highest}")
    if "service" in spec:
        _check_service(spec["service"], ("namespace", "name"))
        if spec["insecureSkipTLSVerify"] and spec["caBundle"]:
            spec["insecureSkipTLSVerify"].invalid("may not be true if caBundle is present")
        return
    if bundle := spec.get("caBundle"):
        size = len(bundle) * 3 // 4 - bundle.count("=")
        spec["caBundle"].invalid("local APIServices may not have a caBundle", f"{size} bytes")
    if spec["insecureSkipTLSVerify"]:
        spec["insecureSkipTLSVerify"].invalid("local APIServices may not have insecureSkipTLSVerify")


def _check_webhook(webhook: Field) -> None:
    webhook["name"].check_needed(_webhook_name)
    webhook["rules"].each(check_rule)
    webhook["failurePolicy"].check_one_of(FAILURE_POLICIES)
    webhook["matchPolicy"].check_one_of(_MATCH_POLICIES)
    if "sideEffects" not in webhook:
        webhook["sideEffects"].required(f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    webhook["sideEffects"].check_one_of(_SIDE_EFFECTS)
    webhook["timeoutSeconds"].check_between(1, _LONGEST_SECONDS, "the timeout value must be between 1 and 30 seconds")
    for field in ("namespaceSelector", "objectSelector"):
        check_label_selector(webhook[field])
    webhook["reinvocationPolicy"].check_one_of(REINVOCATION_POLICIES)
    _check_client(webhook["clientConfig"])
    check_conditions(webhook["matchConditions"])
    _check_versions(webhook["admissionReviewVersions"])


def _webhook_name(name: str) -> Iterable[str]:
    if found := names.subdomain(name):
        return (",".join(found),)
    return () if name.count(".") >= 2 else ("should be a domain with at least three segments separated by dots",)


def _check_versions(versions: Field) -> None:
    known = ", ".join(_REVIEW_VERSIONS)
    if not versions.check_needed(detail=f"must specify one of {known}"):
        return
    taken: set[str] = set()
    for version in versions:
        if version.value in taken:
            version.invalid("duplicate version")
        else:
            version.check(names.label_with_letter)
        taken.add(version.value)
    if not taken & set(_REVIEW_VERSIONS):
        versions.invalid(f"must include at least one of {known}")


def _check_client(client: Field) -> None:
    if ("url" in client) == ("service" in client):
        client.required("exactly one of url or service is required")
    elif "url" in client:
        _check_url(client["url"])
    else:
        _check_service(client["service"], ("name", "namespace"))
        _check_service_path(client["service"]["path"])


def _check_url(field: Field) -> None:
    try:
        url = urlsplit(field.value)
    except ValueError as error:
        field.required(f"url must be a valid URL: {error}{_FORM}")
        return
    user, _, host = url.netloc.rpartition("@")
    if url.scheme != "https":
        field.invalid(f"'https' is the only allowed URL scheme{_FORM}", url.scheme)
    if not host:
        field.invalid(f"host must be specified{_FORM}", host)
    if "@" in url.netloc:
        field.invalid("user information is not permitted in the URL", user)
    if url.fragment:
        field.invalid("fragments are not permitted in the URL", url.fragment)
    if url.query:
        field.invalid("query parameters are not permitted in the URL", url.query)


def _check_service(service: Field, needed: tuple[str, ...]) -> None:
    """Check a service that requests are passed on to."""
    for field in needed:
        service[field].check_needed()
    if found := names.port_number(service.get("port")):
        service["port"].invalid(f"port is not valid: {', '.join(found)}")


def _check_service_path(path: Field) -> None:
    text = path.value or ""
    if text in ("", "/"):
        return
    if not text.startswith("/"):
        path.invalid("must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            path.invalid(f"segment[{index}] may not be empty")
            continue
        for detail in names.subdomain(step):
            path.invalid(f"segment[{index}]: {detail}")


def _check_listed(listed: Field, what: str) -> None:
    if listed.check_needed() and len(listed.value) > 1 and "*" in listed:
        listed.invalid(f"if '*' is present, must not specify other {what}")


def _check_resources(resources: Field) -> None:
    resources.check_needed()
    listed: list[str] = resources.value or []
    for index, resource in enumerate(resources):
        if resource.check_needed():
            _check_covered(resource, listed[:index])
    if len(listed) > 1 and "*/*" in listed:
        resources.invalid("if '*/*' is present, must not specify other resources")
    plain = [each for each in listed if each and "/" not in each]
    if "*" in plain and plain[-1] != "*":
        resources.invalid("if '*' is present, must not specify other resources without subresources")


def _check_covered(resource: Field, earlier: list[str]) -> None:
    kind, slash, part = resource.value.partition("/")
    for covering in (f"{kind}/*", f"*/{part}") if slash else ():
        if covering in earlier:
            resource.invalid(f"if '{covering}' is present, must not specify {resource.value}")
