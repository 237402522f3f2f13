"""The ports through which plugins see what is not a node: typed listers over the other objects of the cluster.

`cache.Cache` implements them and notes every read, so that an answer that looked at, say, a Service is asked for again
when Services change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from stowplan.model.binding import Binding
from stowplan.model.namespace import Namespace
from stowplan.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet


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


class Binder(Protocol):
    """Write access to the one thing a scheduler is for."""

    async def bind(self, binding: Binding) -> None:
        """Post a binding to the cluster; raise if the cluster does not take it."""


class Handle(Protocol):
    """What a plugin may ask its scheduler for."""

    @property
    def listers(self) -> Listers: ...


class BindingHandle(Handle, Protocol):
    """The handle of a scheduler that acts on a cluster, for plugins that bind."""

    @property
    def binder(self) -> Binder: ...
