"""A pod that waits, with what the queue has to remember about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from stowplan.model.pod import Pod, pod_id


class Place(Enum):
    """Where a pod is; it is in exactly one place. The names are those of the metric `queue_incoming_pods_total`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    GONE = "gone"


BACKING_OFF = (Place.BACKOFF, Place.ERROR_BACKOFF)
POOLED = (Place.UNSCHEDULABLE, Place.GATED)

#: A plugin of a profile: the scheduler name and the name of the plugin.
Rejector = tuple[str, str]


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod in the queue, or taken from it. Only the queue writes to it. Times are nanoseconds since the epoch."""

    pod: Pod
    #: When it came, or came back after an attempt: among pods of one priority the oldest goes first.
    queued_at_ns: int
    place: Place = Place.GONE
    attempts: int = 0
    #: When it was first fit to be tried; the time until it is placed counts from here.
    ready_at_ns: int | None = None
    unschedulable_plugins: frozenset[str] = frozenset()
    #: Plugins that only wait for something outside: once they have it, the pod need not back off.
    pending_plugins: frozenset[str] = frozenset()
    #: The plugin that keeps it from being tried at all.
    gated_by: str = ""
    #: What that plugin says.
    gate_reasons: tuple[str, ...] = ()
    #: What is wrong with that plugin, if it keeps the pod out only because it failed.
    gate_fault: str = ""
    #: Attempts that plugins refused.
    refusals: int = 0
    #: Attempts in a row that failed for another reason.
    errors: int = 0
    #: The whole second up to which it backs off; None until somebody asks.
    backoff_until: int | None = None
    #: When it was last brought back only because it had waited too long.
    flushed_at_ns: int = 0
    #: When it was last taken to be tried.
    taken_at_ns: int = 0
    #: Marks its item in the heap it is in; an older item is dead.
    ticket: int = field(default=0, repr=False)

    @property
    def id(self) -> str:
        return pod_id(self.pod)

    @property
    def was_flushed(self) -> bool:
        """Whether its last attempt came about only because it had waited too long."""
        return self.flushed_at_ns > self.queued_at_ns

    @property
    def rejected_by(self) -> frozenset[str]:
        """The plugins that refused it in its last attempt, or gate it."""
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def rejectors(self) -> list[Rejector]:
        """The plugins whose awaited changes may bring it back. A gated pod hears only of what its gate awaits."""
        names = (self.gated_by,) if self.gated_by else self.rejected_by
        return [(self.pod.spec.scheduler_name, name) for name in names]
