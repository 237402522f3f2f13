"""Fields that are there for a feature gate: what is written in them is dropped while it is off, unless it was there.

Of a release that does not have a field, `shapes` knows nothing, and drops it before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

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


def drop(resource: Resource, obj: Object, before: Object | None, gates: frozenset[str]) -> None:
    """Take out of an object, in place, what counts only with gates that are off; what it had before may stay."""
    for path, gate in _FIELDS.get(resource.qualified, ()):
        if gate in gates:
            continue
        *way, field = path
        for part in list(_parts(obj, way)):
            if field in part and not any(field in known for known in _parts(before, way)):
                del part[field]


def _parts(value: Any, way: list[str]) -> Iterator[Object]:
    """What is at the end of a way that may lead through lists."""
    if isinstance(value, list):
        for item in value:
            yield from _parts(item, way)
    elif isinstance(value, dict):
        if way:
            yield from _parts(value.get(way[0]), way[1:])
        else:
            yield value
