"""The parts that the flow moves pods between. `app` puts them together; the flow itself owns none of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stowplan.cache.cache import Cache
from stowplan.engine.event_handlers import Intake
from stowplan.engine.extended import Extended
from stowplan.engine.news import News
from stowplan.engine.ports import Listener, Report, Writer
from stowplan.engine.scheduling_cycle import Field
from stowplan.engine.statuses import Statuses
from stowplan.engine.timeouts import Patience
from stowplan.framework.profile import Profile
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.queue.queue import SchedulingQueue

#: Told an extension point that waits for the cluster, how it ended, for which profile, and the nanoseconds it took.
PointNote = Callable[[str, str, str, int], None]


def _unnoted(point: str, status: str, profile: str, took_ns: int) -> None:
    """Note nothing."""


def _nobody(report: Report) -> None:
    """Listen to nothing."""


@dataclass(slots=True)
class Parts:
    """Owners of state, ports, and the profiles in force (replaced as a whole on reload, between two cycles)."""

    cache: Cache
    queue: SchedulingQueue
    intake: Intake
    field: Field
    profiles: Mapping[str, Profile]
    writer: Writer
    now_ns: Callable[[], int]
    waiting: WaitingPods = dataclasses.field(default_factory=WaitingPods)
    patience: Patience = dataclasses.field(default_factory=Patience)
    #: Told when changes were applied.
    news: News = dataclasses.field(default_factory=News)
    tell: Listener = _nobody
    note_point: PointNote = _unnoted
    #: Whether the cluster is told where a pod is about to go if that takes a while (NominatedNodeNameForExpectation).
    announces_nodes: bool = True
    #: The extenders, if any have a say.
    extended: Extended | None = None
    statuses: Statuses = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        # Whoever listens may be put there later.
        self.statuses = Statuses(self.writer, lambda report: self.tell(report), self.patience)
