"""What the flow needs of the world outside: a cluster to write to, a clock, and somebody who listens.

`kube/` writes to an API server, the embedded cluster to itself, tests to a list. Nothing here is awaited inside a
scheduling cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from stowplan.framework.handle import Measures, ObjectWriter, Unmeasured
from stowplan.framework.verdict import Rejection
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OwnGroup, PodGroup


class Note(msgspec.Struct, frozen=True):
    """An event to be recorded about a pod, in upstream's words."""

    pod: Pod
    type: str
    reason: str
    action: str
    text: str
    related: Pod | OwnGroup | None = None
    #: Whose doing it is, if not that of the pod's own scheduler.
    scheduler_name: str = ""


class Writer(Protocol):
    """Write access to pods. Every method raises if the cluster does not take the write."""

    async def bind(self, binding: Binding) -> None:
        """Post a binding."""

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        """Patch a pod's status: a condition (None: leave as it is) and the nominated node ("" clears it)."""

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        """Set the condition that says why, then delete the pod; return whether there was anybody to evict."""

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        """Patch the status of a pod group: a condition."""

    def record(self, note: Note) -> None:
        """Record an event; best effort, never waits."""

    @property
    def object_writer(self) -> ObjectWriter:
        """Write access to what is no pod, for plugins."""


class Placed(msgspec.Struct, frozen=True):
    """The pod is counted on its node and goes on to be bound."""

    pod: Pod
    node_name: str
    taken_at_ns: int
    #: How many nodes there were to choose from; 0 if it was placed together with others.
    feasible_count: int = 0
    #: The score of the node; None where scores played no part.
    total: int | None = None


class Bound(msgspec.Struct, frozen=True):
    """The cluster has taken the binding."""

    pod: Pod
    node_name: str
    attempts: int
    taken_at_ns: int
    #: When it could first be tried.
    ready_at_ns: int
    bound_at_ns: int
    #: Whether only its having waited too long brought it back.
    was_flushed: bool


class GivenBack(msgspec.Struct, frozen=True):
    """The pod went back to the queue. `plugins` refused it; none means that the attempt failed for another reason."""

    pod: Pod
    message: str
    plugins: frozenset[str]
    nominated_node_name: str
    #: Whether the attempt failed for a fault, as the pod's condition says too.
    is_error: bool
    taken_at_ns: int
    #: How many there have been of it, with this one.
    attempts: int = 0


class Dropped(msgspec.Struct, frozen=True):
    """The pod needs no node any more."""

    pod: Pod
    why: str


class Permitted(msgspec.Struct, frozen=True):
    """A pod that Permit held may go on, or may not."""

    pod: Pod
    rejection: Rejection | None
    held_at_ns: int


class GangTried(msgspec.Struct, frozen=True):
    """A gang was tried: its members go on to be bound, or all of them went back."""

    profile: str
    result: Literal["scheduled", "unschedulable", "waiting_on_preemption", "error"]
    taken_at_ns: int


class VictimsChosen(msgspec.Struct, frozen=True):
    """Pods were chosen to be evicted to make room for a pod, or for a group of pods; some may be going already."""

    pod: Pod | OwnGroup
    victims: int
    pdb_violations: int = 0
    #: How many of the units that go are groups, or pods of groups; known where room is made for a group.
    disruptions: int = 0
    #: Who they are, in the order of eviction.
    pods: tuple[Pod, ...] = ()
    #: Where room is made; "cluster" for a group.
    node_name: str = ""


class Evicted(msgspec.Struct, frozen=True):
    """Victims were evicted to make room for a pod, or for a group of pods, or that failed."""

    pod: Pod | OwnGroup
    victims: int
    started_at_ns: int
    is_error: bool = False


class PlacementsTried(msgspec.Struct, frozen=True):
    """A pod group was tried in placements: of each that was gone through, whether it takes enough, and the seconds."""

    profile: str
    #: How many there were; fewer may have been gone through if an error ended it.
    generated: int
    evaluated: tuple[tuple[bool, float], ...]


class Trouble(msgspec.Struct, frozen=True):
    """Something went wrong that decides nothing, but that somebody should read."""

    text: str


class ExtenderSaid(msgspec.Struct, frozen=True):
    """An extender refused nodes to a pod, or failed when it was asked about it."""

    pod: Pod
    extender: str
    verb: str
    text: str
    is_error: bool = False
    #: Whether the attempt went on all the same.
    is_ignored: bool = False


Report = (
    Placed
    | Bound
    | GivenBack
    | Dropped
    | Permitted
    | GangTried
    | VictimsChosen
    | Evicted
    | PlacementsTried
    | Trouble
    | ExtenderSaid
)


#: Hears what became of pods; metrics, logs and the decision log are listeners.
Listener = Callable[[Report], None]
#: Told an extension point that waits for the cluster, how it ended, for which profile, and the nanoseconds it took.
PointNote = Callable[[str, str, str, int], None]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long the flow waits for plugins and for the cluster before it goes on without them, in seconds.

    What is awaited is given up; what answers at once cannot be, so its answer is not taken.
    """

    #: As long as a Permit plugin may hold a pod: volumes and devices take their time.
    pre_bind_seconds: float = 900.0
    bind_seconds: float = 60.0
    post_bind_seconds: float = 60.0
    #: For a status update or an eviction.
    write_seconds: float = 30.0
    #: How long a plugin may take to answer inside the scheduling cycle without being told of.
    slow_seconds: float = 1.0
    #: How long it may take until its answer does not count any more: the pod fails, and the plugin is named.
    late_seconds: float = 5.0


@dataclass(slots=True)
class Environment:
    """The world outside of one scheduler. Whoever listens may be put there later."""

    writer: Writer
    now_ns: Callable[[], int]
    timeouts: Timeouts = field(default_factory=Timeouts)
    tell: Listener = lambda report: None
    note_point: PointNote = lambda point, status, profile, took_ns: None
    #: Where the flow counts what it does with groups, by the names of metrics.
    measures: Measures = field(default_factory=Unmeasured)
