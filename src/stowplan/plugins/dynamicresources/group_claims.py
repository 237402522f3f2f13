"""Claims that keep a pod group from being placed: those of its pods, and those that are its own.

For each pod the same is done as for a single one. If there was nothing to do for one of them, the group's own claims
come next, as long as none of its pods has a node: devices that some node cannot use are given back, or else the group
gives up a claim that it has reserved. `group_consumers.py` tells which claims of a pod are the group's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import Errand
from stowplan.framework.pod_groups import GroupArranged, GroupAttempt
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.dra import ResourceClaim
from stowplan.model.pod import Pod, PodResourceClaim, pod_id
from stowplan.model.pod_group import PodGroup
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.plugins.dynamicresources.claim_writes import ClaimWrites
from stowplan.plugins.dynamicresources.claims import MissingClaimError, is_reserved_for
from stowplan.plugins.dynamicresources.group_consumers import UNSUPPORTED

#: Said whether or not there was anything to do for the pods.
COMPLETED: Final = "deallocation and deletion of ResourceClaims completed"
DEALLOCATED: Final = "deallocation of PodGroup ResourceClaim completed"
UNRESERVED: Final = "ResourceClaim unreserved for PodGroup"


@dataclass(frozen=True, slots=True)
class MemberHelp:
    """What can be done about the claims of one pod: whether there is anything, and what is left to be done then."""

    is_found: bool
    errand: Errand | None = None


@dataclass(frozen=True, slots=True)
class GroupClaims:
    """Gives back the claims of a group that found no place; what is asked about its pods is the plugin's to answer."""

    claims: ClaimTracker
    writes: ClaimWrites
    #: What is done for a pod that found no node.
    help_member: Callable[[Pod, Attempt], MemberHelp]
    #: The given claims of a pod of which some node, which would do otherwise, cannot use the devices.
    unavailable: Callable[[Pod, Attempt], Iterator[ResourceClaim]]

    def post_filter(self, group: PodGroup, attempt: GroupAttempt, failed: list[tuple[Pod, Attempt]]) -> GroupArranged:
        """Do what helps the pods that found no node, of those the plugin was asked about, then the group itself."""
        helped = [self.help_member(pod, one) for pod, one in failed]
        errands = tuple(one.errand for one in helped if one.errand is not None)
        # A pod that had found a node has nothing to give back.
        is_left = not all(one.is_found for one in helped) or any(pod_id(pod) in attempt.placed for pod in attempt.pods)
        if not is_left or not self.claims.has_group_claims or self.claims.groups.scheduled(group.group_key):
            return GroupArranged(Rejection((COMPLETED,)), errands)
        try:
            said, errand = self._help_group(group, attempt.pods[0], failed)
        except MissingClaimError as missing:
            return GroupArranged(Rejection((str(missing),), Code.ERROR), errands)
        return GroupArranged(said, errands if errand is None else (*errands, errand))

    def _help_group(
        self, group: PodGroup, pod: Pod, failed: list[tuple[Pod, Attempt]]
    ) -> tuple[Rejection, Errand | None]:
        for member, attempt in failed:
            for claim in self.unavailable(member, attempt):
                consumers = claim.status.reserved_for
                if not consumers or (len(consumers) == 1 and consumers[0].uid == group.uid):
                    return Rejection((DEALLOCATED,)), partial(self.writes.deallocate, claim)
        for claim in self._own(group):
            if claim.status.allocation is not None and is_reserved_for(pod, claim, in_groups=True):
                said = Rejection((UNRESERVED,), Code.UNRESOLVABLE)
                return said, partial(self.writes.unreserve, claim, group.uid)
        return Rejection((COMPLETED,)), None

    def _own(self, group: PodGroup) -> Iterator[ResourceClaim]:
        """Yield the claims of a group. Raise MissingClaimError at the first that is not there."""
        for entry in group.spec.resource_claims:
            name = _claim_name(group, entry)
            if name is None:
                continue
            claim = self.claims.find(group.namespace, name)
            if claim is None:
                raise MissingClaimError(f'could not find ResourceClaim "{group.namespace}/{name}"')
            is_made_for_it = claim.controller is not None and claim.controller.uid == group.uid
            if entry.resource_claim_name is not None or is_made_for_it:
                yield claim


def _claim_name(group: PodGroup, entry: PodResourceClaim) -> str | None:
    """Return the name of the claim behind an entry of a group; None if it turned out that none is needed."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    if entry.resource_claim_template_name is None:
        raise MissingClaimError(f"PodGroup {group.key}, spec.resourceClaim {entry.name}: {UNSUPPORTED}")
    for status in group.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name
    raise MissingClaimError(f"PodGroup {group.key}: ResourceClaim not created yet")
