"""The plugin contract: the one file a plugin author reads.

A plugin is a class that inherits the extension points it takes part in; its name is the name of the class, its
arguments are the typed parameters of its constructor (a parameter `handle: Handle` receives the scheduler's listers),
or one parameter `args` of a type of its own (`args_type`). What else there is to say of a plugin it declares itself:
see `Plugin`. One pod is decided at a time; what the cluster does meanwhile is applied between two pods, so nothing
moves while you look.

    class Cool(Score):
        columns = {"celsius": lambda node: int(node.metadata.annotations.get("celsius", 20))}

        def score(self, pod, nodes, state):
            return 100 - nodes.column("celsius")

Answers are given for all rows of `nodes` at once, as arrays. A plugin without arrays inherits `FilterNode` or
`ScoreNode` and answers for one node; it is asked only about nodes that are still feasible.

Answers are kept and reused. What you read of `nodes` is noted, so an answer is asked for again when, and only where,
that has changed. Of the pod, namespace, labels, annotations and spec are taken to decide the answer; a plugin that
reads anything else of it (its name, its uid, its status) says so in `sign`. Two rules follow: read the cluster only
through `nodes` and the handle, and look only at the rows you are given. `stowplan.testing.check_plugin` checks both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from stowplan.config.declarations import PluginArgs
from stowplan.framework import pod_groups
from stowplan.framework.attempt import Attempt
from stowplan.framework.changes import Action
from stowplan.framework.remedies import Need, RejectedRows
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OwnGroup
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

MAX_SCORE: Final = 100

#: Work that a plugin leaves behind, to be done beside the cycle; what it raises is told, and changes nothing.
Errand = Callable[[], Coroutine[Any, Any, None]]


class Skip:
    """Answer of `pre_filter` or `pre_score`: this plugin has nothing to say about this pod; do not ask it further."""


SKIP: Final = Skip()


class Indifferent(Skip):
    """Answer of `pre_score`: this plugin gives every node 0; it takes part in the total, and need not be asked."""


INDIFFERENT: Final = Indifferent()


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Answer of `pre_filter`: only nodes of these names can do; the others are not even evaluated."""

    names: frozenset[str]
    state: Any = None


@dataclass(frozen=True, slots=True)
class Reject:
    """A filter's no for the rows in `mask`. Several for one row add up their reasons, in the order given."""

    mask: Mask
    reason: str
    unresolvable: bool | Mask = False


@dataclass(frozen=True, slots=True)
class Preemption:
    """Pods to evict from a node, most important first, so that another pod fits there."""

    node_name: str
    victims: tuple[Pod, ...]
    pdb_violations: int = 0


@dataclass(frozen=True, slots=True)
class Nominated:
    """Answer of `post_filter`: this node will take the pod, once `preemption` (if any) has been carried out."""

    node_name: str
    preemption: Preemption | None = None
    #: What is said about it, after the filters' sentence.
    message: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Answer of `post_filter`: nothing helps, and a node nominated for the pod earlier is no longer meant for it."""

    rejection: Rejection


@dataclass(frozen=True, slots=True)
class Arranged:
    """Answer of `post_filter`: no node is named, but something is done beside the cycle that may help. Others go on."""

    rejection: Rejection
    errand: Errand


@dataclass(frozen=True, slots=True)
class Proposed:
    """Answer of `post_filter`: nodes on which room could be made, for others to agree to before one is taken.

    `settle` is called with the candidates that are left, and names one of them, or refuses; `fail` puts into words why
    the others could not be asked.
    """

    candidates: Sequence[Preemption]
    settle: Callable[[Sequence[Preemption]], Nominated | Rejection]
    fail: Callable[[str], Rejection] = lambda text: Rejection((text,), Code.ERROR)


def reject(mask: Mask, reason: str, *, unresolvable: bool | Mask = False) -> Reject:
    """Refuse the rows in `mask`. `unresolvable`: evicting pods there could not help (for all rows, or by row)."""
    return Reject(mask, reason, unresolvable)


def refuse(*reasons: str, unresolvable: bool = True) -> Rejection:
    """Refuse the pod as a whole, from `pre_enqueue` or `pre_filter`."""
    return Rejection(reasons, Code.UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE)


class Plugin:
    """What all plugins share: what the class declares of itself. Whoever has to know it reads it here."""

    #: Facts of your own about a node, by name: the function runs when a node changes; read as `nodes.column(name)`.
    columns: ClassVar[Mapping[str, Callable[[Node], Any]]] = {}

    #: Typed arguments that know their defaults and check themselves; the constructor is given them as `args`.
    args_type: ClassVar[type[PluginArgs] | None] = None

    #: The kinds of objects that are read through the handle's listers, beside nodes, pods and namespaces.
    lists: ClassVar[tuple[str, ...]] = ()

    #: Of a default plugin (one that is in-tree, see `stowplan.plugins`): its weight, if it scores.
    default_weight: ClassVar[int] = 0

    #: Of a default plugin: the feature gate that has to be on for profiles to have it unasked.
    feature_gate: ClassVar[str] = ""

    #: An in-tree plugin that profiles have only if they list it, as they have every plugin from elsewhere.
    is_optional: ClassVar[bool] = False

    #: Whether it is asked about pods that have their node and only wait to grow there (`Profile.is_resize`).
    judges_resizes: ClassVar[bool] = True

    #: Points where configurations may list the plugin, as they may upstream's, though it does nothing there.
    idle_points: ClassVar[frozenset[str]] = frozenset()

    #: Points in which an in-tree plugin takes part only since upstream's does (the change `NewPreFilterPoints`).
    late_points: ClassVar[frozenset[str]] = frozenset()

    #: Of a default plugin: the one before which it ran until they changed places (the change `NodeNameFirst`).
    formerly_before: ClassVar[str] = ""

    #: The name in configurations, messages and metrics: that of the class.
    name: str = "Plugin"

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__

    def sign(self, pod: Pod) -> Hashable:
        """Return what this plugin reads of a pod beyond its namespace, labels, annotations and spec."""
        return None

    def remedies(self, rejected: RejectedRows) -> Iterable[Need]:
        """Say what would make this plugin, a filter, accept nodes that it rejected; `explain` tells and checks it.

        Rows for which nothing is named are told with the reason that `filter` gave.
        """
        return ()


class PreEnqueue(Plugin):
    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        """Called before a pod enters the active queue. A rejection keeps it out until an event this plugin awaits."""


class QueueSort(Plugin):
    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        """Return a key; the pod with the smallest is tried first. Exactly one plugin sorts the queue."""

    def group_sort_key(self, group: OwnGroup, pods: Sequence[Pod], queued_at: float) -> Any:
        """Return the key of a pod group that waits as one, with these pods; by default that of the first pod."""
        return self.sort_key(pods[0], queued_at)


@dataclass(frozen=True, slots=True)
class Awaited:
    """Changes that may help a pod: these actions on that resource (names of both in `framework.changes`).

    `hint(pod, old, new)` says whether one such change may help this pod; without it each may. A hint that raises is
    taken to say yes. `pre_hint(old, new)` is asked once for a change, before any hint, if the feature gate
    SchedulerPreQueueingHints is on: it returns a test for the pods that the change may concern at all, None for all.
    """

    resource: str
    actions: Action
    hint: Callable[[Pod, Any, Any], bool] | None = None
    pre_hint: Callable[[Any, Any], Callable[[Pod], bool] | None] | None = None


class Requeue(Plugin):
    @abstractmethod
    def events(self) -> tuple[Awaited, ...]:
        """Return the changes that may make room for a pod this plugin rejected. Asked when the scheduler starts.

        A rejected pod is not tried again before one of them, except that every pod is tried now and then. A plugin that
        is not a `Requeue` is taken to await any change of pods, nodes, volumes, claims, their classes, and what it
        `lists`: nearly always right, and wasteful.
        """


class PreFilter(Plugin):
    @abstractmethod
    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        """Called once per pod, with all nodes, before any filter.

        Return a state of your own for `filter`, `SKIP` when there is nothing to filter, `Narrowed` to name the only
        possible nodes, or `refuse(...)` to end the attempt.
        """


class Filter(Plugin):
    #: Whether the answer for a row depends on that row and the pod alone; whether it depends on the pods of any row.
    looks_at_rows_alone: ClassVar[bool] = False
    looks_at_pods: ClassVar[bool] = True

    @abstractmethod
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        """Yield `reject(mask, reason)` for rows that cannot take the pod. `state` is what your `pre_filter` returned.

        `nodes` may be a few rows, or rows as they would be after preemption: do not assume you see the cluster.
        """


class PostFilter(Plugin):
    @abstractmethod
    def post_filter(self, pod: Pod, attempt: Attempt) -> Nominated | Proposed | Withdrawn | Arranged | Rejection:
        """Called when no node can take the pod, to find a way to make room. Decide only; others carry it out.

        The first plugin that names a node ends the round, and so does a rejection that is unresolvable or an error.
        """


class PreScore(Plugin):
    @abstractmethod
    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        """Called once per pod, with all nodes, when two or more are feasible (`nodes.feasible` says which).

        Return a state for `score`, `SKIP` to leave this plugin out of the total, or `INDIFFERENT` if all nodes score 0.
        """


class Score(Plugin):
    @abstractmethod
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        """Return one int64 per row, larger is better: 0 to 100, or anything that `normalize` brings there.

        Rows that are not feasible may be among `nodes`; what you return for them is ignored.
        """


class Normalize(Score):
    @abstractmethod
    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        """Bring scores to 0..100, row by row, knowing the lowest and highest score of a feasible node."""


class FilterNode(Plugin):
    @abstractmethod
    def filter_node(self, pod: Pod, node: Any, state: Any) -> str | Rejection | None:
        """Return None if the node can take the pod, else the reason (or `refuse(...)`). `node` is a `NodeRow`."""


class ScoreNode(Plugin):
    @abstractmethod
    def score_node(self, pod: Pod, node: Any, state: Any) -> int:
        """Return a score from 0 to 100, larger is better. `node` is a `NodeRow`."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Answer of `permit`: hold the pod until somebody allows or rejects it (`handle.waiting_pods`), at most so long."""

    timeout_seconds: float


class Reserve(Plugin):
    @abstractmethod
    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        """Called when a node is chosen and the pod counted there. Take what the pod needs, or refuse."""

    @abstractmethod
    def unreserve(self, pod: Pod, node_name: str) -> Errand | None:
        """Take back `reserve`, whatever came of it: called for every plugin, in reverse order, when the pod fails.

        Must not fail, and must do no harm if `reserve` was not called. What the cluster has to be told is returned.
        """


class Permit(Plugin):
    @abstractmethod
    def permit(self, pod: Pod, node_name: str) -> Rejection | Wait | None:
        """Called last in the scheduling cycle: let the pod be bound (None), refuse it, or hold it for a while."""


class PreBind(Plugin):
    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Rejection | Skip | None:
        """Say beforehand that there is nothing to do for this pod (`SKIP`); must not change anything."""
        return None

    @abstractmethod
    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        """Do what must be done before the pod is bound, such as attaching volumes. Other pods go on meanwhile."""


class Bind(Plugin):
    @abstractmethod
    async def bind(self, pod: Pod, node_name: str) -> Rejection | Skip | None:
        """Bind the pod and return None; `SKIP` hands over to the next bind plugin."""


class PostBind(Plugin):
    @abstractmethod
    async def post_bind(self, pod: Pod, node_name: str) -> None:
        """Called when the pod is bound; for tidying up. Nothing depends on it."""


class Undoable(Plugin):
    """Keeps state of its own from pod to pod, beside what `nodes`, listers and `reserve` are about."""

    @abstractmethod
    def save_state(self) -> Any:
        """Called before something is supposed (`Cluster.suppose`): return a copy of that state."""

    @abstractmethod
    def restore_state(self, saved: Any) -> None:
        """Called when that is over, after `unreserve` for every pod placed meanwhile: be as you were then."""


class PodGroupPostFilter(Plugin):
    @abstractmethod
    async def pod_group_post_filter(self, attempt: pod_groups.GroupAttempt) -> pod_groups.RoomForGroup:
        """Called when a pod group found no place, to make room for all of it; await nothing but the attempt's trial."""


class PlacementGenerate(Plugin):
    @abstractmethod
    def placements(self, group: OwnGroup, nodes: Nodes, within: Mask | None) -> pod_groups.Placements:
        """Return the sets of nodes that a pod group may go to as a whole, among the rows `within` (None: all)."""


class PlacementFeasible(Plugin):
    @abstractmethod
    def placement_feasible(self, group: OwnGroup, progress: pod_groups.GroupProgress) -> pod_groups.Feasibility:
        """Called before the first pod of a group and after each: is it enough (None), not yet, or never?"""


class PlacementScore(Plugin):
    @abstractmethod
    def score_placements(self, group: OwnGroup, nodes: Nodes, found: Sequence[pod_groups.PlacedIn]) -> Sequence[int]:
        """Return a score from 0 to 100 for each placement in which the group fits; `nodes` are without its pods."""


#: Extension points and the classes a plugin inherits to take part in them.
POINTS: Final[Mapping[str, tuple[type[Plugin], ...]]] = {
    "pre_enqueue": (PreEnqueue,),
    "queue_sort": (QueueSort,),
    "pre_filter": (PreFilter,),
    "filter": (Filter, FilterNode),
    "post_filter": (PostFilter,),
    "pod_group_post_filter": (PodGroupPostFilter,),
    "pre_score": (PreScore,),
    "score": (Score, ScoreNode),
    "reserve": (Reserve,),
    "permit": (Permit,),
    "pre_bind": (PreBind,),
    "bind": (Bind,),
    "post_bind": (PostBind,),
    "placement_generate": (PlacementGenerate,),
    "placement_score": (PlacementScore,),
}
