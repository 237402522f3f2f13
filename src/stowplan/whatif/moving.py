"""Pods that have to leave their node: who of them comes back, and where to.

As with `kubectl drain`: pods of DaemonSets and of the node itself stay, all others go. A controller makes its pods
anew; a pod without one somebody else has to make, which is told, and it is placed all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from stowplan.engine.failure import Chosen
from stowplan.model.dra import ResourceClaim, ResourceClaimStatus
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import community_group, own_group
from stowplan.whatif import claims
from stowplan.whatif.changes import replacement
from stowplan.whatif.world import TriedPod, World

_MIRROR: Final = "kubernetes.io/config.mirror"


class Moved(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What becomes of a pod that has to go: `to` another node, or nowhere, and then why."""

    pod: str
    from_node: str
    to: str | None = None
    message: str = ""
    #: Whether no controller makes it anew.
    is_unmanaged: bool = msgspec.field(default=False, name="unmanaged")
    #: The budgets that do not let it go, so that it stays.
    held_by: tuple[str, ...] = ()

    @property
    def is_homeless(self) -> bool:
        return self.to is None and not self.held_by


def has_to_go(pod: Pod) -> bool:
    """Say whether a pod is to leave a node that is drained; one that is going already needs no eviction."""
    owner = pod.controller
    if pod.is_terminating:
        return False
    return (owner is None or owner.kind not in ("DaemonSet", "Node")) and _MIRROR not in pod.metadata.annotations


def take_off(world: World, pod: Pod) -> Pod:
    """Have a pod go; return the one that is made in its place, with claims of its own as new."""
    world.remove(pod)
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name or ""
        claim = world.cache.objects.get(ResourceClaim, pod.namespace, name) if name else None
        if claim is not None:
            _give_up(world, pod, claim)
    return claims.renew(world, pod, replacement(pod))


def remove_nodes(world: World, nodes: Sequence[Node]) -> list[Pod]:
    """Have nodes be gone, with their pods; return these."""
    lost = [placed.pod for node in nodes for placed in world.cache.pods_on(node.name)]
    for pod in lost:
        take_off(world, pod)
    for node in nodes:
        world.remove(node)
    return lost


def has_claims(pod: Pod) -> bool:
    """Say whether claims change hands when a pod goes."""
    return bool(pod.spec.resource_claims) or any(
        volume.ephemeral is not None or volume.persistent_volume_claim is not None for volume in pod.spec.volumes
    )


def placed_again(pod: Pod, node_name: str) -> Pod:
    """Return a pod that was taken off, as it was on its node."""
    return replace(pod, spec=replace(pod.spec, node_name=node_name))


def _give_up(world: World, pod: Pod, claim: ResourceClaim) -> None:
    """Have a pod no longer use a claim; one that nobody uses gives its devices back."""
    others = tuple(one for one in claim.status.reserved_for if one.uid != pod.uid)
    if len(others) != len(claim.status.reserved_for):
        status = replace(claim.status, reserved_for=others) if others else ResourceClaimStatus()
        world.add(replace(claim, status=status, metadata=replace(claim.metadata, resource_version="")))


def move(world: World, pods: Sequence[tuple[Pod, str]]) -> list[Moved]:
    """Have pods go from their nodes all at once, and place those that are made anew."""
    again = [take_off(world, pod) for pod, _ in pods]
    for pod in again:
        count_for_group(world, pod)
    found = {one.pod.key: one for one in try_ours(world, again)}
    return [moved(pod, node_name, found.get(pod.key)) for pod, node_name in pods]


def count_for_group(world: World, again: Pod) -> None:
    """Have a pod that is made in the place of another be one of its group, without which the group may lack pods."""
    if own_group(again) is not None or community_group(again) is not None:
        world.add(again)


def try_ours(world: World, pods: Sequence[Pod]) -> Sequence[TriedPod]:
    """Place those of some pods that a profile is responsible for."""
    return world.try_all([pod for pod in pods if pod.spec.scheduler_name in world.profiles])


def moved(pod: Pod, node_name: str, outcome: TriedPod | None) -> Moved:
    """Say what became of a pod by what came of the one in its place; None if it is none of ours."""
    to, message = None, f"it is left to another scheduler, {pod.spec.scheduler_name!r}"
    if isinstance(outcome, Chosen):
        to, message = outcome.node_name, ""
    elif outcome is not None:
        message = str(getattr(outcome, "message", ""))
    return Moved(pod=pod.key, from_node=node_name, to=to, message=message, is_unmanaged=pod.controller is None)
