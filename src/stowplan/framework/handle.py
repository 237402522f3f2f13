"""The ports through which plugins see what is not a node: typed listers over the other objects of the cluster.

`cache.objects` implements them and notes every read, so that an answer that looked at, say, a Service is asked for
again when Services change. Plugins that bind or preempt are handed more: what they need beyond the listers is below
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from stowplan.config.feature_gates import FeatureGates
from stowplan.model.kinds import Binding
from stowplan.model.meta import ApiObject
from stowplan.model.pod import Pod
from stowplan.model.pod_group import AnyPodGroup, CompositePodGroup, GroupKey, OwnGroup
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape

T = TypeVar("T", bound=ApiObject)


class Listers(Protocol):
    """Read access to objects; a missing object is None, never an error."""

    def get(self, kind: type[T], namespace: str, name: str) -> T | None:
        """Return one object; kinds without namespaces live in namespace ""."""

    def list(self, kind: type[T], namespace: str | None = None) -> Iterable[T]:
        """Return the objects of a kind, in one namespace or in all of them."""

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace; empty if it is not known."""

    def version(self, kind: str) -> int:
        """Return a number that grows whenever an object of a kind changes, for what a plugin derives from them."""

    def changed(self, kind: str, since: int) -> Sequence[tuple[str, str]] | None:
        """Return namespace and name of what changed after a version, repeats included; None if it is too long ago."""


class RecentChanges:
    """The objects of one kind that came, changed or went since `take` was called last."""

    def __init__(self, listers: Listers, kind: str) -> None:
        self._listers = listers
        self._kind = kind
        self._seen: int | None = None

    def take(self) -> Collection[tuple[str, str]] | None:
        """Return namespace and name of what changed, each once; None if it may be anything, as the first time."""
        version, seen = self._listers.version(self._kind), self._seen
        if version == seen:
            return ()
        self._seen = version
        changed = self._listers.changed(self._kind, seen) if seen is not None else None
        return dict.fromkeys(changed) if changed is not None else None


class Binder(Protocol):
    """Write access to the one thing a scheduler is for."""

    async def bind(self, binding: Binding) -> None:
        """Post a binding to the cluster; raise if the cluster does not take it."""


class Handle(Protocol):
    """What a plugin may ask its scheduler for."""

    @property
    def listers(self) -> Listers: ...

    @property
    def feature_gates(self) -> FeatureGates:
        """Which feature gates are on; they do not change while the scheduler runs."""


class BindingHandle(Handle, Protocol):
    """The handle of a scheduler that acts on a cluster, for plugins that bind."""

    @property
    def binder(self) -> Binder: ...


class Measures(Protocol):
    """Where plugins count their own work, by metrics of upstream's names; who is not interested drops it."""

    def count(self, name: str, *labels: str) -> None:
        """Count one more."""

    def time(self, name: str, seconds: float, *labels: str) -> None:
        """Note how long something took."""


class Unmeasured:
    """Where work is counted if nobody looks."""

    def count(self, name: str, *labels: str) -> None:
        """Forget it."""

    def time(self, name: str, seconds: float, *labels: str) -> None:
        """Forget it."""


class Assumptions(Protocol):
    """Objects other than pods, as a plugin is about to make them: listers show these until they come true.

    An assumption ends when the cluster shows another version of its object, or when it is taken back.
    """

    def assume(self, found: Any) -> None:
        """Take an object to be like this. It must be known already; its version stays the one that is known."""

    def restore(self, kind: str, namespace: str, name: str) -> None:
        """Take back an assumption; nothing happens if there is none (any more)."""


class ConflictError(Exception):
    """An object has changed since it was read: read it again and decide anew. The text is the cluster's."""


class ObjectWriter(Protocol):
    """Write access to objects other than pods. Every method raises if the cluster does not take the write."""

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        """Merge a patch (JSON merge patch) into an object, if it still is the version we know; return the new one.

        Raise ConflictError if it is another version by now. One without a version is changed whatever version it is.
        """

    async def create(self, found: Any) -> Any:
        """Create an object; return it as the cluster has it."""

    async def delete(self, found: Any) -> None:
        """Delete an object, if it is still the one we know; one that is gone already is what was wanted."""


class ChangeFeed(Protocol):
    """What the cluster tells, for those who wait for it outside of cycles."""

    async def until(self, holds: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until `holds()` after some change of the cluster; return False if it does not in time.

        What it raises is raised.
        """


class PreparingHandle(Handle, Protocol):
    """The handle of a scheduler that acts on a cluster, for plugins that change objects before a pod is bound."""

    @property
    def assumptions(self) -> Assumptions: ...

    @property
    def writes(self) -> ObjectWriter: ...

    @property
    def cluster_changes(self) -> ChangeFeed: ...

    @property
    def measures(self) -> Measures: ...

    def row_of(self, node_name: str) -> Nodes:
        """Return a node as filters are given it: one row, or none if it is not known (any more)."""

    def is_placed(self, pod: Pod) -> bool:
        """Say whether a pod still counts on its node; one that was deleted meanwhile does not."""

    def report_once(self, text: str) -> None:
        """Tell whoever runs the scheduler of something that is taken for granted; the same text is told once."""


class PlacedPod(Protocol):
    """A pod on a node, and the shape under which it is counted there."""

    @property
    def pod(self) -> Pod: ...

    @property
    def shape(self) -> PodShape: ...

    @property
    def node_name(self) -> str: ...


class PlacedPods(Protocol):
    """The pods of the nodes, assumed ones included."""

    def by_importance(self, node_name: str) -> Sequence[PlacedPod]:
        """Return the pods of a node, the most important first."""

    def all_by_importance(self, node_names: Iterable[str]) -> Sequence[Sequence[PlacedPod]]:
        """Return the pods of several nodes, by importance; those of a node are the same object until they change."""

    def pods(self) -> Iterable[PlacedPod]:
        """Return the pods of all nodes, and of nodes that are not known (any more)."""

    def placed(self, pod: Pod) -> PlacedPod | None:
        """Return where a pod is."""

    def has_node(self, name: str) -> bool:
        """Say whether a node is known."""

    def suspend(self, pod: Pod) -> None:
        """Suppose for a while that a pod is not there; whoever does so resumes it before answering."""

    def resume(self, pod: Pod) -> None:
        """Take back `suspend`."""


class ExtenderError(Exception):
    """An extender could not be asked, or gave no usable answer; who asks several fills in which, and what for."""

    extender = ""
    verb = ""


class RunningEvictions(Protocol):
    """The preemptions that are being carried out."""

    def is_underway(self, pod: Pod) -> bool:
        """Say whether victims of `pod` are still being evicted; it is not to be tried meanwhile."""

    def is_underway_for(self, key: GroupKey) -> bool:
        """Say whether victims of a pod group are still being evicted; its pods are not to be tried meanwhile."""


class GroupLister(Protocol):
    """Read access to groups and their members."""

    @property
    def cycle(self) -> int | None:
        """The number of the attempt of a tree of groups that is being made; None if none is."""

    def get(self, key: GroupKey) -> AnyPodGroup | CompositePodGroup | None: ...

    def members(self, key: GroupKey) -> Collection[Pod]:
        """Return the pods that name a group, on a node or not."""

    def scheduled(self, key: GroupKey) -> Collection[Pod]:
        """Return the pods of a group, or of all groups in it, that have a node."""

    def nodes_in_use(self) -> Collection[str]:
        """Return the nodes that pods of groups are on."""

    def tree_of(self, key: GroupKey) -> OwnGroup | None:
        """Return the root of the tree that a group is in; None if the group, or one above it, is not there."""

    def children(self, key: GroupKey) -> Sequence[OwnGroup]:
        """Return the groups in a group, the oldest first."""

    def pods_in(self, root: GroupKey) -> Collection[Pod]:
        """Return the pods of a group, or of all groups in it, on a node or not."""


class PreemptingHandle(Handle, Protocol):
    """The handle of a scheduler that makes room, for plugins that preempt."""

    @property
    def pods(self) -> PlacedPods: ...

    @property
    def evictions(self) -> RunningEvictions: ...

    @property
    def groups(self) -> GroupLister: ...

    @property
    def measures(self) -> Measures: ...

    def now_ns(self) -> int:
        """Return the time by the scheduler's clock."""

    def asks_before_preempting(self, pod: Pod) -> bool:
        """Say whether somebody outside has to agree before room is made for `pod`."""

    def draw(self, below: int) -> int:
        """Return a random number from 0 up to, but not including, `below`."""
