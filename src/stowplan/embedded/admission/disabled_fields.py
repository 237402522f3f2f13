"""Fields that are there for a feature gate: what is written in them is dropped while it is off, unless it was there.

Of a release that does not have a field, `shapes` knows nothing, and drops it before.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from stowplan.embedded.objects.resource import Object, Resource

_Path = tuple[str, ...]

_OF_POD_SPECS: Final[tuple[tuple[_Path, str], ...]] = (
    (("schedulingGroup",), "GenericWorkload"),
    (("evictionResponders",), "EvictionRequestAPI"),
    (("containers", "volumeMounts", "bindMountOptions"), "VolumeBindMountOptions"),
    (("initContainers", "volumeMounts", "bindMountOptions"), "VolumeBindMountOptions"),
)
_OF_GROUPS: Final[tuple[tuple[_Path, str], ...]] = (
    (("schedulingConstraints",), "TopologyAwareWorkloadScheduling"),
    (("resourceClaims",), "DRAWorkloadResourceClaims"),
    (("preemptionPolicy",), "PodGroupPreemptionPolicy"),
)
_TEMPLATE: Final = ("spec", "template", "spec")
_TREES: Final = "compositePodGroupTemplates"
#: A tree of groups has no more levels of composite ones, or it is refused.
_TREE_LEVELS: Final = 3


def _below(way: _Path, fields: tuple[tuple[_Path, str], ...]) -> tuple[tuple[_Path, str], ...]:
    return tuple(((*way, *path), gate) for path, gate in fields)


def _of_tree(levels: int) -> tuple[tuple[_Path, str], ...]:
    """What may be said so many levels down the templates of a workload."""
    way = ("spec", *[_TREES] * levels)
    return (((*way, "preemptionPolicy"), "PodGroupPreemptionPolicy"), *_below((*way, "podGroupTemplates"), _OF_GROUPS))


_FIELDS: Final[dict[str, tuple[tuple[_Path, str], ...]]] = {
    "pods": _below(("spec",), _OF_POD_SPECS),
    "podtemplates": _below(("template", "spec"), _OF_POD_SPECS),
    "replicationcontrollers": _below(_TEMPLATE, _OF_POD_SPECS),
    "deployments.apps": _below(_TEMPLATE, _OF_POD_SPECS),
    "replicasets.apps": _below(_TEMPLATE, _OF_POD_SPECS),
    "statefulsets.apps": _below(_TEMPLATE, _OF_POD_SPECS),
    "daemonsets.apps": _below(_TEMPLATE, _OF_POD_SPECS),
    "jobs.batch": _below(_TEMPLATE, _OF_POD_SPECS),
    "cronjobs.batch": _below(("spec", "jobTemplate", *_TEMPLATE), _OF_POD_SPECS),
    "nodes": ((("spec", "podPreemptionPolicy"), "InPlacePodVerticalScalingSchedulerPreemption"),),
    "csidrivers.storage.k8s.io": ((("spec", "preventPodSchedulingIfMissing"), "VolumeLimitScaling"),),
    "podgroups.scheduling.k8s.io": (
        *_below(("spec",), _OF_GROUPS),
        (("spec", "parentCompositePodGroupName"), "CompositePodGroup"),
    ),
    "workloads.scheduling.k8s.io": (
        *_below(("spec", "podGroupTemplates"), _OF_GROUPS),
        (("spec", _TREES), "CompositePodGroup"),
        *(field for levels in range(1, _TREE_LEVELS + 1) for field in _of_tree(levels)),
    ),
    "compositepodgroups.scheduling.k8s.io": ((("spec", "preemptionPolicy"), "PodGroupPreemptionPolicy"),),
}


class _Part(NamedTuple):
    """A part of an object, or all items of a list, that a way leads to."""

    way: _Path
    #: Those whose gates are off.
    fields: frozenset[str]
    below: tuple[tuple[str, _Part], ...]


def drop(resource: Resource, obj: Object, before: Object | None, gates: frozenset[str]) -> None:
    """Take out of an object, in place, what counts only with gates that are off; what it had before may stay."""
    whole = _disabled(resource.qualified, gates)
    if whole is None:
        return
    found: list[tuple[Object, _Part]] = []
    _find(obj, whole, found)
    for value, part in found:
        known = {field for had in _parts(before, part.way) for field in had}
        for field in (part.fields & value.keys()) - known:
            del value[field]


@cache
def _disabled(qualified: str, gates: frozenset[str]) -> _Part | None:
    """What is to be looked at in the objects of a resource; None if that is nothing."""
    found: dict[_Path, set[str]] = {}
    for path, gate in _FIELDS.get(qualified, ()):
        if gate not in gates:
            found.setdefault(path[:-1], set()).add(path[-1])
    return _part((), found) if found else None


def _part(way: _Path, fields: dict[_Path, set[str]]) -> _Part:
    depth = len(way) + 1
    names = dict.fromkeys(other[depth - 1] for other in fields if len(other) >= depth and other[: depth - 1] == way)
    return _Part(way, frozenset(fields.get(way, ())), tuple((name, _part((*way, name), fields)) for name in names))


def _find(value: Any, part: _Part, found: list[tuple[Object, _Part]]) -> None:
    """Find where a disabled field is written."""
    if isinstance(value, dict):
        if not part.fields.isdisjoint(value):
            found.append((value, part))
        for name, below in part.below:
            if name in value:
                _find(value[name], below, found)
    elif isinstance(value, list):
        for item in value:
            _find(item, part, found)


def _parts(value: Any, way: _Path) -> list[Object]:
    """Return what is at the end of a way that may lead through lists."""
    for at, name in enumerate(way):
        if not isinstance(value, dict):
            return _parts_of_items(value, way[at:])
        value = value.get(name)
    return [value] if isinstance(value, dict) else _parts_of_items(value, ())


def _parts_of_items(value: Any, way: _Path) -> list[Object]:
    return [part for item in value for part in _parts(item, way)] if isinstance(value, list) else []
