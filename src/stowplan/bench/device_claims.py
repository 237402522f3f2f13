"""What controllers do about resource claims in a benchmark, and the operation that allocates claims without a pod.

Upstream's benchmark runs the resource claim controller and the garbage collector beside the scheduler. Here the same
changes are made at once: a pod with a template of claims gets its claims and is told so in its status, and when it is
gone its claims are given back, and deleted if they were its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from stowplan.bench.parameters import WorkloadError
from stowplan.bench.scheduler import VirtualScheduler
from stowplan.bench.virtual_api import VirtualApi
from stowplan.model.dra import ResourceClaim, ResourceClaimStatus, ResourceClaimTemplate
from stowplan.model.duration import of_seconds
from stowplan.model.meta import NamespacedMeta, OwnerReference
from stowplan.model.node import Node
from stowplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from stowplan.model.pod_group import PodGroup
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, NodeAllocationError
from stowplan.plugins.dynamicresources.claims import request_key
from stowplan.plugins.dynamicresources.dra_state import DRAState

replace = msgspec.structs.replace

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"


class ClaimController:
    """Makes the claims of pods, and ends them; hears of every pod."""

    def __init__(self, api: VirtualApi, *, for_groups: bool) -> None:
        """`for_groups` says whether pod groups have claims of their own (DRAWorkloadResourceClaims)."""
        self._api, self._for_groups = api, for_groups
        api.observers.append(self._observe)

    def _observe(self, old: Pod | None, new: Pod | None) -> None:
        if new is None and old is not None:
            if old.spec.resource_claims or old.status.extended_resource_claim_status is not None:
                self._give_back(old)
        elif new is not None and old is None and new.spec.resource_claims:
            self._make(new)

    def _make(self, pod: Pod) -> None:
        made = []
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_template_name is not None:
                name = self._name_in_group(pod, entry) or self._create(pod, entry)
                made.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=name))
        if made:
            self._api.update(replace(pod, status=replace(pod.status, resource_claim_statuses=tuple(made))))

    def _name_in_group(self, pod: Pod, entry: PodResourceClaim) -> str:
        """Return the claim that a pod shares with its group, which is made for the first of them; nothing if none."""
        if not self._for_groups or pod.spec.scheduling_group is None:
            return ""
        group = self._api.get(PodGroup, f"{pod.namespace}/{pod.spec.scheduling_group.pod_group_name}")
        if group is None or entry not in group.spec.resource_claims:
            return ""
        known = group.status.resource_claim_statuses
        found = next((one.resource_claim_name for one in known if one.name == entry.name), None)
        if found is None:
            found = self._create(group, entry)
            added = PodResourceClaimStatus(name=entry.name, resource_claim_name=found)
            self._api.update(replace(group, status=replace(group.status, resource_claim_statuses=(*known, added))))
        return str(found)

    def _create(self, owner: Pod | PodGroup, entry: PodResourceClaim) -> str:
        """Create the claim of an entry for its owner, and return its name."""
        key = f"{owner.namespace}/{entry.resource_claim_template_name}"
        template = self._api.get(ResourceClaimTemplate, key)
        if template is None:
            raise WorkloadError(f"{owner.kind} {owner.key!r} asks for the claim template {key!r}, which is not there")
        claim: ResourceClaim = self._api.create(_claim_of(owner, entry.name, template))
        return claim.name

    def _give_back(self, pod: Pod) -> None:
        for claim in self._claims_of(pod):
            left = tuple(one for one in claim.status.reserved_for if one.uid != pod.uid)
            status = replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
            metadata = claim.metadata if left else replace(claim.metadata, finalizers=())
            if status != claim.status:
                claim = self._api.update(replace(claim, metadata=metadata, status=status))
            if any(owner.uid == pod.uid for owner in claim.metadata.owner_references):
                self._api.delete(claim)

    def _claims_of(self, pod: Pod) -> Iterator[ResourceClaim]:
        names = {one.resource_claim_name for one in pod.spec.resource_claims}
        names |= {one.resource_claim_name for one in pod.status.resource_claim_statuses}
        extended = pod.status.extended_resource_claim_status
        if extended is not None:
            names.add(extended.resource_claim_name)
        for name in names:
            found = self._api.get(ResourceClaim, f"{pod.namespace}/{name}") if name else None
            if found is not None:
                yield found


def _claim_of(owner: Pod | PodGroup, entry: str, template: ResourceClaimTemplate) -> ResourceClaim:
    reference = OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )
    meta = template.spec.metadata
    metadata = NamespacedMeta(
        generate_name=f"{owner.name}-{entry}-",
        namespace=owner.namespace,
        labels=meta.labels,
        annotations={**meta.annotations, POD_CLAIM_NAME: entry},
        owner_references=(reference,),
    )
    return ResourceClaim(metadata=metadata, spec=template.spec.spec)


async def allocate_claims(api: VirtualApi, scheduler: VirtualScheduler, namespace: str) -> None:
    """Give devices to the claims of a namespace (of all, if it is empty), on nodes at random, as upstream does."""
    state = DRAState(scheduler.replica.cluster.handle, of_seconds(0))
    #: By what is asked for, the nodes that may still have it: nothing is given back meanwhile.
    left: dict[object, list[Node]] = {}
    for claim in api.all(ResourceClaim):
        if claim.status.allocation is not None or namespace not in ("", claim.namespace):
            continue
        state.refresh()
        nodes = left.setdefault(request_key((claim,)), api.all(Node))
        _allocate(api, state, claim, nodes)
        # The next claim is decided on what this one took.
        await scheduler.settle()


def _allocate(api: VirtualApi, state: DRAState, claim: ResourceClaim, nodes: list[Node]) -> None:
    allocator = state.allocator((claim,))
    while nodes:
        at = api.draw(len(nodes))
        try:
            found = allocator.allocate(nodes[at])
        except (AllocationError, NodeAllocationError) as error:
            raise WorkloadError(f"claim {claim.key!r} cannot be allocated: {error}") from None
        if found is not None:
            api.update(replace(claim, status=replace(claim.status, allocation=found[0])))
            return
        nodes[at] = nodes[-1]
        nodes.pop()
    raise WorkloadError(f"claim {claim.key!r} cannot be allocated: no node has the devices left")
