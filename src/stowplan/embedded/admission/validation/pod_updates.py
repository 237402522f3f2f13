"""What may change about a pod once it exists: images, deadline, more tolerations; with gates also where it may go."""

from __future__ import annotations

from typing import Any, Final

from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_pod_update(pod: Field, before: Object) -> None:
    """Compare a pod with what it was."""
    _check_status(pod, before.get("status") or {})
    spec, old = pod["spec"], before["spec"]
    if spec.value == old:
        return
    for field in ("containers", "initContainers"):
        if len(spec.get(field, ())) != len(old.get(field, ())):
            spec[field].forbidden("pod updates may not add or remove containers")
            return
    _check_deadline(spec["activeDeadlineSeconds"], old.get("activeDeadlineSeconds"))
    if not _check_gates(spec["schedulingGates"], old):
        return
    wanted = _with_allowed_changes(spec.value, old)
    if old.get("schedulingGates"):
        _check_gated(spec, old)
        wanted = _with_gated_changes(wanted, spec.value)
    if wanted != spec.value:
        changed = sorted(name for name in spec.value.keys() | wanted.keys() if spec.get(name) != wanted.get(name))
        spec.forbidden(f"{_FIXED}\nchanged: {', '.join(f'spec.{name}' for name in changed)}")


def _check_status(pod: Field, old: Object) -> None:
    status = pod["status"]
    if "qosClass" in old:
        status["qosClass"].check_unchanged(old["qosClass"])
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != old.get("nominatedNodeName") and pod["spec"].get("nodeName"):
        status["nominatedNodeName"].forbidden("may not be set on pods that are already bound to a node")


def _check_deadline(deadline: Field, before: int | None) -> None:
    if before is None:
        return
    if deadline.value is None:
        deadline.invalid("must not update from a positive integer to nil value")
    deadline.check_at_most(before, "must be less than or equal to previous value")


def _check_gates(gates: Field, old: Object) -> bool:
    known = {gate.get("name") for gate in old.get("schedulingGates", ())}
    unknown = [gate for gate in gates if gate.get("name") not in known]
    for gate in unknown:
        detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
        gate["name"].forbidden(detail)
    return not unknown


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


def _check_gated(spec: Field, old: Object) -> None:
    selector = spec.get("nodeSelector", {})
    if any(selector.get(key) != value for key, value in old.get("nodeSelector", {}).items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        spec["nodeSelector"].invalid(detail, selector)
    before = reading.entries(old, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    if not before:
        return
    terms = spec["affinity"]["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    if len(terms.value or ()) != len(before):
        terms.invalid("no additions/deletions to non-empty NodeSelectorTerms list are allowed", terms.value or [])
        return
    for was, term in zip(before, terms, strict=True):
        if not _narrows(was, term.value):
            term.invalid("only additions are allowed (no mutations or deletions)")


def _narrows(was: Object, term: Object) -> bool:
    """Whether a term keeps all that it asked for, in its place."""
    if not was and term:
        return False
    for field in ("matchExpressions", "matchFields"):
        old = was.get(field, [])
        if term.get(field, [])[: len(old)] != old:
            return False
    return True


def _take(target: Object, source: Object, field: str) -> None:
    value: Any = source.get(field)
    if value is None:
        target.pop(field, None)
    else:
        target[field] = value
