"""Which standard a namespace is held to by its labels; refuses pods that break it, or warns of them.

The checks themselves are in `baseline` and `restricted`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.admission.pod_security import restricted
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause, forbidden
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in

_NAMESPACES: Final = built_in("", "namespaces")
_ENFORCE: Final = "enforce"
_WARN: Final = "warn"
_PRIVILEGED: Final = "privileged"
_LEVELS: Final = (_PRIVILEGED, *restricted.STANDARDS)
_LATEST: Final = "latest"
_PREFIX: Final = "pod-security.kubernetes.io/"
#: The labels of the level and of the version of each mode.
_LABELS: Final = {mode: (f"{_PREFIX}{mode}", f"{_PREFIX}{mode}-version") for mode in (_ENFORCE, "audit", _WARN)}
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9]\d*)")
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


class Level(NamedTuple):
    """A standard, and the version of it by name; the rules are those of the latest."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


def check_pod(resource: Resource, pod: Object, api: ClusterView) -> None:
    """Refuse a new pod that breaks the standard of its namespace."""
    level = _level(pod, api, _ENFORCE)
    if level is None:
        return
    violations = restricted.violations(pod, level.name)
    if violations:
        details = ", ".join(map(str, violations))
        raise forbidden(resource, pod["metadata"]["name"], f'violates PodSecurity "{level}": {details}')


def label_problems(namespace: Object, before: Object | None) -> list[Cause]:
    """What is wrong with the labels of a namespace that was not wrong already."""
    known = [] if before is None else _level_problems(before["metadata"].get("labels") or {})
    found = _level_problems(namespace["metadata"].get("labels") or {})
    return [] if found == known else found


def warns_of(resource: Resource) -> bool:
    """Whether there may be something to tell whoever writes one of these."""
    return resource.qualified in _WARNED_ABOUT


def warnings(resource: Resource, obj: Object, before: Object | None, api: ClusterView) -> list[str]:
    """What is worth telling whoever made a pod, a workload or a namespace."""
    if resource.qualified == "namespaces":
        return [] if before is None else list(_of_existing(obj, before, api))
    is_pod = resource.qualified == "pods"
    # The pod of a template has no namespace of its own.
    level = _level(obj, api, _WARN) if before is None or not is_pod else None
    if level is None:
        return []
    pod = obj if is_pod else reading.mapping(obj, *_TEMPLATES[resource.qualified])
    violations = restricted.violations(pod, level.name)
    return [f'would violate PodSecurity "{level}": {", ".join(map(str, violations))}'] if violations else []


def _level(obj: Object, api: ClusterView, mode: str) -> Level | None:
    """To which standard something in a namespace is held; None if to none."""
    namespace = api.store.get(_NAMESPACES, "", obj["metadata"].get("namespace", ""))
    return None if namespace is None else _read_level(namespace.labels, mode)


def _of_existing(namespace: Object, before: Object, api: ClusterView) -> Iterator[str]:
    """Which pods break the standard that a namespace is held to from now on; they stay."""
    level = _read_level(namespace["metadata"].get("labels") or {}, _ENFORCE)
    if level is None or level == _read_level(before["metadata"].get("labels") or {}, _ENFORCE):
        return
    name, broken = namespace["metadata"]["name"], dict[str, list[str]]()
    for stored in api.store.list(built_in("", "pods"), name):
        reasons = ", ".join(violation.reason for violation in restricted.violations(stored.object, level.name))
        if reasons:
            broken.setdefault(reasons, []).append(stored.name)
    if broken:
        yield f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{level}"'
    yield from sorted(f"{_counted(sorted(pods))}: {reasons}" for reasons, pods in broken.items())


def _counted(pods: list[str]) -> str:
    others = len(pods) - 1
    return pods[0] if not others else f"{pods[0]} (and {others} other {'pod' if others == 1 else 'pods'})"


def _read_level(labels: Mapping[str, str], mode: str) -> Level | None:
    """The standard that labels name; None if everything is allowed. What is enforced is warned about, too."""
    level_key, version_key = _LABELS[mode]
    name = labels.get(level_key)
    if name is None:
        return None if mode == _ENFORCE else _read_level(labels, _ENFORCE)
    if name == _PRIVILEGED:
        return None
    # A word that nobody knows, from before somebody looked, allows least.
    return Level(name if name in _LEVELS else "restricted", labels.get(version_key, _LATEST))


def _level_problems(labels: Mapping[str, str]) -> list[Cause]:
    """What is wrong with the labels of a namespace."""
    found = []
    for level, version in _LABELS.values():
        if level in labels and labels[level] not in _LEVELS:
            found.append(_invalid(level, labels[level], f"must be one of {', '.join(_LEVELS)}"))
        if not _VERSION.fullmatch(labels.get(version, _LATEST)):
            found.append(_invalid(version, labels[version], 'must be "latest" or "v1.x"'))
    return found


def _invalid(key: str, value: str, problem: str) -> Cause:
    return Cause("FieldValueInvalid", f"metadata.labels[{key}]", f'Invalid value: "{value}": {problem}')
