"""Which pods of a set go first when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stowplan.embedded.following.pods import DELETION_COST, KnownPod

_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}

_Order = tuple[bool, int, bool, int, int, float, int, float]


def choose(pods: Iterable[KnownPod], count: int, related: Iterable[KnownPod]) -> list[KnownPod]:
    """Choose `count` pods to delete; `related` are the pods of the sets that share this one's owner.

    First go pods without a node, then pending before running, unready before ready, cheap before dear, from nodes
    with many related pods, and younger before older ones.
    """
    crowds = Counter(pod.node for pod in related if pod.is_active and pod.node)
    return sorted(pods, key=lambda pod: _order(pod, crowds[pod.node]))[:count]


def _order(pod: KnownPod, crowd: int) -> _Order:
    return (
        pod.node != "",
        _PHASE_ORDER.get(pod.phase, 0),
        pod.is_ready,
        _cost(pod),
        -crowd,
        -pod.ready_since,
        -pod.restarts,
        -pod.created,
    )


def _cost(pod: KnownPod) -> int:
    try:
        return int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0
