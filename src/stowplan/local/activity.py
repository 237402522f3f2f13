"""What a cluster is doing, at one moment: who waits and why, how full it is, what was decided last, how fast.

A listener of the flow, asked twice a second. What takes long in a large cluster, to go through all pods, is done so
seldom that it is a small part of the time; the rest is read off columns and off the last reports. `cli/up_screen.py`
draws it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from stowplan.app.inspection import Inspection
from stowplan.embedded.storage.stored import Stored
from stowplan.engine.ports import Bound, GivenBack, Placed, Report
from stowplan.local.cluster import EmbeddedCluster
from stowplan.model.pod import Pod, pod_id
from stowplan.observe.queue_state import QueueView
from stowplan.queue.entry import Place, QueuedPod
from stowplan.table.resources import FIXED, Resources

REST_FACTOR: Final = 30
SECOND_NS: Final = 1_000_000_000
#: Pods a second are counted over so many seconds.
WINDOW_SECONDS: Final = 10
#: The decisions that are told, and how many placements are remembered until they are bound.
LAST: Final = 40
MOST_PLACED: Final = 256
#: So many groups of pods are told; of a crowd, so many pods are compared.
MOST_ALIKE: Final = 40
MOST_COMPARED: Final = 10_000
MOST_RESOURCES: Final = 12


class Decision(msgspec.Struct, frozen=True):
    """What became of a pod. `text` says why there, or why nowhere; `node` is where it went, "" if nowhere."""

    pod: str
    node: str
    text: str
    at_ns: int


class AlikePods(msgspec.Struct, frozen=True):
    """Pods of one template that wait for the same reason, by the name of the one that waits longest."""

    pod: str
    pods: int
    since_ns: int
    place: str
    why: str


class Utilisation(msgspec.Struct, frozen=True):
    """What all nodes together have of a resource, and what pods request of it; cpu in millicores."""

    resource: str
    requested: int
    allocatable: int


class Pods(msgspec.Struct, frozen=True):
    """What is found by going through all pods."""

    #: How many there are of each phase, and how many that are being deleted count as `Terminating`.
    phases: dict[str, int]
    #: How many pods wait in each place of the queue.
    waiting: dict[str, int]
    #: Those who were tried, the largest number first, then those who are held back.
    alike: list[AlikePods]


class Activity(msgspec.Struct, frozen=True):
    """The cluster at one moment."""

    nodes: int
    pods: Pods
    utilisation: list[Utilisation]
    bound: int
    bound_per_second: float
    #: The latest decisions, newest first.
    last: list[Decision]
    now_ns: int
    #: Whether the scheduler of this cluster places pods; if not, others may do that without being counted here.
    schedules: bool = True


class ActivityCounter:
    """Counts along; `count` is cheap enough to be asked for twice a second."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster, self._replica = cluster, cluster.scheduler.replica
        self._inspection = Inspection(self._replica)
        self._now_ns: Callable[[], int] = self._replica.scheduler.environment.now_ns
        self._phase_at = cluster.pods.fields.index("status.phase")
        self._bound = 0
        self._placed: deque[Placed] = deque(maxlen=MOST_PLACED)
        self._last: deque[tuple[Bound | GivenBack, int]] = deque(maxlen=LAST)
        #: How many pods were bound in each of the last seconds.
        self._seconds: Counter[int] = Counter()
        self._pods, self._pods_again_ns = Pods({}, {}, []), 0
        cluster.scheduler.listen(self._hear)

    def count(self, *, is_last: bool = False) -> Activity:
        """Return what is going on; nothing of it is a moment old if it is the last word."""
        now_ns = self._now_ns()
        if is_last or now_ns >= self._pods_again_ns:
            self._pods = self._read_pods()
            took_ns = self._now_ns() - now_ns
            self._pods_again_ns = now_ns + took_ns * (REST_FACTOR + 1)
        return Activity(
            nodes=len(self._cluster.api.store.list(self._cluster.nodes)),
            pods=self._pods,
            utilisation=list(_utilisation(self._replica.scheduler.state.cache.table.resources)),
            bound=self._bound,
            bound_per_second=self._rate(now_ns),
            last=self._decisions(),
            now_ns=now_ns,
            schedules=self._replica.watching.is_scheduling,
        )

    def _hear(self, report: Report) -> None:
        if isinstance(report, Placed):
            self._placed.append(report)
        elif isinstance(report, Bound):
            now_ns = self._now_ns()
            self._bound += 1
            self._last.append((report, now_ns))
            self._seconds[now_ns // SECOND_NS] += 1
        elif isinstance(report, GivenBack):
            self._last.append((report, self._now_ns()))

    def _rate(self, now_ns: int) -> float:
        """Return pods a second, over the time in which pods were bound at all."""
        first = now_ns // SECOND_NS - WINDOW_SECONDS
        self._seconds = Counter({second: count for second, count in self._seconds.items() if second > first})
        if not self._seconds:
            return 0.0
        passed = max(1.0, min(WINDOW_SECONDS, now_ns / SECOND_NS - min(self._seconds)))
        return self._seconds.total() / passed

    def _decisions(self) -> list[Decision]:
        placed = {pod_id(one.pod): one for one in self._placed}
        found = []
        for report, at_ns in reversed(self._last):
            if isinstance(report, Bound):
                text = why_there(placed.get(pod_id(report.pod)))
                found.append(Decision(report.pod.key, report.node_name, text, at_ns))
            else:
                found.append(Decision(report.pod.key, "", _why_nowhere(report), at_ns))
        return found

    def _read_pods(self) -> Pods:
        stored: list[Stored] = self._cluster.api.store.list(self._cluster.pods)
        phases = dict(Counter(one.fields[self._phase_at] or "Pending" for one in stored))
        view = self._inspection.view()
        waiting = Counter(entry.where for entry in view.entries())
        return Pods(phases, {place.value: waiting[place] for place in Place if waiting[place]}, alike_pods(view))


def alike_pods(view: QueueView) -> list[AlikePods]:
    """Return who was refused, failed or is held back, those of one template and reason as one."""
    held = (one for one in view.entries() if one.where not in (Place.IN_FLIGHT, Place.ACTIVE, Place.PENDING))
    groups: dict[tuple[str, str], list[QueuedPod]] = {}
    for entry in islice(held, MOST_COMPARED):
        tries = view.timeline.tries(entry.pod)
        said = tries[-1].message if tries else ""
        groups.setdefault((_template(entry.pod), said), []).append(entry)
    first = sorted(groups.values(), key=_urgency)[:MOST_ALIKE]
    return [_alike(view, min(alike, key=_since), len(alike)) for alike in first]


def _urgency(alike: list[QueuedPod]) -> tuple[bool, int, int]:
    """Put those first that were tried, of them the largest number: who is held back on purpose can wait."""
    return alike[0].where in (Place.GATED, Place.INCOMPLETE), -len(alike), _since(alike[0])


def _template(pod: Pod) -> str:
    """Name what a pod was made from: its owner, or what its name begins with."""
    meta = pod.metadata
    if meta.owner_references:
        return meta.owner_references[0].uid
    return f"{meta.namespace}/{meta.generate_name or meta.name.rstrip('0123456789')}"


def _since(entry: QueuedPod) -> int:
    return entry.ready_at_ns or entry.queued_at_ns


def _alike(view: QueueView, entry: QueuedPod, pods: int) -> AlikePods:
    waiting = view.describe(entry)
    why = waiting.message
    if entry.where is Place.GATED:
        why = entry.gate_fault or "; ".join(entry.gate_reasons) or f"{entry.gated_by} holds it back"
    elif entry.where is Place.INCOMPLETE:
        why = f"waits {waiting.next_try}"
    return AlikePods(waiting.pod, pods, _since(entry), waiting.place, why)


def why_there(placed: Placed | None) -> str:
    """Say what made a node the one, as far as it was put down."""
    if placed is None or not placed.feasible_count:
        return "" if placed is None else "together with its group"
    if placed.pod.status.nominated_node_name == placed.node_name:
        return "room was made for it there"
    if placed.feasible_count == 1 or placed.total is None:
        return "the only node found"
    return f"best of {placed.feasible_count} found, score {placed.total}"


def _why_nowhere(report: GivenBack) -> str:
    if report.is_error:
        return f"failed: {report.message}"
    if report.nominated_node_name:
        return f"makes room on {report.nominated_node_name}: {report.message}"
    return report.message


def _utilisation(resources: Resources) -> Iterator[Utilisation]:
    """Read off how full the cluster is: all nodes at once, and of many resources the first ones."""
    names = dict(islice(resources.index_of.items(), len(FIXED) + MOST_RESOURCES))
    rows = list(names.values())
    # As floats, which have no end: one node may claim to have more than an integer holds together with others.
    has = resources.allocatable[rows].sum(axis=1, dtype=np.float64).tolist()
    taken = resources.requested[rows].sum(axis=1, dtype=np.float64).tolist()
    found = {name: Utilisation(name, int(taken[at]), int(has[at])) for at, name in enumerate(names)}
    first = [found.pop(name) for name in ("cpu", "memory", "pods")]
    storage = found.pop("ephemeral-storage")
    rest = [one for one in found.values() if one.allocatable]
    yield from (*first, *((storage,) if storage.requested else ()), *rest[:MOST_RESOURCES])
