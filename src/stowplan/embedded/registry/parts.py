"""Which part of an object a request may change: everything but its status, only its status, only its finalizers,
or whether it is approved.

Also the generation, which counts the changes of what is wished for, as distinct from what is.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects.errors import Cause, invalid
from stowplan.embedded.objects.resource import Object, Resource

STATUS: Final = "status"
FINALIZE: Final = "finalize"
APPROVAL: Final = "approval"
_DECISIONS: Final = ("Approved", "Denied")
#: What these wish for is said once and for all.
_FIXED: Final = frozenset(("certificatesigningrequests.certificates.k8s.io",))

_GENERATION_GROUPS: Final = frozenset(
    (
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apps",
        "batch",
        "discovery.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "policy",
        "scheduling.k8s.io",
    )
)
#: Of these groups, but without one.
_WITHOUT_GENERATION: Final = frozenset(("ipaddresses.networking.k8s.io", "servicecidrs.networking.k8s.io"))
_GENERATION_RESOURCES: Final = frozenset(("pods", "replicationcontrollers", "resourceslices.resource.k8s.io"))
_NOT_COUNTED: Final = frozenset(("apiVersion", "kind", "metadata", STATUS))


def without_status(resource: Resource, obj: Object) -> None:
    """Take the status off a new object, where it is the server or a controller that says it."""
    if not resource.may_begin_with_status:
        obj.pop(STATUS, None)


def changed(resource: Resource, obj: Object, before: Object, subresource: str) -> Object:
    """The object after a change to one part of it; the metadata is the new one where the part allows it."""
    if subresource == STATUS:
        if resource.qualified in _FIXED:
            # Refuse a decision that does not come by the path for it.
            kinds, old = (
                [each.get("type") for each in (one.get(STATUS) or {}).get("conditions", ())] for one in (obj, before)
            )
            for kind in _DECISIONS:
                if kinds.count(kind) > old.count(kind):
                    problem = f'Forbidden: updates may not add a condition of type "{kind}"'
                    cause = Cause("FieldValueForbidden", "status.conditions", problem)
                    raise invalid(resource, before["metadata"]["name"], [cause])
        return _with_status(resource, obj, before)
    if subresource == FINALIZE:
        spec = {**before.get("spec", {}), "finalizers": (obj.get("spec") or {}).get("finalizers") or []}
        return {**before, "metadata": {**before["metadata"]}, "spec": spec}
    if subresource == APPROVAL:
        told = {**before.get(STATUS, {}), "conditions": (obj.get(STATUS) or {}).get("conditions") or []}
        return {**before, "metadata": {**before["metadata"]}, STATUS: told}
    if resource.qualified in _FIXED:
        obj["spec"] = before["spec"]
    if STATUS in resource.subresources:
        if STATUS in before:
            obj[STATUS] = before[STATUS]
        else:
            obj.pop(STATUS, None)
    return obj


def count_generation(resource: Resource, obj: Object, before: Object | None) -> None:
    """Set the generation of a new or changed object."""
    metadata = obj["metadata"]
    if before is None:
        is_known = resource.group in _GENERATION_GROUPS or resource.qualified in _GENERATION_RESOURCES
        if (resource.is_custom or is_known) and resource.qualified not in _WITHOUT_GENERATION:
            metadata["generation"] = 1
        return
    generation = before["metadata"].get("generation")
    if generation is not None and _wishes_differ(resource, obj, before):
        metadata["generation"] = generation + 1


def _with_status(resource: Resource, obj: Object, before: Object) -> Object:
    result = {**before, "metadata": {**before["metadata"]}}
    if STATUS in obj:
        result[STATUS] = obj[STATUS]
    else:
        result.pop(STATUS, None)
    if not resource.is_custom:
        # Labels of workloads are wishes of their users; nodes and pods are labelled by whoever runs them.
        keys = ("annotations",) if resource.group == "apps" else ("annotations", "labels")
        kept = {key: value for key, value in result["metadata"].items() if key not in keys}
        result["metadata"] = {**kept, **{key: obj["metadata"][key] for key in keys if key in obj["metadata"]}}
    for key in ("managedFields", "finalizers"):
        if key in obj["metadata"]:
            result["metadata"][key] = obj["metadata"][key]
    return result


def _wishes_differ(resource: Resource, obj: Object, before: Object) -> bool:
    keys = (obj.keys() | before.keys()) - _NOT_COUNTED
    if any(obj.get(key) != before.get(key) for key in keys):
        return True
    if resource.qualified != "deployments.apps":
        return False
    return bool(obj["metadata"].get("annotations") != before["metadata"].get("annotations"))
