"""Garbage collection by owner references: dependents go with their owners, before them, or are let go.

Only objects that have owners, or are being deleted with their dependents in mind, are remembered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.informers.metadata import ObjectKey, is_terminating, remove_finalizer, remove_owner
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.stored import Stored
from stowplan.model.meta import OwnerReference, Part

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
#: How often to look whether custom resources came or went.
_CATALOGUE_SECONDS = 1.0
#: An owner that cannot be found may have been written a moment ago by somebody who is not done yet.
_SECOND_LOOK_SECONDS = 0.2


class Dependent(Extract, frozen=True, gc=False):
    """The extract of an object that has owners, or waits for its dependents."""

    resource: str
    uid: str
    owners: tuple[OwnerReference, ...]
    waits_for: str

    @property
    def key(self) -> ObjectKey:
        """Name the object among those of all resources."""
        return (self.resource, f"{self.namespace}/{self.name}")


class GarbageCollector(Controller):
    """Follows every resource that can be deleted; custom ones as they come."""

    def __init__(self, context: ControllerContext) -> None:
        # The keys of its queue name objects of all resources: see `_locate`.
        super().__init__(context, "garbage-collector-controller", context.pods.resource)
        self._resources: dict[str, Resource] = {}
        #: What follows each resource.
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._known: dict[ObjectKey, Dependent] = {}
        self._by_owner = Index[Dependent](_owner_uids)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow_catalogue(), *super().work()]

    async def _follow_catalogue(self) -> None:
        """Follow what the catalogue has, now and later."""
        try:
            while True:
                self._follow_new()
                await asyncio.sleep(_CATALOGUE_SECONDS)
        finally:
            for task in self._tasks.values():
                task.cancel()

    def _follow_new(self) -> None:
        served: dict[str, Resource] = {}
        for resource in self._api.catalogue.all():
            # Several versions show the same objects; events belong to nobody.
            if "delete" in resource.verbs and resource.plural != "events":
                served.setdefault(resource.qualified, resource)
        for qualified in self._tasks.keys() - served.keys():
            self._tasks.pop(qualified).cancel()
        for qualified, resource in served.items():
            self._resources[qualified] = resource
            if qualified not in self._tasks:
                informer = SharedInformer(self._api, resource, _read)
                informer.add_event_handler(self._on_change)
                self._tasks[qualified] = asyncio.create_task(self._run(informer))

    async def _run(self, informer: SharedInformer[Dependent]) -> None:
        """Follow one resource; the deletion of any object, owner or not, concerns its dependents."""
        feed = self._api.watch(informer.resource)
        informer.catch_up()
        while True:
            await feed.wait()
            try:
                gone = [change.stored.uid for change in feed.drain() if change.kind == "DELETED"]
            except StatusError:
                # Too much happened at once: look at everything that has an owner.
                feed = self._api.watch(informer.resource)
                gone = list(dict.fromkeys(uid for known in self._known.values() for uid in _owner_uids(known)))
            informer.catch_up()
            for uid in gone:
                self._enqueue_all(self._by_owner.find(uid))

    def _locate(self, key: ObjectKey) -> tuple[Resource, str, str]:
        namespace, _, name = key[1].partition("/")
        return self._resources[key[0]], namespace, name

    def reconcile(self, key: ObjectKey) -> None:
        """Delete an object whose owners are gone, or finish one that waits for its dependents."""
        known = self._known.get(key)
        resource = self._resources.get(key[0])
        if known is None or resource is None:
            return
        stored = self._api.store.get(resource, known.namespace, known.name)
        if stored is None or stored.uid != known.uid:
            return
        obj = stored.object
        if known.waits_for == ORPHAN:
            self._let_dependents_go(known.uid)
            self._remove_finalizer(resource, obj, ORPHAN)
        elif known.waits_for == FOREGROUND:
            # Delete the dependents; when none is left that blocks, let the owner go.
            uid, is_blocked = obj["metadata"]["uid"], False
            for dependent in self._by_owner.find(uid):
                is_blocked |= any(owner.uid == uid and owner.block_owner_deletion for owner in dependent.owners)
                self._queue.add(dependent.key)
            if not is_blocked:
                self._remove_finalizer(resource, obj, FOREGROUND)
        elif known.owners and not is_terminating(obj):
            self._collect(resource, obj)

    def _collect(self, resource: Resource, obj: Object) -> None:
        """Delete an object that no owner is left of, or whose last owner waits for it; drop references to the gone."""
        references = obj["metadata"].get("ownerReferences") or []
        owners = [(reference, self._owner_of(obj, reference)) for reference in references]
        found = [(reference, _waits_for_dependents(owner)) for reference, owner in owners if owner is not None]
        solid = [reference for reference, is_waiting in found if not is_waiting]
        if solid:
            if len(solid) < len(references):
                obj["metadata"]["ownerReferences"] = solid
                self._update(resource, obj)
            return
        meta = obj["metadata"]
        dependents = self._by_owner.find(meta["uid"])
        # Owners that are left wait for their dependents.
        policy = "Foreground" if found and dependents else "Background"
        if "finalizers" in meta and not found:
            policy = _asked_policy(obj)
        if policy == "Foreground" and any(dependent.waits_for == FOREGROUND for dependent in dependents):
            # A circle: the owner waits for this one, which would wait for the owner.
            for reference in references:
                reference["blockOwnerDeletion"] = False
            self._update(resource, obj)
        options = {"propagationPolicy": policy, "preconditions": {"uid": meta["uid"]}}
        self._api.delete(resource, meta.get("namespace", ""), meta["name"], options)

    def _owner_of(self, obj: Object, reference: Object) -> Object | None:
        """Find an owner by its reference; an object of another uid is not it."""
        resource = self._api.catalogue.of_kind(reference.get("apiVersion", ""), reference.get("kind", ""))
        if resource is None or (resource.is_namespaced and "namespace" not in obj["metadata"]):
            # A kind that is not served may be served again, and what is in a namespace cannot be found from outside of
            # all: better kept than lost.
            return {"metadata": {}}
        namespace = obj["metadata"].get("namespace", "") if resource.is_namespaced else ""
        stored = self._api.store.get(resource, namespace, reference.get("name", ""))
        return stored.object if stored is not None and stored.uid == reference.get("uid") else None

    def _let_dependents_go(self, uid: str) -> None:
        """Take the references to an owner off its dependents."""
        for known in self._by_owner.find(uid):
            resource = self._resources[known.resource]
            stored = self._api.store.get(resource, known.namespace, known.name)
            if stored is not None:
                dependent = stored.object
                remove_owner(dependent, uid)
                self._update(resource, dependent)

    def _remove_finalizer(self, resource: Resource, obj: Object, finalizer: str) -> None:
        if remove_finalizer(obj, finalizer):
            self._update(resource, obj)

    def _on_change(self, before: Dependent | None, after: Dependent | None) -> None:
        self._by_owner.update(before, after)
        if before is not None:
            self._known.pop(before.key, None)
        if after is not None:
            self._known[after.key] = after
            if after.waits_for:
                self._queue.add(after.key)
            elif after.owners and (before is None or before.owners != after.owners) and self._lacks_owner(after):
                self._queue.add_after(after.key, _SECOND_LOOK_SECONDS)
        if before is not None:
            # An owner that waits for its dependents looks again when one is gone or let go.
            for owner in before.owners:
                place = self._place_of(before, owner)
                if place is not None:
                    resource, namespace, name = place
                    waiting = self._known.get((resource.qualified, f"{namespace}/{name}"))
                    if waiting is not None and waiting.waits_for:
                        self._queue.add(waiting.key)

    def _lacks_owner(self, known: Dependent) -> bool:
        """Whether an owner is missing, or waits for this object."""
        return any(self._is_going(known, owner) for owner in known.owners)

    def _is_going(self, known: Dependent, owner: OwnerReference) -> bool:
        place = self._place_of(known, owner)
        stored = self._api.store.get(*place) if place is not None else None
        if stored is None:
            return place is not None
        return stored.uid != owner.uid or b'"deletionTimestamp"' in stored.body

    def _place_of(self, known: Dependent, owner: OwnerReference) -> tuple[Resource, str, str] | None:
        """Say where an owner would be; None for a kind that is not served."""
        resource = self._api.catalogue.of_kind(owner.api_version, owner.kind)
        return None if resource is None else (resource, known.namespace if resource.is_namespaced else "", owner.name)


def _owner_uids(known: Dependent) -> list[str]:
    return [owner.uid for owner in known.owners]


def _waits_for_dependents(obj: Object) -> bool:
    return is_terminating(obj) and FOREGROUND in (obj["metadata"].get("finalizers") or [])


def _asked_policy(obj: Object) -> str:
    """How whoever put finalizers on the object wanted its dependents to be treated."""
    finalizers = obj["metadata"]["finalizers"]
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _read(stored: Stored) -> Dependent | None:
    """Read what concerns the collector; most objects are seen at a glance to be none of its business."""
    body = stored.body
    if b'"ownerReferences"' not in body and b'"deletionTimestamp"' not in body:
        return None
    meta = _DECODER.decode(body).metadata
    waits_for = ""
    if meta.deletion_timestamp is not None:
        waits_for = next((each for each in meta.finalizers or () if each in (ORPHAN, FOREGROUND)), "")
    owners = meta.owner_references or ()
    if not owners and not waits_for:
        return None
    return Dependent(stored.namespace, stored.name, stored.resource.qualified, stored.uid, owners, waits_for)


class _OwnedMeta(Part, frozen=True, kw_only=True):
    owner_references: tuple[OwnerReference, ...] | None = None
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None


class _Owned(Part, frozen=True, kw_only=True):
    metadata: _OwnedMeta = _OwnedMeta()


_DECODER = msgspec.json.Decoder(_Owned)
