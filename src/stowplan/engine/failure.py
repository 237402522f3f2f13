"""What happens to a pod that found no node, or lost it: back to the queue, with a condition and an event that say why.

Upstream's words: a refusal is `Unschedulable` with the sentence of the verdict; anything else is a `SchedulerError`.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from stowplan.engine.parts import Parts
from stowplan.engine.ports import GivenBack, Note, Trouble
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import Condition
from stowplan.queue.entry import QueuedPod

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
MAX_NOTE = 1024


class Failure(msgspec.Struct, frozen=True):
    """Why a pod goes back: the sentence, who refused it, and what becomes of its nominated node."""

    message: str
    #: Plugins that refused it; none if the attempt failed for another reason.
    plugins: Collection[str] = ()
    #: Plugins that only wait for something outside.
    pending: Collection[str] = ()
    #: None leaves the nominated node as it is, "" takes it back.
    nominated_node_name: str | None = None

    @property
    def is_refusal(self) -> bool:
        return bool(self.plugins or self.pending)


def of_rejection(rejection: Rejection) -> Failure:
    """Return the failure of a pod whose chosen node fell through: one node, one refusal."""
    text = ", ".join(rejection.reasons)
    if rejection.code is Code.ERROR:
        return Failure(text, nominated_node_name="")
    message = f"0/1 nodes are available: 1 {text}."
    if rejection.code is Code.PENDING:
        return Failure(message, pending=(rejection.plugin,), nominated_node_name="")
    return Failure(message, plugins=(rejection.plugin,), nominated_node_name="")


async def give_back(parts: Parts, entry: QueuedPod, failure: Failure) -> None:
    """Put a pod back into the queue and tell the cluster why."""
    parts.queue.give_back(entry, parts.now_ns(), failure.plugins, failure.pending)
    pod = entry.pod
    nominated = failure.nominated_node_name
    if nominated is not None:
        parts.queue.nominations.put(pod, nominated)
    parts.tell(GivenBack(pod, failure.message, frozenset((*failure.plugins, *failure.pending)), nominated or ""))
    parts.writer.record(Note(pod, "Warning", "FailedScheduling", "Scheduling", _shortened(failure.message)))
    reason = UNSCHEDULABLE if failure.is_refusal else SCHEDULER_ERROR
    condition = Condition(
        type="PodScheduled",
        status="False",
        reason=reason,
        message=failure.message,
        observed_generation=pod.metadata.generation,
    )
    try:
        await parts.writer.update_status(pod, condition, nominated)
    except Exception as error:
        parts.tell(Trouble(f"pod {pod.key!r}: its status could not be updated: {error}"))


def _shortened(text: str) -> str:
    """Cut a text to what an event holds."""
    return text if len(text) <= MAX_NOTE else f"{text[: MAX_NOTE - 4]} ..."
