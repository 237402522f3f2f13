"""Checks what registers another API server."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.webhooks import check_service_port
from stowplan.embedded.objects.resource import Object

_HIGHEST_GROUP_PRIORITY: Final = 20000
_HIGHEST_VERSION_PRIORITY: Final = 1000


def check_api_service(problems: Problems, registration: Object) -> None:
    """Check the registration of an API server."""
    spec = registration["spec"]
    group, version = spec.get("group", ""), spec.get("version", "")
    name, wanted = registration["metadata"].get("name", ""), f"{version}.{group}"
    if name != wanted and not names.path_segment(name):
        problems.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"')
    if group:
        problems.each("spec.group", group, names.subdomain(group))
    elif version != "v1":
        problems.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    problems.each("spec.version", version, names.label_with_letter(version))
    _check_priority(problems, spec, "groupPriorityMinimum", _HIGHEST_GROUP_PRIORITY)
    _check_priority(problems, spec, "versionPriority", _HIGHEST_VERSION_PRIORITY)
    if "service" in spec:
        _check_remote(problems, spec)
    else:
        _check_local(problems, spec)


def _check_priority(problems: Problems, spec: Object, field: str, highest: int) -> None:
    priority = spec.get(field, 0)
    if not 0 < priority <= highest:
        problems.invalid(f"spec.{field}", priority, f"must be positive and less than {highest}")


def _check_local(problems: Problems, spec: Object) -> None:
    if bundle := spec.get("caBundle"):
        size = len(bundle) * 3 // 4 - bundle.count("=")
        problems.invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        detail = "local APIServices may not have insecureSkipTLSVerify"
        problems.invalid("spec.insecureSkipTLSVerify", True, detail)


def _check_remote(problems: Problems, spec: Object) -> None:
    service = spec["service"]
    for field in ("namespace", "name"):
        if not service.get(field):
            problems.required(f"spec.service.{field}")
    check_service_port(problems, service["port"], "spec.service.port")
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        problems.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")
