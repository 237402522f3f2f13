"""Pods that were made alike hold in common what they have in common: a cluster has many pods of few templates.

An API server tells every pod in full, and each text, map and list of it would be there once for every pod; that is
nine tenths of the memory of a scheduler. `kube.listing` has each pod that it reads pass here before anybody sees it.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import force_setattr

from stowplan.model.pod import Pod
from stowplan.model.volumes import Volume

#: More templates, or sets of labels, than that, and what is known of them is found out anew.
MOST_KNOWN: Final = 1 << 15
#: A pod with more labels keeps them for itself: whoever makes one with thousands would not stop at one.
MOST_LABELS: Final = 64

#: What is a pod's own in the rule; of its volumes, one has a name with a part that is drawn.
_OWN_SPEC: Final = ("node_name", "volumes")
_OWN_STATUS: Final = ("start_time", "host_ip", "pod_ip")
#: What of its metadata may be another's, too.
_META: Final = (
    "generate_name",
    "namespace",
    "annotations",
    "creation_timestamp",
    "deletion_timestamp",
    "finalizers",
    "owner_references",
)

P = TypeVar("P", bound=msgspec.Struct)


class SharedPodParts:
    """Knows one pod of each template: the last that was seen under a namespace and a `generateName`."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Pod] = {}
        # Siblings on nodes of different zones have different labels, so the last one is not asked for them.
        self._labels: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def share(self, pod: Pod) -> Pod:
        """Return a pod that nobody else has seen yet, with whatever it has in common with its siblings as theirs.

        Amounts are equal if their numbers are, however they are written. A pod that has a node is rid of what nobody
        asks about it any more: when its conditions came about, and the names of volumes that placement does not depend
        on, which have a part that is drawn. Nothing else changes.
        """
        meta = pod.metadata
        if pod.spec.node_name:
            force_setattr(pod.spec, "node_name", sys.intern(pod.spec.node_name))
            _reduce(pod)
        force_setattr(meta, "labels", self._shared_labels(meta.labels))
        key = (meta.namespace, meta.generate_name)
        sibling = self._last.get(key)
        if sibling is None and len(self._last) >= MOST_KNOWN:
            self._last.clear()
        self._last[key] = pod
        if sibling is not None:
            _take_over(meta, sibling.metadata, _META)
            force_setattr(pod, "spec", _likened(pod.spec, sibling.spec, _OWN_SPEC))
            force_setattr(pod, "status", _likened(pod.status, sibling.status, _OWN_STATUS))
        return pod

    def _shared_labels(self, labels: dict[str, str]) -> dict[str, str]:
        if len(labels) > MOST_LABELS:
            return labels
        if len(self._labels) >= MOST_KNOWN:
            self._labels.clear()
        return self._labels.setdefault(tuple(labels.items()), labels)


def _reduce(pod: Pod) -> None:
    for condition in pod.status.conditions:
        force_setattr(condition, "last_probe_time", None)
        force_setattr(condition, "last_transition_time", None)
    volumes = pod.spec.volumes
    read = tuple([volume for volume in volumes if volume != Volume(name=volume.name)])
    if len(read) < len(volumes):
        force_setattr(pod.spec, "volumes", read)


def _likened(part: P, known: P, own: tuple[str, ...]) -> P:
    """Return a part with all that it has in common with another; mostly that is all but the fields in `own`."""
    if part == known:
        return known
    likened = copy(known)
    for name in own:
        mine = getattr(part, name)
        if mine != getattr(known, name):
            force_setattr(likened, name, mine)
    if likened == part:
        return likened
    _take_over(part, known, part.__struct_fields__)
    return part


def _take_over(part: msgspec.Struct, known: Any, fields: tuple[str, ...]) -> None:
    """Have the fields of a part that equal those of another be the very same. A part stays equal to what it was.

    It has to: what an object does not mention is a default, and that is one for all objects.
    """
    for name in fields:
        mine, other = getattr(part, name), getattr(known, name)
        if mine is not other and mine == other:
            force_setattr(part, name, other)
