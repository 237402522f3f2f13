"""Whom the claims of a pod are reserved for: the pod, or, for those that are its group's, the group.

An entry of the pod is the group's if the group has the same one: the same name, of the same claim or template.
"""

from __future__ import annotations

from collections.abc import Mapping

from stowplan.framework.handle import GroupLister
from stowplan.model.dra import ClaimConsumer
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OWN_GROUP, PodGroup, own_group
from stowplan.plugins.dynamicresources.claims import GROUPS, MissingClaimError

UNSUPPORTED = "none of the supported fields are set"


def consumers_of(pod: Pod, groups: GroupLister) -> Mapping[str, ClaimConsumer]:
    """Return the group of a pod as the consumer of every entry of the pod that is the group's, by the entry's name.

    Raise MissingClaimError if that cannot be told.
    """
    key = own_group(pod)
    if key is None:
        return {}
    group = groups.get(key)
    if not isinstance(group, PodGroup):
        raise MissingClaimError(f"pod group state not found for pod group podgroup/{key.namespace}/{key.name}")
    consumer = ClaimConsumer(api_group=OWN_GROUP, resource=GROUPS, name=group.name, uid=group.uid)
    return {entry.name: consumer for entry in pod.spec.resource_claims if _has(group, entry)}


def _has(group: PodGroup, entry: object) -> bool:
    for own in group.spec.resource_claims:
        if own.resource_claim_name is None and own.resource_claim_template_name is None:
            raise MissingClaimError(f"PodGroup {group.key} claim {own.name}: {UNSUPPORTED}")
        if own == entry:
            return True
    return False
