"""The state of the cluster: versioned objects by resource, and the changes that led there.

One global version counts changes. With a journal (`persistence`) a change is on disk before it is acknowledged.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage import conversion, keyed_lists, stored
from stowplan.embedded.storage.changes import KEPT_CHANGES, ChangeLog, Feed
from stowplan.embedded.storage.collection import Collection
from stowplan.embedded.storage.persistence import Database
from stowplan.embedded.storage.stored import ADDED, DELETED, MODIFIED, Stored, StoredChange

__all__ = ["Feed", "Store", "Stored", "StoredChange", "renumbered"]

#: Of so many resources that are served no longer the changes can still be followed to their end.
_RETIRED: Final = 8

_log = logging.getLogger(__name__)


class Store:
    """Owns every object. Only `write` and `remove` change it; nothing waits."""

    def __init__(self, journal: Database | None = None, kept_changes: int = KEPT_CHANGES) -> None:
        self._journal = journal
        self._kept_changes = kept_changes
        self._collections: dict[str, Collection] = {}
        self._retired: dict[str, None] = {}
        self.version = max(1, journal.version()) if journal else 1
        self._first_version = self.version

    def get(self, resource: Resource, namespace: str, name: str) -> Stored | None:
        """Find an object; the namespace of a cluster-scoped one is ""."""
        # Half a dozen times for every new object.
        collection = self._collections.get(resource.storage)
        return (self.collection(resource) if collection is None else collection).get(namespace, name)

    def list(self, resource: Resource, namespace: str | None = None) -> list[Stored]:
        """Every object of a resource, or of one namespace, in no particular order."""
        collection = self._collections.get(resource.storage)
        return (self.collection(resource) if collection is None else collection).all(namespace)

    def write(self, resource: Resource, obj: Object) -> Stored:
        """Create or replace an object; its metadata gets the new resource version."""
        collection = self.collection(resource)
        obj["metadata"]["resourceVersion"] = str(self.version + 1)
        new = stored.keep(conversion.kept_as(resource), conversion.to_keep(resource, obj))
        if self._journal is not None:
            self._journal.put(resource.storage, new)
        before = collection.get(new.namespace, new.name)
        self.version = new.version
        collection.put(new)
        collection.log.append(StoredChange(ADDED if before is None else MODIFIED, new, before))
        return new

    def remove(self, resource: Resource, namespace: str, name: str) -> Stored:
        """Remove an object that is there; what is returned has the version of the removal."""
        storage, collection = resource.storage, self.collection(resource)
        before = collection.get(namespace, name)
        if before is None:
            raise KeyError(f"{resource.qualified} {namespace}/{name} is not in the store")
        gone = renumbered(before, self.version + 1)
        if self._journal is not None:
            self._journal.drop(storage, gone)
        self.version = gone.version
        collection.take(before)
        collection.log.append(StoredChange(DELETED, gone, before))
        return gone

    def feed(self, resource: Resource, since: int, namespace: str | None = None) -> Feed:
        """Follow the changes after a version. Raise StatusError 410 if the log does not reach back that far."""
        log = self.collection(resource).log
        return Feed(log, log.position_after(since), namespace)

    def retire(self, resource: Resource) -> None:
        """Take note that a resource is served no longer, and forget the changes of one that has not been for long."""
        self._retired.pop(resource.storage, None)
        self._retired[resource.storage] = None
        if len(self._retired) > _RETIRED:
            oldest = next(iter(self._retired))
            del self._retired[oldest]
            collection = self._collections.get(oldest)
            # It may have been defined anew.
            if collection is not None and not collection.count():
                collection.log.forget()

    def collection(self, resource: Resource) -> Collection:
        storage = resource.storage
        collection = self._collections.get(storage)
        if collection is None:
            collection = self._collections[storage] = self._open(storage, resource)
        return collection

    def _open(self, storage: str, resource: Resource) -> Collection:
        # Nothing in this collection has changed since the process began, whatever happened on others.
        log = ChangeLog(self._first_version, self._kept_changes)
        objects = self._journal.load(storage) if self._journal else ()
        kept_as = conversion.kept_as(resource)
        return Collection(log, (stored.keep(kept_as, _mended(resource, obj)) for obj in objects))


def _mended(resource: Resource, obj: Object) -> Object:
    """An object that was kept, without what would not be let in today."""
    if dropped := keyed_lists.drop_keyless(resource, obj):
        meta = obj["metadata"]
        where = f"{resource.qualified} {meta.get('namespace', '')}/{meta['name']}"
        _log.warning("%s: what was kept without its key is left out: %s", where, ", ".join(dropped))
    return obj


def renumbered(old: Stored, version: int) -> Stored:
    """The same object under a new version."""
    before, after = (f'"resourceVersion":"{each}"'.encode() for each in (old.version, version))
    if old.body.count(before) == 1:
        # Large objects take long to decode, and no other part of this one says the same.
        return msgspec.structs.replace(old, version=version, body=old.body.replace(before, after))
    obj = old.object
    obj["metadata"]["resourceVersion"] = str(version)
    return stored.keep(old.resource, obj)
