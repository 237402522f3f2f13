"""Pod Security: the standard that the labels of a namespace hold its pods to.

`levels` reads the labels, `baseline` and `restricted` have the checks, `standards` puts them together; what a
pod breaks is put into words by `violation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.embedded.admission.pod_security import levels, standards
from stowplan.embedded.admission.pod_security.levels import ENFORCE, WARN, Level
from stowplan.embedded.admission.surroundings import Surroundings, served
from stowplan.embedded.objects.errors import Cause, forbidden
from stowplan.embedded.objects.resource import Object, Resource

#: Where the pods are that a workload makes.
_TEMPLATES: Final = {
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
    "podtemplates": ("template",),
    **dict.fromkeys(
        (
            "daemonsets.apps",
            "deployments.apps",
            "jobs.batch",
            "replicasets.apps",
            "replicationcontrollers",
            "statefulsets.apps",
        ),
        ("spec", "template"),
    ),
}
_WARNED_ABOUT: Final = frozenset(("namespaces", "pods", *_TEMPLATES))


def check_pod(resource: Resource, pod: Object, api: Surroundings) -> None:
    """Refuse a new pod that breaks the standard of its namespace."""
    level = _level(pod, api, ENFORCE)
    if level is None:
        return
    violations = standards.violations(pod, level.name)
    if violations:
        details = ", ".join(map(str, violations))
        raise forbidden(resource, pod["metadata"]["name"], f'violates PodSecurity "{level}": {details}')


def label_problems(namespace: Object, before: Object | None) -> list[Cause]:
    """What is wrong with the labels of a namespace that was not wrong already."""
    known = [] if before is None else levels.problems(before["metadata"].get("labels") or {})
    found = levels.problems(namespace["metadata"].get("labels") or {})
    return [] if found == known else found


def warns_of(resource: Resource) -> bool:
    """Whether there may be something to tell whoever writes one of these."""
    return resource.qualified in _WARNED_ABOUT


def warnings(resource: Resource, obj: Object, before: Object | None, api: Surroundings) -> Iterator[str]:
    """What is worth telling whoever made a pod, a workload or a namespace."""
    if resource.qualified == "namespaces":
        if before is not None:
            yield from _of_existing(obj, before, api)
        return
    pod = obj if resource.qualified == "pods" else _template(obj, _TEMPLATES[resource.qualified])
    # The pod of a template has no namespace of its own.
    level = _level(obj, api, WARN) if before is None or pod is not obj else None
    violations = standards.violations(pod, level.name) if level is not None else []
    if violations:
        yield f'would violate PodSecurity "{level}": {", ".join(map(str, violations))}'


def _level(obj: Object, api: Surroundings, mode: str) -> Level | None:
    """To which standard something in a namespace is held; None if to none."""
    namespace = api.store.get(served("", "namespaces"), "", obj["metadata"].get("namespace", ""))
    return None if namespace is None else levels.read(namespace.labels, mode)


def _template(obj: Object, path: tuple[str, ...]) -> Object:
    for key in path:
        obj = obj.get(key) or {}
    return obj


def _of_existing(namespace: Object, before: Object, api: Surroundings) -> Iterator[str]:
    """Which pods break the standard that a namespace is held to from now on; they stay."""
    level = levels.read(namespace["metadata"].get("labels") or {}, ENFORCE)
    if level is None or level == levels.read(before["metadata"].get("labels") or {}, ENFORCE):
        return
    name, broken = namespace["metadata"]["name"], dict[str, list[str]]()
    for stored in api.store.list(served("", "pods"), name):
        reasons = ", ".join(violation.reason for violation in standards.violations(stored.object, level.name))
        if reasons:
            broken.setdefault(reasons, []).append(stored.name)
    if broken:
        yield f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{level}"'
    yield from sorted(f"{_counted(sorted(pods))}: {reasons}" for reasons, pods in broken.items())


def _counted(pods: list[str]) -> str:
    others = len(pods) - 1
    return pods[0] if not others else f"{pods[0]} (and {others} other {'pod' if others == 1 else 'pods'})"
