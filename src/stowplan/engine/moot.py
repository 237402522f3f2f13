"""Pods that are taken from the queue and need no node any more."""

from __future__ import annotations

from stowplan.engine.parts import Parts
from stowplan.engine.ports import Note
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod


def why_moot(parts: Parts, profile: Profile | None, pod: Pod) -> str:
    """Return why a pod need not be scheduled; empty if it has to be."""
    if profile is None:
        return f"no profile for schedulerName {pod.spec.scheduler_name!r}"
    if pod.is_terminating:
        text = f"skip schedule deleting pod: {pod.key}"
        parts.writer.record(Note(pod, "Warning", "FailedScheduling", "Scheduling", text))
        return "it is being deleted"
    return "it is placed already" if parts.cache.placed(pod) is not None else ""
