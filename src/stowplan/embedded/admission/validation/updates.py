"""What may not change about an object once it exists; pods have a module of their own."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation.problems import IMMUTABLE, Problems
from stowplan.embedded.objects.resource import Object

_CHANGEABLE_OF_STATEFUL_SET: Final = frozenset(
    (
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    )
)
_FIXED_OF_STATEFUL_SET: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
#: Of a job that waits, these parts of its pods may still be set, by whoever queues it.
_CHANGEABLE_WHILE_SUSPENDED: Final = ("nodeSelector", "affinity", "tolerations", "schedulingGates")


def check_selector_kept(problems: Problems, workload: Object, before: Object) -> None:
    """Refuse to look after other pods than before."""
    problems.check_unchanged("spec.selector", workload["spec"].get("selector"), before["spec"].get("selector"))


def check_stateful_set_update(problems: Problems, stateful_set: Object, before: Object) -> None:
    spec, old = stateful_set["spec"], before["spec"]
    fixed = (spec.keys() | old.keys()) - _CHANGEABLE_OF_STATEFUL_SET
    if any(spec.get(field) != old.get(field) for field in fixed):
        problems.forbidden("spec", _FIXED_OF_STATEFUL_SET)


def check_job_update(problems: Problems, job: Object, before: Object) -> None:
    spec, old = job["spec"], before["spec"]
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not is_elastic:
        problems.check_unchanged("spec.completions", spec.get("completions"), old.get("completions"))
    problems.check_unchanged("spec.selector", spec.get("selector"), old.get("selector"))
    if _fixed_template(spec, old) != old["template"]:
        problems.invalid("spec.template", spec["template"], IMMUTABLE)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        problems.check_unchanged(f"spec.{field}", spec.get(field), old.get(field))


def _fixed_template(spec: Object, old: Object) -> Object:
    """The new template, with what may change put back."""
    template: Object = spec["template"]
    if not (old.get("suspend") and template != old["template"]):
        return template
    pod_spec, kept = dict(template.get("spec", {})), old["template"].get("spec", {})
    for field in _CHANGEABLE_WHILE_SUSPENDED:
        pod_spec.pop(field, None)
        if field in kept:
            pod_spec[field] = kept[field]
    # Its labels and annotations are changeable too.
    return {**template, "metadata": old["template"].get("metadata", {}), "spec": pod_spec}


def check_priority_class_update(problems: Problems, priority_class: Object, before: Object) -> None:
    if priority_class.get("value") != before.get("value"):
        problems.forbidden("value", "may not be changed in an update.")
    policy, old = priority_class.get("preemptionPolicy"), before.get("preemptionPolicy")
    problems.check_unchanged("preemptionPolicy", policy, old)


def check_service_update(problems: Problems, service: Object, before: Object) -> None:
    spec, old = service["spec"], before["spec"]
    kept = old.get("clusterIP")
    if "ExternalName" in (spec["type"], old.get("type")) or not kept:
        return
    if spec.get("clusterIP") != kept:
        problems.invalid("spec.clusterIPs[0]", spec.get("clusterIPs", []), "may not change once set")


def check_node_update(problems: Problems, node: Object, before: Object) -> None:
    spec, old = node["spec"], before.get("spec", {})
    if old.get("podCIDRs") and spec.get("podCIDRs") != old["podCIDRs"]:
        problems.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if old.get("providerID") and spec.get("providerID") != old["providerID"]:
        problems.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def check_claim_update(problems: Problems, claim: Object, before: Object) -> None:
    """A claim, once made, only grows; its volume and class may be filled in."""
    spec, old = dict(claim["spec"]), dict(before["spec"])
    for field in ("volumeName", "storageClassName"):
        if not old.get(field):
            spec.pop(field, None)
            old.pop(field, None)
    for each in (spec, old):
        each.pop("resources", None)
        each.pop("volumeAttributesClassName", None)
    if spec != old:
        detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        problems.forbidden("spec", f"{detail} for bound claims")


def check_data_kept(problems: Problems, obj: Object, before: Object) -> None:
    """Refuse to change a config map or secret that was declared immutable."""
    if not before.get("immutable"):
        return
    if not obj.get("immutable"):
        problems.forbidden("immutable", "field is immutable when `immutable` is set")
    for field in ("data", "binaryData"):
        if obj.get(field) != before.get(field):
            problems.forbidden(field, "field is immutable when `immutable` is set")


def check_secret_update(problems: Problems, secret: Object, before: Object) -> None:
    problems.check_unchanged("type", secret.get("type"), before.get("type"))
    check_data_kept(problems, secret, before)
