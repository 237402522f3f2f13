"""Objects need a namespace that exists and stays; some namespaces always stay."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.surroundings import Surroundings, served
from stowplan.embedded.objects.errors import StatusError, forbidden, not_found
from stowplan.embedded.objects.resource import Object, Resource

_LASTING: Final = frozenset(("default", "kube-system", "kube-public"))


def check_home(resource: Resource, obj: Object, api: Surroundings) -> None:
    """Refuse a new object whose namespace is not there, or is on its way out."""
    if not resource.is_namespaced:
        return
    name = obj["metadata"].get("namespace", "")
    namespaces = served("", "namespaces")
    namespace = api.store.get(namespaces, "", name)
    if namespace is None:
        raise not_found(namespaces, name)
    # The phase is the one field that namespaces are selected by.
    if namespace.fields == ("Terminating",):
        raise _terminating(resource, obj["metadata"].get("name", ""), name)


def check_stays(resource: Resource, name: str) -> None:
    """Refuse to delete a namespace that a cluster cannot do without."""
    if resource.qualified == "namespaces" and name in _LASTING:
        raise forbidden(resource, name, "this namespace may not be deleted")


def _terminating(resource: Resource, name: str, namespace: str) -> StatusError:
    problem = f"unable to create new content in namespace {namespace} because it is being terminated"
    refusal = forbidden(resource, name, problem)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return StatusError(403, refusal.reason, refusal.message, {**(refusal.details or {}), "causes": [cause]})
