"""One step of the rolling update of a DaemonSet: which pods go, and which nodes get a second one first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stowplan.embedded.controllers.amounts import scaled
from stowplan.embedded.controllers.history import REVISION_LABEL
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.objects.resource import Object


@dataclass(frozen=True, slots=True)
class Crew:
    """The pods of one set on one node."""

    node: str
    pods: Sequence[KnownPod]


@dataclass(slots=True)
class Step:
    """What to do now."""

    deleted: list[KnownPod] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)


def next_step(crews: Sequence[Crew], revision: str, rolling: Object, is_available: Callable[[KnownPod], bool]) -> Step:
    """Decide a step; `rolling` is the `rollingUpdate` of the strategy."""
    surge = scaled(rolling.get("maxSurge", 0), len(crews), rounds_up=True)
    if surge:
        return _with_surge(crews, revision, surge, is_available)
    missing = scaled(rolling.get("maxUnavailable", 1), len(crews), rounds_up=True)
    return _in_place(crews, revision, max(1, missing), is_available)


def _in_place(crews: Sequence[Crew], revision: str, allowed: int, is_available: Callable[[KnownPod], bool]) -> Step:
    """Delete old pods: those that do not serve at once, others as far as nodes may go without."""
    step, candidates = Step(), []
    for crew in crews:
        serving = [pod for pod in crew.pods if is_available(pod)]
        allowed -= not serving
        old = [pod for pod in crew.pods if not _is_new(pod, revision) and not pod.is_terminating]
        step.deleted += [pod for pod in old if pod not in serving]
        candidates += [pod for pod in old if pod in serving]
    step.deleted += candidates[: max(0, allowed)]
    return step


def _with_surge(crews: Sequence[Crew], revision: str, surge: int, is_available: Callable[[KnownPod], bool]) -> Step:
    """Give some nodes a new pod beside the old one, and delete the old one when the new one serves."""
    step, candidates = Step(), []
    for crew in crews:
        old = [pod for pod in crew.pods if not _is_new(pod, revision) and not pod.is_terminating]
        new = [pod for pod in crew.pods if _is_new(pod, revision) and not pod.is_terminating]
        if old and new:
            surge -= 1
            if is_available(new[0]):
                step.deleted += old
        elif old:
            candidates.append(crew.node)
            # A pod that serves nobody is not waited for.
            step.deleted += [pod for pod in old if not is_available(pod)]
    step.doubled = candidates[: max(0, surge)]
    return step


def spokesman(pods: Sequence[KnownPod], revision: str) -> KnownPod:
    """The pod that is counted for a node with several: the current one if it is ready, else the oldest."""
    return min(pods, key=lambda pod: (not (_is_new(pod, revision) and pod.is_ready), pod.created, pod.name))


def _is_new(pod: KnownPod, revision: str) -> bool:
    return pod.labels.get(REVISION_LABEL) == revision
