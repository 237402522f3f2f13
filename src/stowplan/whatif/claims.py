"""Claims that are made for one pod: what a pod in the place of another, or beside it, has instead.

A volume claim of a StatefulSet's template or of an ephemeral volume, and a claim for devices of a template, belong to
the pod that they were made for: another pod has others, of which nothing is decided yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from stowplan.model.dra import ResourceClaim, ResourceClaimStatus
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod, PodResourceClaimStatus
from stowplan.model.storage import PersistentVolumeClaim, PersistentVolumeClaimStatus
from stowplan.model.volumes import Volume
from stowplan.whatif.world import World

#: What says of a volume claim where its volume is, or is to be.
_DECIDED: Final = (
    "volume.kubernetes.io/selected-node",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
)


def with_own_claims(world: World, model: Pod, copy: Pod) -> Pod:
    """Return a copy of a pod with claims of its own, which the world then has; the model keeps those it has."""
    volumes = []
    for volume in copy.spec.volumes:
        volumes.append(_own_volume(world, model, copy, volume))
    statuses = tuple(_own_devices(world, model, copy, status) for status in model.status.resource_claim_statuses)
    spec = replace(copy.spec, volumes=tuple(volumes)) if volumes else copy.spec
    return replace(copy, spec=spec, status=replace(copy.status, resource_claim_statuses=statuses))


def renew(world: World, pod: Pod, again: Pod) -> Pod:
    """Have the claims that go with a pod be made anew for the one in its place, which is called the same."""
    for claim in _ephemeral(world, pod):
        world.add(_undecided(claim, claim.name, again))
    for status in pod.status.resource_claim_statuses:
        devices = _made_for(world, pod, status)
        if devices is not None:
            world.add(_unallocated(devices, devices.name, again))
    return replace(again, status=replace(again.status, resource_claim_statuses=pod.status.resource_claim_statuses))


def _own_volume(world: World, model: Pod, copy: Pod, volume: Volume) -> Volume:
    source, owner = volume.persistent_volume_claim, model.controller
    if volume.ephemeral is not None:
        claim = _volume_claim(world, model, f"{model.name}-{volume.name}")
        if claim is not None:
            world.add(_undecided(claim, f"{copy.name}-{volume.name}", copy))
    is_of_set = source is not None and owner is not None and owner.kind == "StatefulSet"
    if source is None or not is_of_set or not source.claim_name.endswith(f"-{model.name}"):
        return volume
    claim = _volume_claim(world, model, source.claim_name)
    if claim is None:
        return volume
    name = f"{source.claim_name.removesuffix(model.name)}{copy.name}"
    world.add(_undecided(claim, name, copy))
    return replace(volume, persistent_volume_claim=replace(source, claim_name=name))


def _own_devices(world: World, model: Pod, copy: Pod, status: PodResourceClaimStatus) -> PodResourceClaimStatus:
    claim = _made_for(world, model, status)
    if claim is None:
        return status
    name = f"{claim.name}-{copy.name}"
    world.add(_unallocated(claim, name, copy))
    return replace(status, resource_claim_name=name)


def _ephemeral(world: World, pod: Pod) -> Iterator[PersistentVolumeClaim]:
    for volume in pod.spec.volumes:
        claim = _volume_claim(world, pod, f"{pod.name}-{volume.name}") if volume.ephemeral is not None else None
        if claim is not None:
            yield claim


def _volume_claim(world: World, pod: Pod, name: str) -> PersistentVolumeClaim | None:
    return world.cache.objects.get(PersistentVolumeClaim, pod.namespace, name)


def _made_for(world: World, pod: Pod, status: PodResourceClaimStatus) -> ResourceClaim | None:
    """Return the claim for devices that was made for a pod alone."""
    name = status.resource_claim_name or ""
    claim = world.cache.objects.get(ResourceClaim, pod.namespace, name) if name else None
    return claim if claim is not None and claim.controller is not None and claim.controller.uid == pod.uid else None


def _undecided(claim: PersistentVolumeClaim, name: str, pod: Pod) -> PersistentVolumeClaim:
    return replace(
        claim,
        metadata=_meta(claim.metadata, name, pod),
        spec=replace(claim.spec, volume_name=""),
        status=PersistentVolumeClaimStatus(),
    )


def _unallocated(claim: ResourceClaim, name: str, pod: Pod) -> ResourceClaim:
    return replace(claim, metadata=_meta(claim.metadata, name, pod), status=ResourceClaimStatus())


def _meta(meta: NamespacedMeta, name: str, pod: Pod) -> NamespacedMeta:
    owners = tuple(replace(owner, uid=pod.uid) if owner.kind == "Pod" else owner for owner in meta.owner_references)
    annotations = {key: value for key, value in meta.annotations.items() if key not in _DECIDED}
    uid = meta.uid if name == meta.name else f"{meta.uid}-{name}"
    return replace(meta, name=name, uid=uid, owner_references=owners, annotations=annotations, resource_version="")
