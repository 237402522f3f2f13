"""Pods that look alike to the scheduler share one `PodShape`: compiled once, counted many times.

`signature` decides what "alike" means: everything that filtering, scoring and counting read of a pod, and nothing that
differs between the replicas of a workload. `family` is the same but for what the containers request. What claims are
called is in neither: plugins sign what the claims of a pod come to. Pods are counted by the names of their claims too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.model.pod import Container, Pod, PodStatus
from stowplan.model.volumes import ResourceRequirements, Volume
from stowplan.table.columns import CountColumn
from stowplan.table.terms import NO_TERMS, CarriedTerm, PodTerms

_SOURCES = tuple(name for name in Volume.__struct_fields__ if name not in ("name", "empty_dir"))
_RESIZE = ("PodResizePending", "PodResizeInProgress")
_NO_RESOURCES = ResourceRequirements()
_encoder = msgspec.msgpack.Encoder(enc_hook=str)


@dataclass(slots=True, weakref_slot=True, eq=False)
class PodShape:
    """What all pods of one signature and the same claims have in common, as the table counts it."""

    #: The signature.
    key: bytes
    pod: Pod
    #: What it adds to the resources of its node; None until somebody wants to know (`Table.amounts_of`).
    amounts: NDArray[np.int64] | None = None
    #: The (anti-)affinity terms as the pod has them, and the same as the table counts their carriers.
    own_terms: PodTerms = NO_TERMS
    terms: tuple[CarriedTerm, ...] = ()
    deltas: list[tuple[CountColumn, int]] = field(default_factory=list)
    #: Which count columns `deltas` already covers: (generation of the list of columns, how many of it).
    deltas_upto: tuple[int, int] = (0, 0)
    rows: dict[int, int] = field(default_factory=dict)


def signature(pod: Pod) -> bytes:
    """Return the bytes that pods have in common when no plugin can tell them apart."""
    return _encoder.encode(_alike(pod, pod.spec.containers, pod.spec.init_containers))


def names_of_claims(pod: Pod) -> tuple[str, ...]:
    """Return by which names pods of one signature may differ: those of claims for volumes, written or generated."""
    names: list[str] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names += (pod.name, pod.uid)
    return tuple(names)


def family(pod: Pod) -> bytes:
    """Return the bytes that pods have in common when only what their containers request tells them apart."""
    if pod.spec.resources is not None:
        # Requests of the pod as a whole are read by other ways than through the table.
        return signature(pod)
    containers, init_containers = map(_bare, pod.spec.containers), map(_bare, pod.spec.init_containers)
    return _encoder.encode(_alike(pod, tuple(containers), tuple(init_containers)))


def _bare(container: Container) -> Container:
    return msgspec.structs.replace(container, resources=_NO_RESOURCES)


def _alike(pod: Pod, containers: tuple[Container, ...], init_containers: tuple[Container, ...]) -> tuple[object, ...]:
    spec, meta, status = pod.spec, pod.metadata, pod.status
    return (
        meta.namespace,
        meta.labels,
        [(owner.api_version, owner.kind, owner.name) for owner in meta.owner_references if owner.controller],
        meta.deletion_timestamp is not None,
        containers,
        init_containers,
        spec.ephemeral_containers,
        spec.affinity,
        spec.node_selector,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.overhead,
        spec.resources,
        (spec.os, spec.host_network, spec.host_users, spec.restart_policy, spec.priority),
        _entries(pod) if spec.resource_claims else [],
        [_nameless(volume) for volume in spec.volumes if _is_read(volume)] if spec.volumes else [],
        _resize(status) if status.may_hold_other else None,
        status.node_allocatable_resource_claim_statuses,
    )


def _entries(pod: Pod) -> list[object]:
    return [(entry.name, entry.resource_claim_template_name) for entry in pod.spec.resource_claims]


def _is_read(volume: Volume) -> bool:
    """Say whether placement depends on a volume."""
    has_claim = volume.persistent_volume_claim is not None
    return has_claim or any(getattr(volume, source) is not None for source in _SOURCES)


def _nameless(volume: Volume) -> Volume:
    """Return a volume without the name of the claim that it is."""
    claim = volume.persistent_volume_claim
    if claim is None:
        return volume
    return msgspec.structs.replace(volume, persistent_volume_claim=msgspec.structs.replace(claim, claim_name=""))


def _resize(status: PodStatus) -> object:
    """What a resize under way changes about the weight of a placed pod, whose kubelet has reported on it."""
    held = [
        (container.name, container.allocated_resources, container.resources)
        for container in (*status.init_container_statuses, *status.container_statuses)
        if container.resources is not None or container.allocated_resources
    ]
    resize = [(condition.type, condition.reason) for condition in status.conditions if condition.type in _RESIZE]
    if not (held or resize or status.resources or status.allocated_resources):
        # Running alone changes nothing.
        return None
    return held, resize, status.resources, status.allocated_resources
