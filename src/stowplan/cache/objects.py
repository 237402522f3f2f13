"""The objects of the cluster that are neither nodes nor pods, as plugins list them.

Each kind has a journal; a read is noted in the same recorder as the columns', so kept answers follow these objects too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, TypeVar

from stowplan.model.kinds import Namespace
from stowplan.model.meta import ApiObject
from stowplan.table.journal import Journal, Reads
from stowplan.table.undo import UndoLog

T = TypeVar("T", bound=ApiObject)

REMEMBERED = 1 << 12


class ObjectStore:
    """The objects of one kind, by namespace and name; an assumed one stands in the place of the one it is to replace.

    `version` counts the changes; the last of them are remembered.
    """

    def __init__(self) -> None:
        self.journal = Journal()
        self.by_namespace: dict[str, dict[str, Any]] = {}
        self.version = 0
        # Namespace and name by change; the last one led to `version`.
        self._changed: list[tuple[str, str]] = []
        #: What the cluster has, where it is assumed to be another.
        self.real: dict[tuple[str, str], Any] = {}

    def put(self, found: Any) -> None:
        meta = found.metadata
        self.by_namespace.setdefault(meta.namespace, {})[meta.name] = found
        self.mark(meta.namespace, meta.name)

    def changed(self, since: int) -> list[tuple[str, str]] | None:
        """Return what changed after a version; None if that is not remembered."""
        behind = self.version - since
        if behind > len(self._changed):
            return None
        return self._changed[len(self._changed) - behind :]

    def mark(self, namespace: str, name: str) -> None:
        self.version += 1
        self.journal.mark_all()
        self._changed.append((namespace, name))
        if len(self._changed) > 2 * REMEMBERED:
            del self._changed[:REMEMBERED]


class Objects:
    """All such objects by kind; implements `framework.handle.Assumptions` too."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._stores: dict[str, ObjectStore] = {}
        #: What takes back what is supposed; None if nothing is.
        self.undo: UndoLog | None = None

    def put(self, found: Any) -> None:
        """Add an object, or replace the one of the same kind, namespace and name."""
        store, meta = self._store(found.kind), found.metadata
        real = store.real.get((meta.namespace, meta.name))
        version = meta.resource_version
        if real is not None and version and version == real.metadata.resource_version:
            # Nothing has happened to it: what is assumed of it is still to come.
            return
        self._note(store, meta.namespace, meta.name)
        store.real.pop((meta.namespace, meta.name), None)
        store.put(found)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Drop an object; nothing happens if it is not there."""
        store = self._store(kind)
        self._note(store, namespace, name, is_to_go=True)
        store.real.pop((namespace, name), None)
        if store.by_namespace.get(namespace, {}).pop(name, None) is not None:
            store.mark(namespace, name)

    def assume(self, found: Any) -> None:
        """Show an object as it is about to be, until the cluster shows another version of it."""
        store, meta = self._store(found.kind), found.metadata
        known = store.by_namespace.get(meta.namespace, {}).get(meta.name)
        if known is None:
            raise LookupError(f"{found.kind} {meta.name!r} is not known; only what there is can be assumed to change")
        self._note(store, meta.namespace, meta.name)
        store.real.setdefault((meta.namespace, meta.name), known)
        store.put(found)

    def restore(self, kind: str, namespace: str, name: str) -> None:
        """Show an object as the cluster has it again; nothing happens if nothing is assumed of it."""
        store = self._store(kind)
        if (namespace, name) in store.real:
            self._note(store, namespace, name)
            store.put(store.real.pop((namespace, name)))

    def version(self, kind: str) -> int:
        return self._read(kind).version

    def changed(self, kind: str, since: int) -> list[tuple[str, str]] | None:
        return self._read(kind).changed(since)

    def get(self, kind: type[T], namespace: str, name: str) -> T | None:
        """Return one object; kinds without namespaces live in namespace ""."""
        found: T | None = self._read(kind.__name__).by_namespace.get(namespace, {}).get(name)
        return found

    def list(self, kind: type[T], namespace: str | None = None) -> Iterable[T]:
        """Return the objects of a kind, in one namespace or in all of them."""
        by_namespace = self._read(kind.__name__).by_namespace
        if namespace is not None:
            return by_namespace.get(namespace, {}).values()
        return chain.from_iterable(each.values() for each in by_namespace.values())

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        found = self.get(Namespace, "", name)
        return found.metadata.labels if found is not None else {}

    def _note(self, store: ObjectStore, namespace: str, name: str, *, is_to_go: bool = False) -> None:
        """Note how an object, and what is assumed of it, is put back."""
        if self.undo is not None:
            self.undo.add(store.mark, namespace, name)
            self.undo.keep(store.real, (namespace, name))
            if is_to_go:
                self.undo.keep(store.by_namespace, namespace)
            else:
                self.undo.keep_within(store.by_namespace, namespace, name)

    def _store(self, kind: str) -> ObjectStore:
        store = self._stores.get(kind)
        if store is None:
            store = self._stores[kind] = ObjectStore()
        return store

    def _read(self, kind: str) -> ObjectStore:
        # Asked dozens of times for a pod with claims, so nothing is called that need not be.
        store = self._stores.get(kind)
        if store is None:
            store = self._store(kind)
        self._reads.note(store.journal)
        return store
