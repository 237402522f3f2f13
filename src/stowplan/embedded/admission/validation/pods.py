"""Checks the spec of a pod or of a template of pods. What a pod may change later is in `pod_updates`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from stowplan.embedded.admission.validation import affinity, names, placement, volumes
from stowplan.embedded.admission.validation.containers import check_containers
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.resources import check_amounts, check_requirements
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object
from stowplan.model import json_values

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_SYSTEMS: Final = ("linux", "windows")
_LONGEST_DEADLINE: Final = 2**31 - 1
_DEADLINE_RULE: Final = f"must be between 1 and {_LONGEST_DEADLINE}, inclusive"

_ENCODER: Final = msgspec.json.Encoder()

_Check = Callable[[Problems, Any, str], None]


def check_pod(problems: Problems, pod: Object) -> None:
    """Check a pod, new or changed."""
    problems.causes += _causes(_ENCODER.encode(pod["spec"]), problems.gates)


def check_new_pod(problems: Problems, pod: Object) -> None:
    """Check what is asked of new pods only."""
    spec = pod["spec"]
    if "ephemeralContainers" in spec:
        problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


@lru_cache(maxsize=1024)
def _causes(spec: bytes, gates: frozenset[str]) -> tuple[Cause, ...]:
    """What is wrong with the spec of a pod. Pods come by the thousand from one template, which is checked once."""
    problems = Problems(gates)
    check_spec(problems, json_values.read(spec), "spec")
    return tuple(problems.causes)


def check_spec(problems: Problems, spec: Object, path: str) -> None:
    """Check the spec of a pod, or of a template."""
    found = volumes.check_volumes(problems, spec["volumes"], f"{path}.volumes") if "volumes" in spec else set()
    check_containers(problems, spec, path, found)
    policy = spec.get("restartPolicy", "")
    if policy not in RESTART_POLICIES:
        problems.unsupported(f"{path}.restartPolicy", policy, RESTART_POLICIES)
    policy = spec.get("dnsPolicy", "")
    if policy not in _DNS_POLICIES:
        problems.unsupported(f"{path}.dnsPolicy", policy, _DNS_POLICIES)
    for name, check in _OPTIONAL:
        if name in spec:
            check(problems, spec[name], f"{path}.{name}")
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        problems.invalid(f"{path}.securityContext.shareProcessNamespace", True, detail)


def _check_subdomain(problems: Problems, name: str, path: str) -> None:
    if name and (found := names.subdomain(name)):
        problems.each(path, name, found)


def _check_host_name(problems: Problems, name: str, path: str) -> None:
    if name:
        problems.each(path, name, names.label(name))


def _check_deadline(problems: Problems, seconds: int, path: str) -> None:
    if not 1 <= seconds <= _LONGEST_DEADLINE:
        problems.invalid(path, seconds, _DEADLINE_RULE)


def _check_preemption(problems: Problems, policy: str, path: str) -> None:
    problems.check_one_of(path, policy, _PREEMPTION_POLICIES)


def _check_system(problems: Problems, system: Object, path: str) -> None:
    if not system.get("name"):
        problems.required(f"{path}.name")
    else:
        problems.check_one_of(path, system["name"], _SYSTEMS)


def _check_claims(problems: Problems, claims: list[Object], path: str) -> None:
    taken: set[str] = set()
    for index, claim in enumerate(claims):
        place, name = f"{path}[{index}]", claim.get("name", "")
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if not name:
            problems.required(f"{place}.name")
        elif name in taken:
            problems.duplicate(f"{place}.name", name)
        else:
            problems.each(f"{place}.name", name, names.label(name))
        taken.add(name)
        shown = {"Name": name, "ResourceClaimName": direct, "ResourceClaimTemplateName": template}
        if direct is None and template is None:
            problems.invalid(place, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        elif direct is not None and template is not None:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            problems.invalid(place, shown, detail)


#: What a spec may say besides; asked for in this order, only where it is said.
_OPTIONAL: Final[tuple[tuple[str, _Check], ...]] = (
    ("nodeSelector", check_labels),
    ("affinity", affinity.check_affinity),
    ("tolerations", placement.check_tolerations),
    ("nodeName", _check_subdomain),
    ("serviceAccountName", _check_subdomain),
    ("priorityClassName", _check_subdomain),
    ("hostname", _check_host_name),
    ("subdomain", _check_host_name),
    ("activeDeadlineSeconds", _check_deadline),
    ("preemptionPolicy", _check_preemption),
    ("topologySpreadConstraints", placement.check_spread_constraints),
    ("overhead", check_amounts),
    ("resources", check_requirements),
    ("resourceClaims", _check_claims),
    ("schedulingGates", placement.check_gates),
    ("os", _check_system),
)
