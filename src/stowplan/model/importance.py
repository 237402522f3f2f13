"""Which of two pods matters more when room must be made: the higher priority, then the one that runs longer."""

from __future__ import annotations

from datetime import UTC, datetime

from stowplan.model.pod import Pod

# A pod that has not started yet starts, if at all, after all that have.
NOT_STARTED = datetime.max.replace(tzinfo=UTC)


def started(pod: Pod) -> datetime:
    """Return when a pod started; later than any other if it has not."""
    return pod.status.start_time or NOT_STARTED


def importance(pod: Pod) -> tuple[int, datetime]:
    """Return a key: the most important pod has the smallest."""
    return -pod.spec.priority, pod.status.start_time or NOT_STARTED
