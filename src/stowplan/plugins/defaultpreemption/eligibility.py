"""Whether a pod may preempt at all: it must want to, and must not be waiting for victims it already has."""

from __future__ import annotations

from stowplan.framework.contract import Attempt
from stowplan.framework.handle import PlacedPods
from stowplan.framework.verdict import Code
from stowplan.model.pod import Pod

NEVER = "not eligible due to preemptionPolicy=Never."
WAITING = "not eligible due to a terminating pod on the nominated node."


def objection(pod: Pod, attempt: Attempt, pods: PlacedPods) -> str:
    """Return why `pod` may not preempt; empty if it may."""
    if pod.spec.preemption_policy == "Never":
        return NEVER
    node_name = pod.status.nominated_node_name
    if not node_name or _is_beyond_help(attempt, node_name):
        return ""
    victims = (placed.pod for placed in pods.by_importance(node_name) if placed.pod.priority < pod.priority)
    return WAITING if any(map(is_being_preempted, victims)) else ""


def is_being_preempted(pod: Pod) -> bool:
    """Say whether a pod is going because a scheduler evicted it."""
    if not pod.is_terminating:
        return False
    target = pod.status.condition("DisruptionTarget")
    return target is not None and (target.status, target.reason) == ("True", "PreemptionByScheduler")


def _is_beyond_help(attempt: Attempt, node_name: str) -> bool:
    """Say whether waiting for the nominated node is in vain: it is gone, or no eviction would make it fit."""
    verdict = attempt.verdict
    if node_name not in verdict.names:
        return True
    rejection = verdict.pre_filter or verdict.rejection(verdict.names.index(node_name))
    return rejection is None or rejection.code is Code.UNRESOLVABLE
