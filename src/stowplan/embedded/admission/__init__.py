"""What an object goes through before it may be stored: defaults, the rules of its kind and of its namespace.

`check_fields` sees to its form, `prepare` may change it further, `validate` only refuses it; `account` is told
when it has been stored or removed. The order is upstream's: namespace (404, 403), what depends on other objects (403),
fields (422), amounts that a namespace allows (403).
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission import (
    addresses,
    certificate_requests,
    limits,
    namespaces,
    new_nodes,
    new_pods,
    pod_security,
    priority,
    quota,
    runtime_classes,
    service_accounts,
    shapes,
    storage_classes,
    stored_only,
    topology_labels,
    use_protection,
)
from stowplan.embedded.admission.defaults.by_resource import complete
from stowplan.embedded.admission.defaults.workloads import select_own_pods
from stowplan.embedded.admission.quota import account
from stowplan.embedded.admission.surroundings import Surroundings
from stowplan.embedded.admission.validation import by_resource, metadata
from stowplan.embedded.admission.validation.field import Field, Problems
from stowplan.embedded.custom import intake
from stowplan.embedded.identity.users import User
from stowplan.embedded.objects.errors import invalid
from stowplan.embedded.objects.resource import Object, Resource

__all__ = [
    "account",
    "check",
    "check_annotations",
    "check_deletion",
    "check_fields",
    "check_status",
    "credit",
    "fill_in",
    "prepare",
    "validate",
    "warnings",
]

#: So many fields that a kind does not have are told; an object may have a hundred thousand. Each warning is a header,
#: of which some clients take a hundred at most.
_MOST_TOLD: Final = 100
_MOST_WARNINGS: Final = 50
_STRICT: Final = "Strict"
_IGNORE: Final = "Ignore"
_WITH_QUOTA_ON_UPDATE: Final = frozenset(("persistentvolumeclaims", "pods", "services"))


def check_fields(resource: Resource, obj: Object, field_validation: str) -> list[str]:
    """Bring what a client sent into its usual form, and return the warnings to send with the answer.

    Raise StatusError 400 for a value of the wrong type, and in strict mode for a field that the kind does not have.
    """
    unknown = [*shapes.read(resource, obj), *intake.unknown_fields(resource, obj)][:_MOST_TOLD]
    if unknown and field_validation == _STRICT:
        raise shapes.strict_error(resource, unknown)
    return [] if field_validation == _IGNORE else [f'unknown field "{path}"' for path in unknown[:_MOST_WARNINGS]]


def credit(resource: Resource, obj: Object, requester: User | None) -> None:
    """Note who made a new object, where the object itself says so; whatever it says of that already counts nothing."""
    if resource.qualified == certificate_requests.REQUESTS:
        certificate_requests.credit(obj, requester)


def prepare(
    resource: Resource, obj: Object, before: Object | None, api: Surroundings, *, is_filled_in: bool = False
) -> None:
    """Fill in an object on its way in, in place. Raise StatusError if it cannot be read or has no place to be."""
    if before is None:
        namespaces.check_home(resource, obj, api)
    if not is_filled_in:
        fill_in(resource, obj)
    if resource.is_custom:
        return
    if before is None:
        _give(resource, obj, api)
    elif resource.qualified == "pods":
        new_pods.keep(obj, before)
    elif resource.qualified == certificate_requests.REQUESTS:
        certificate_requests.date(obj, before, api.now())
    if resource.qualified == "services":
        addresses.assign(resource, obj, before, api)


def fill_in(resource: Resource, obj: Object) -> None:
    """Give an object the defaults of its kind, in place; they depend on nothing else, and come but once."""
    if resource.is_custom:
        intake.complete(resource, obj)
    else:
        complete(resource, obj)


def check(resource: Resource, obj: Object, before: Object | None, gates: frozenset[str]) -> None:
    """Refuse an object that breaks a rule of its kind. Raise StatusError 422; nothing else is looked at."""
    problems = by_resource.find_problems(resource, obj, before, gates)
    causes = [*problems.causes, *intake.problems(resource, obj, before)]
    if resource.qualified == "namespaces":
        causes += pod_security.label_problems(obj, before)
    if causes:
        # What several rules complain about in the same words is said once.
        raise invalid(resource, obj["metadata"].get("name", ""), list(dict.fromkeys(causes)))


def validate(resource: Resource, obj: Object, before: Object | None, api: Surroundings) -> None:
    """Refuse an object that breaks a rule of its namespace, or of the cluster."""
    if resource.is_custom or not (before is None or resource.qualified in _WITH_QUOTA_ON_UPDATE):
        return
    match resource.qualified:
        case "pods" if before is None:
            limits.check_pod(resource, obj, api)
            pod_security.check_pod(resource, obj, api)
        case "persistentvolumeclaims":
            limits.check_claim(resource, obj, api)
        case "priorityclasses.scheduling.k8s.io":
            priority.check_one_default(resource, obj, api)
    if resource.is_namespaced:
        quota.check(resource, obj, before, api)


def warnings(resource: Resource, obj: Object, before: Object | None, api: Surroundings) -> list[str]:
    """What is worth telling whoever writes an object though it is taken."""
    found = [*stored_only.warnings(resource), *intake.warnings(resource, obj)]
    return [*found, *pod_security.warnings(resource, obj, before, api)] if pod_security.warns_of(resource) else found


def check_status(resource: Resource, obj: Object) -> None:
    """Refuse a status with items that cannot be told apart. Raise StatusError 422."""
    problems = Problems()
    by_resource.check_keys(Field(problems, "", obj), resource)
    if problems.causes:
        raise invalid(resource, obj["metadata"].get("name", ""), problems.causes)


def check_annotations(resource: Resource, obj: Object) -> None:
    """Refuse annotations that nobody may have, of an object whose form may not be known yet. Raise StatusError 422."""
    found = obj.get("metadata")
    meta = found if isinstance(found, dict) else {}
    annotations = meta.get("annotations")
    if not isinstance(annotations, dict) or not all(isinstance(value, str) for value in annotations.values()):
        return
    problems = Problems()
    metadata.check_annotations(Field(problems, "metadata.annotations", annotations))
    if problems.causes:
        raise invalid(resource, str(meta.get("name", "")), problems.causes)


def check_deletion(resource: Resource, name: str) -> None:
    """Refuse to delete what a cluster cannot do without."""
    namespaces.check_stays(resource, name)
    priority.check_stays(resource, name)


def _give(resource: Resource, obj: Object, api: Surroundings) -> None:
    """Give a new object what depends on its kind and on what else is there."""
    match resource.qualified:
        case "pods":
            limits.set_defaults(obj, api)
            service_accounts.assign(resource, obj, api)
            priority.assign(resource, obj, api)
            runtime_classes.apply(resource, obj, api)
            if obj["spec"].get("nodeName"):
                topology_labels.copy_from_node(obj["metadata"], obj["spec"]["nodeName"], api)
            new_pods.resolve_label_keys(obj)
            new_pods.begin_status(obj, api.now())
        case "nodes":
            new_nodes.taint_unless_ready(obj)
        case "namespaces":
            obj["spec"].setdefault("finalizers", ["kubernetes"])
        case "jobs.batch":
            select_own_pods(obj)
        case "persistentvolumeclaims":
            storage_classes.assign(obj, api)
            use_protection.protect(obj)
        case "persistentvolumes":
            use_protection.protect(obj)
