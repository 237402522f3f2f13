"""Claims that keep a pod group from being placed: those of its pods, and those that are its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from stowplan.framework.contract import Arranged, Attempt, Errand
from stowplan.framework.pod_groups import GroupArranged, GroupAttempt
from stowplan.framework.verdict import Code, Rejection, Words
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import PodGroup
from stowplan.table.nodes import Nodes

#: Said whether or not there was anything to do.
COMPLETED: Final = "deallocation and deletion of ResourceClaims completed"
NOT_FOUND: Final = "not found"

PostFilterOfPod = Callable[[Pod, Attempt], Arranged | Rejection]


def post_filter_group(
    attempt: GroupAttempt, plugin: str, post_filter: PostFilterOfPod, *, has_placements: bool
) -> GroupArranged | Rejection:
    """Do for each pod of a group that found no node what is done for a single one, and say so in one sentence."""
    group = attempt.group
    if not isinstance(group, PodGroup) or (has_placements and group.spec.scheduling_constraints is not None):
        return Rejection(())
    if plugin not in attempt.prepared:
        return Rejection((NOT_FOUND,), Code.ERROR)
    errands: list[Errand] = []
    for pod in attempt.pods:
        verdict = attempt.verdicts.get(pod_id(pod))
        if verdict is None or plugin not in verdict.prepared:
            continue
        answer = post_filter(pod, Attempt(verdict, attempt.nodes, _nothing, verdict.prepared))
        if isinstance(answer, Arranged):
            errands.append(answer.errand)
    return GroupArranged(Rejection((COMPLETED,)), tuple(errands))


def _nothing(nodes: Nodes) -> Words:
    """Nobody supposes anything about the nodes of a claim."""
    return np.zeros(len(nodes), dtype=np.int32)
