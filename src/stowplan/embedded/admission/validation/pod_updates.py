"""What may change about a pod once it exists: images, deadline, more tolerations; with gates also where it may go."""

from __future__ import annotations

from typing import Any, Final

from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_ONLY_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"


def check_pod_update(problems: Problems, pod: Object, before: Object) -> None:
    """Compare a pod with what it was."""
    _check_status(problems, pod, before.get("status") or {})
    spec, old = pod["spec"], before["spec"]
    if spec == old:
        return
    for field in ("containers", "initContainers"):
        if len(spec.get(field, ())) != len(old.get(field, ())):
            problems.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    _check_deadline(problems, spec, old)
    if not _check_gates(problems, spec, old):
        return
    wanted = _with_allowed_changes(spec, old)
    if old.get("schedulingGates"):
        _check_gated(problems, spec, old)
        wanted = _with_gated_changes(wanted, spec)
    if wanted != spec:
        changed = sorted(name for name in spec.keys() | wanted.keys() if spec.get(name) != wanted.get(name))
        problems.forbidden("spec", f"{_FIXED}\nchanged: {', '.join(f'spec.{name}' for name in changed)}")


def _check_status(problems: Problems, pod: Object, old: Object) -> None:
    status = pod.get("status") or {}
    if "qosClass" in old:
        problems.check_unchanged("status.qosClass", status.get("qosClass"), old["qosClass"])
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != old.get("nominatedNodeName") and pod["spec"].get("nodeName"):
        detail = "may not be set on pods that are already bound to a node"
        problems.forbidden("status.nominatedNodeName", detail)


def _check_deadline(problems: Problems, spec: Object, old: Object) -> None:
    path, deadline, before = (
        "spec.activeDeadlineSeconds",
        spec.get("activeDeadlineSeconds"),
        old.get("activeDeadlineSeconds"),
    )
    if before is None:
        return
    if deadline is None:
        problems.invalid(path, None, "must not update from a positive integer to nil value")
    elif deadline > before:
        problems.invalid(path, deadline, "must be less than or equal to previous value")


def _check_gates(problems: Problems, spec: Object, old: Object) -> bool:
    known = {gate.get("name") for gate in old.get("schedulingGates", ())}
    is_fine = True
    for index, gate in enumerate(spec.get("schedulingGates", ())):
        if gate.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            problems.forbidden(f"spec.schedulingGates[{index}].name", detail)
            is_fine = False
    return is_fine


def _with_allowed_changes(spec: Object, old: Object) -> Object:
    """The old spec with those changes of the new one that any pod may make."""
    wanted = dict(old)
    for field in ("containers", "initContainers"):
        if field in old:
            wanted[field] = [
                {**was, "image": now.get("image", "")} for was, now in zip(old[field], spec[field], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates"):
        _take(wanted, spec, field)
    tolerations = spec.get("tolerations", [])
    if all(toleration in tolerations for toleration in old.get("tolerations", ())):
        _take(wanted, spec, "tolerations")
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        wanted["terminationGracePeriodSeconds"] = 1
    return wanted


def _with_gated_changes(wanted: Object, spec: Object) -> Object:
    """Where a pod with gates may go, it may still narrow; whether it does is checked apart."""
    _take(wanted, spec, "nodeSelector")
    affinity = dict(wanted.get("affinity") or {})
    _take(affinity, spec.get("affinity") or {}, "nodeAffinity")
    if affinity or "affinity" in spec:
        wanted["affinity"] = affinity
    return wanted


def _check_gated(problems: Problems, spec: Object, old: Object) -> None:
    selector = spec.get("nodeSelector", {})
    if any(selector.get(key) != value for key, value in old.get("nodeSelector", {}).items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        problems.invalid("spec.nodeSelector", selector, detail)
    before, now = _required_terms(old), _required_terms(spec)
    if not before:
        return
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if len(now) != len(before):
        problems.invalid(path, now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (was, term) in enumerate(zip(before, now, strict=True)):
        if not _narrows(was, term):
            problems.invalid(f"{path}[{index}]", term, _ONLY_ADDITIONS)


def _narrows(was: Object, term: Object) -> bool:
    """Whether a term keeps all that it asked for, in its place."""
    if not was and term:
        return False
    for field in ("matchExpressions", "matchFields"):
        old = was.get(field, [])
        if term.get(field, [])[: len(old)] != old:
            return False
    return True


def _required_terms(spec: Object) -> list[Object]:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    terms: list[Object] = required.get("nodeSelectorTerms", [])
    return terms


def _take(target: Object, source: Object, field: str) -> None:
    value: Any = source.get(field)
    if value is None:
        target.pop(field, None)
    else:
        target[field] = value
