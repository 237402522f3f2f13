"""The one pair that counts a pod on a node and takes it off again, for single pods, gangs and the library alike.

Whoever places a pod either sees it bound or undoes it: `scheduler.py`, `gang.py`, and `app/cluster.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stowplan.cache.cache import Cache, CachedPod
from stowplan.framework.contract import Errand
from stowplan.framework.placing import run_reserve, run_unreserve
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.table.shape import PodShape


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a placed pod: where it stood (None if it is gone), what failed, and what is left to be done."""

    placed: CachedPod | None
    problems: Sequence[str]
    errands: Sequence[Errand]


def place(cache: Cache, profile: Profile, pod: Pod, node_name: str, shape: PodShape | None = None) -> Rejection | None:
    """Count a pod on its node at once, and let the plugins reserve what it needs; if one rejects it, undo it."""
    cache.assume(pod, node_name, shape)
    return run_reserve(profile, pod, node_name)


def undo(cache: Cache, profile: Profile, pod: Pod, node_name: str) -> Undone:
    """Let the plugins give back what they took, and free the node unless the cluster has bound the pod meanwhile."""
    unreserved = run_unreserve(profile, pod, node_name)
    placed = cache.placed(pod)
    if placed is not None and placed.is_assumed:
        cache.forget(pod)
    return Undone(placed, unreserved.problems, unreserved.errands)
