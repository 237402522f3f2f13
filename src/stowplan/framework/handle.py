"""The ports through which plugins see what is not a node: typed listers over the other objects of the cluster.

`cache.Cache` implements them and notes every read, so that an answer that looked at, say, a Service is asked for again
when Services change. Plugins that bind or preempt are handed more: what they need beyond the listers is below them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from stowplan.config.feature_gates import FeatureGates
from stowplan.framework.waiting import WaitingPods
from stowplan.model.binding import Binding
from stowplan.model.dra import DeviceClass
from stowplan.model.namespace import Namespace
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.model.workload import PodDisruptionBudget, ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.table.shape import PodShape


class Listers(Protocol):
    """Read access to objects; a missing object is None, never an error."""

    def namespace(self, name: str) -> Namespace | None: ...

    def namespaces(self) -> Iterable[Namespace]: ...

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace; empty if it is not known."""

    def services(self, namespace: str) -> Iterable[Service]: ...

    def replication_controller(self, namespace: str, name: str) -> ReplicationController | None: ...

    def replica_set(self, namespace: str, name: str) -> ReplicaSet | None: ...

    def stateful_set(self, namespace: str, name: str) -> StatefulSet | None: ...

    def persistent_volume_claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None: ...

    def device_classes(self) -> Iterable[DeviceClass]: ...

    def pod_disruption_budgets(self) -> Iterable[PodDisruptionBudget]:
        """Return the budgets of all namespaces."""


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


class PermittingHandle(Handle, Protocol):
    """The handle of a scheduler that acts on a cluster, for plugins that hold pods in Permit."""

    @property
    def waiting_pods(self) -> WaitingPods:
        """The pods that are held; allow or reject them under your own name."""


class PlacedPod(Protocol):
    """A pod on a node, and the shape under which it is counted there."""

    @property
    def pod(self) -> Pod: ...

    @property
    def shape(self) -> PodShape: ...


class PlacedPods(Protocol):
    """The pods of the nodes, assumed ones included."""

    def by_importance(self, node_name: str) -> Sequence[PlacedPod]:
        """Return the pods of a node, the most important first."""


class NominatedPods(Protocol):
    """The pods that wait for a node on which room is being made for them."""

    def standing_before(self, pod: Pod) -> Mapping[str, Sequence[Pod]]:
        """Return, by node, the nominated pods that `pod` must leave room for."""


class ExtenderError(Exception):
    """An extender could not be asked, or gave no usable answer."""


class RunningEvictions(Protocol):
    """The preemptions that are being carried out."""

    def is_underway(self, pod: Pod) -> bool:
        """Say whether victims of `pod` are still being evicted; it is not to be tried meanwhile."""


class PreemptingHandle(Handle, Protocol):
    """The handle of a scheduler that makes room, for plugins that preempt."""

    @property
    def pods(self) -> PlacedPods: ...

    @property
    def nominations(self) -> NominatedPods: ...

    @property
    def evictions(self) -> RunningEvictions: ...

    def asks_before_preempting(self, pod: Pod) -> bool:
        """Say whether somebody outside has to agree before room is made for `pod`."""

    def draw(self, below: int) -> int:
        """Return a random number from 0 up to, but not including, `below`."""
