"""The priority of a pod, or of a group of pods, comes from its class; it may be repeated but not contradicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.objects.errors import forbidden
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in

_GROUP: Final = "scheduling.k8s.io"
_CLASSES: Final = built_in(_GROUP, "priorityclasses")
_WITH_POLICY: Final = "PodGroupPreemptionPolicy"
_GROUP_WORDS: Final = {"PodGroup": "pod group", "CompositePodGroup": "composite pod group"}
_USUAL_POLICY: Final = "PreemptLowerPriority"
_NO_CLASS: Final[Object] = {"value": 0, "preemptionPolicy": _USUAL_POLICY}
_DEFAULT_MARK: Final = b'"globalDefault":true'
_SYSTEM: Final = (
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)


def system_classes() -> Iterator[Object]:
    """The classes that every cluster has from its start."""
    for name, value, description in _SYSTEM:
        yield {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": _USUAL_POLICY,
            "description": description,
        }


def assign(resource: Resource, pod: Object, api: ClusterView) -> None:
    """Give a new pod the priority of its class, or of the class for all others. Raise StatusError if it has another."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    priority, policy = _establish(resource, pod, api)
    computed = "must not be provided in pod spec; priority admission controller computed"
    source = "from the given PriorityClass name"
    if spec.setdefault("priority", priority) != priority:
        problem = f"the integer value of priority ({spec['priority']}) {computed} {priority} {source}"
        raise forbidden(resource, pod_name, problem)
    if spec.setdefault("preemptionPolicy", policy) != policy:
        problem = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) {computed} {policy} {source}"
        raise forbidden(resource, pod_name, problem)


def assign_to_group(resource: Resource, group: Object, api: ClusterView) -> None:
    """Give a new group of pods the priority of its class. Raise StatusError if it has another."""
    spec = group.setdefault("spec", {})
    group_name, words = group["metadata"]["name"], _GROUP_WORDS[resource.kind]
    priority, policy = _establish(resource, group, api)
    if spec.setdefault("priority", priority) != priority:
        problem = f"priority set in the {words} ({spec['priority']}) must match the priority computed ({priority})"
        raise forbidden(resource, group_name, f"{problem} based on the priority class set in the spec")
    if _WITH_POLICY in api.catalogue.gates and spec.setdefault("preemptionPolicy", policy) != policy:
        computed = f"priority admission controller computed {policy} from the given PriorityClass name"
        problem = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided"
        raise forbidden(resource, group_name, f"{problem} in {words} spec; {computed}")


def _establish(resource: Resource, obj: Object, api: ClusterView) -> tuple[int, str]:
    """The priority and the policy of the class that an object names, or of the class for all others."""
    spec = obj["spec"]
    name = spec.get("priorityClassName")
    found = _find(name, api) if name else _find_default(api)
    if found is None:
        raise forbidden(resource, obj["metadata"]["name"], f"no PriorityClass with name {name} was found")
    if "metadata" in found:
        spec["priorityClassName"] = found["metadata"]["name"]
    return found["value"], found.get("preemptionPolicy", _USUAL_POLICY)


def check_one_default(resource: Resource, priority_class: Object, api: ClusterView) -> None:
    """Refuse a second class for all pods that name none."""
    if not priority_class.get("globalDefault"):
        return
    own = priority_class["metadata"]["name"]
    for stored in api.store.list(resource):
        if stored.name != own and _DEFAULT_MARK in stored.body and stored.object.get("globalDefault"):
            problem = f"PriorityClass {stored.name} is already marked as default. Only one default can exist"
            raise forbidden(resource, own, problem)


def check_stays(resource: Resource, name: str) -> None:
    """Refuse to delete the classes of the system."""
    if resource.qualified == f"priorityclasses.{_GROUP}" and any(name == known for known, _, _ in _SYSTEM):
        raise forbidden(resource, name, "this is a system priority class and cannot be deleted")


def _find(name: str, api: ClusterView) -> Object | None:
    stored = api.store.get(_CLASSES, "", name)
    if stored is not None:
        return stored.object
    return next((each for each in system_classes() if each["metadata"]["name"] == name), None)


def _find_default(api: ClusterView) -> Object:
    """The class for pods that name none: of several, the lowest."""
    classes = api.store.list(_CLASSES)
    # On the way of every pod, so that only what looks like a default is decoded.
    marked = [stored.object for stored in classes if _DEFAULT_MARK in stored.body]
    if not marked:
        return _NO_CLASS
    defaults = [found for found in marked if found.get("globalDefault")]
    return min(defaults, key=lambda found: int(found["value"]), default=_NO_CLASS)
