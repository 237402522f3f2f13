"""A runtime class adds to the pods that name it: what they weigh beyond their containers, and where they can run."""

from __future__ import annotations

from stowplan.embedded.admission.surroundings import Surroundings, served
from stowplan.embedded.objects.errors import forbidden
from stowplan.embedded.objects.resource import Object, Resource


def apply(resource: Resource, pod: Object, api: Surroundings) -> None:
    """Add to a new pod what its runtime class says. Raise StatusError if there is no such class."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    name = spec.get("runtimeClassName")
    found: Object = {}
    if name:
        stored = api.store.get(served("node.k8s.io", "runtimeclasses"), "", name)
        if stored is None:
            raise forbidden(resource, pod_name, f'pod rejected: RuntimeClass "{name}" not found')
        found = stored.object
    overhead = (found.get("overhead") or {}).get("podFixed")
    if overhead is None:
        if spec.get("overhead"):
            problem = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden(resource, pod_name, problem)
    elif spec.setdefault("overhead", overhead) != overhead:
        problem = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise forbidden(resource, pod_name, problem)
    if "scheduling" in found:
        _narrow(resource, pod, found["scheduling"])


def _narrow(resource: Resource, pod: Object, scheduling: Object) -> None:
    spec = pod["spec"]
    for key, value in scheduling.get("nodeSelector", {}).items():
        chosen = spec.setdefault("nodeSelector", {}).setdefault(key, value)
        if chosen != value:
            wanted = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            problem = f"conflict: {wanted}; pod.spec.nodeSelector[{key}] = {chosen}"
            raise forbidden(resource, pod["metadata"]["name"], problem)
    more = [each for each in scheduling.get("tolerations", ()) if each not in spec.get("tolerations", ())]
    if more:
        spec["tolerations"] = [*spec.get("tolerations", ()), *more]
