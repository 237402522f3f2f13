"""The restricted standard: what a hardened pod says of itself; and which checks make up each standard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from stowplan.embedded.admission.pod_security import baseline
from stowplan.embedded.admission.pod_security.baseline import (
    Violation,
    blamed,
    containers,
    counted,
    inner,
    names,
    plural,
    quoted,
    uses,
)
from stowplan.embedded.objects.resource import Object

_VOLUMES: Final = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)
_ADDED: Final = frozenset(("NET_BIND_SERVICE",))


def privilege_escalation(pod: Object) -> Violation | None:
    bad = names(part for part in _on_linux(pod) if inner(part, "allowPrivilegeEscalation") is not False)
    detail = f"{counted('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if bad else None


def capabilities(pod: Object) -> Violation | None:
    """All are dropped, and only the one for low ports is taken back."""
    parts = _on_linux(pod)
    keeping = names(part for part in parts if "ALL" not in (inner(part, "capabilities", "drop") or ()))
    added = {part["name"]: inner(part, "capabilities", "add") or () for part in parts}
    adding = [name for name, found in added.items() if not _ADDED.issuperset(found)]
    details = []
    if keeping:
        details.append(f'{counted("container", keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        beyond = quoted(sorted({each for found in added.values() for each in found} - _ADDED))
        details.append(f"{counted('container', adding)} must not include {beyond} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def volumes(pod: Object) -> Violation | None:
    """No volume is of the node or of a network; those are for claims."""
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in pod["spec"].get("volumes") or ():
        sources = [field for field, value in volume.items() if field != "name" and value is not None]
        if not _VOLUMES.intersection(sources):
            bad.append(volume["name"])
            kinds.update(sources[:1] or ["unknown"])
    if not bad:
        return None
    listed = sorted(kinds)
    what = f"restricted volume {plural('type', listed)} {quoted(listed)}"
    return Violation("restricted volume types", f"{counted('volume', bad)} {uses(bad)} {what}")


def run_as_non_root(pod: Object) -> Violation | None:
    spec, reason = pod["spec"], "runAsNonRoot != true"
    if spec.get("hostUsers") is False:
        return None
    who = blamed(pod, lambda part: inner(part, "runAsNonRoot") is False)
    if who:
        return Violation(reason, f"{who} must not set securityContext.runAsNonRoot=false")
    is_told = inner(spec, "runAsNonRoot")
    silent = [] if is_told else names(part for part in containers(spec) if inner(part, "runAsNonRoot") is None)
    detail = f"pod or {counted('container', silent)} must set securityContext.runAsNonRoot=true"
    return Violation(reason, detail) if silent else None


def run_as_user(pod: Object) -> Violation | None:
    if pod["spec"].get("hostUsers") is False:
        return None
    who = blamed(pod, lambda part: inner(part, "runAsUser") == 0)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def seccomp(pod: Object) -> Violation | None:
    """There is a profile, and it is the default one or one of the node's."""
    wrong = baseline.seccomp(pod)
    if wrong is not None or _is_windows(pod) or inner(pod["spec"], "seccompProfile"):
        return wrong
    silent = names(part for part in containers(pod["spec"]) if inner(part, "seccompProfile") is None)
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {counted('container', silent)} {what}") if silent else None


def _on_linux(pod: Object) -> list[Object]:
    """The containers of a pod, unless they run where there is no such thing."""
    return [] if _is_windows(pod) else list(containers(pod["spec"]))


def _is_windows(pod: Object) -> bool:
    return bool((pod["spec"].get("os") or {}).get("name") == "windows")


#: What is stricter than the baseline comes once, in its own words.
_REPLACED: Final = (baseline.capabilities, baseline.host_paths, baseline.proc_mount, baseline.seccomp)
#: The checks of each standard in upstream's order, which is that of their messages.
STANDARDS: Final[Mapping[str, tuple[Callable[[Object], Violation | None], ...]]] = {
    "baseline": baseline.CHECKS,
    "restricted": (
        *(check for check in baseline.CHECKS if check not in _REPLACED),
        privilege_escalation,
        capabilities,
        baseline.masked_proc_mount,
        volumes,
        run_as_non_root,
        run_as_user,
        seccomp,
    ),
}


def violations(pod: Object, level: str) -> list[Violation]:
    """What of a standard a pod, or the template of one, breaks."""
    whole = {"metadata": pod.get("metadata") or {}, "spec": pod.get("spec") or {}}
    return [found for check in STANDARDS[level] if (found := check(whole)) is not None]
