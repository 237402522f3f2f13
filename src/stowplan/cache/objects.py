"""The objects of the cluster that are neither nodes nor pods, as plugins list them.

Each kind has a journal; a read is noted in the same recorder as the columns', so kept answers follow these objects too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from stowplan.model.dra import DeviceClass
from stowplan.model.namespace import Namespace
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.model.workload import PodDisruptionBudget, ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.table.journal import Journal, Reads


class Store:
    """The objects of one kind, by namespace and name."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.by_namespace: dict[str, dict[str, Any]] = {}

    def put(self, found: Any) -> None:
        self.by_namespace.setdefault(found.metadata.namespace, {})[found.metadata.name] = found
        self.journal.mark_all()

    def remove(self, namespace: str, name: str) -> None:
        if self.by_namespace.get(namespace, {}).pop(name, None) is not None:
            self.journal.mark_all()


class Objects:
    """All such objects by kind; implements `framework.handle.Listers`."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._stores: dict[str, Store] = {}

    def put(self, found: Any) -> None:
        """Add an object, or replace the one of the same kind, namespace and name."""
        self._store(found.kind).put(found)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Drop an object; nothing happens if it is not there."""
        self._store(kind).remove(namespace, name)

    def get(self, kind: str, namespace: str, name: str) -> Any | None:
        """Return one object of any kind."""
        return self._read(kind).by_namespace.get(namespace, {}).get(name)

    def list(self, kind: str, namespace: str) -> Iterable[Any]:
        """Return the objects of a kind in a namespace; cluster-scoped kinds live in namespace ""."""
        return self._read(kind).by_namespace.get(namespace, {}).values()

    def namespace(self, name: str) -> Namespace | None:
        found: Namespace | None = self.get("Namespace", "", name)
        return found

    def namespaces(self) -> Iterable[Namespace]:
        return self.list("Namespace", "")

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        found = self.namespace(name)
        return found.metadata.labels if found is not None else {}

    def services(self, namespace: str) -> Iterable[Service]:
        return self.list("Service", namespace)

    def replication_controller(self, namespace: str, name: str) -> ReplicationController | None:
        found: ReplicationController | None = self.get("ReplicationController", namespace, name)
        return found

    def replica_set(self, namespace: str, name: str) -> ReplicaSet | None:
        found: ReplicaSet | None = self.get("ReplicaSet", namespace, name)
        return found

    def stateful_set(self, namespace: str, name: str) -> StatefulSet | None:
        found: StatefulSet | None = self.get("StatefulSet", namespace, name)
        return found

    def persistent_volume_claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        found: PersistentVolumeClaim | None = self.get("PersistentVolumeClaim", namespace, name)
        return found

    def device_classes(self) -> Iterable[DeviceClass]:
        return self.list("DeviceClass", "")

    def pod_disruption_budgets(self) -> Iterable[PodDisruptionBudget]:
        return chain.from_iterable(each.values() for each in self._read("PodDisruptionBudget").by_namespace.values())

    def _store(self, kind: str) -> Store:
        return self._stores.setdefault(kind, Store())

    def _read(self, kind: str) -> Store:
        store = self._store(kind)
        self._reads.note(store.journal)
        return store
