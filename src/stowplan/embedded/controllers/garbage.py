"""Garbage collection by owner references: dependents go with their owners, before them, or are let go.

Only objects that have owners, or are being deleted with their dependents in mind, are remembered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.stored import Stored
from stowplan.model.meta import OwnerReference, Part

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
#: How often to look whether custom resources came or went.
_CATALOGUE_SECONDS = 1.0
#: An owner that cannot be found may have been written a moment ago by somebody who is not done yet.
_SECOND_LOOK_SECONDS = 0.2


class Dependent(msgspec.Struct, frozen=True, gc=False):
    """The extract of an object that has owners, or waits for its dependents."""

    resource: str
    namespace: str
    name: str
    uid: str
    owners: tuple[OwnerReference, ...]
    waits_for: str

    @property
    def key(self) -> Key:
        """Name the object among those of all resources."""
        return (self.resource, f"{self.namespace}/{self.name}")


class GarbageCollector:
    """Follows every resource that can be deleted; custom ones as they come."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._queue = WorkQueue()
        self._resources: dict[str, Resource] = {}
        self._followers: dict[str, tuple[Follower[Dependent], asyncio.Task[None] | None]] = {}
        self._known: dict[Key, Dependent] = {}
        self._by_owner: dict[str, dict[Key, None]] = {}
        self._failures = setting.failures_at("garbage-collector-controller", self._locate)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow_catalogue(), Worker(self._queue, self.reconcile, (), self._failures).run()]

    async def _follow_catalogue(self) -> None:
        """Follow what the catalogue has, now and later."""
        try:
            while True:
                self._follow_new()
                await asyncio.sleep(_CATALOGUE_SECONDS)
        finally:
            for _, task in self._followers.values():
                if task is not None:
                    task.cancel()

    def _follow_new(self) -> None:
        served: dict[str, Resource] = {}
        for resource in self._setting.api.catalogue.all():
            # Several versions show the same objects; events belong to nobody.
            if "delete" in resource.verbs and resource.plural != "events":
                served.setdefault(resource.qualified, resource)
        for qualified in self._followers.keys() - served.keys():
            _, task = self._followers.pop(qualified)
            if task is not None:
                task.cancel()
        for qualified, resource in served.items():
            self._resources[qualified] = resource
            if qualified not in self._followers:
                follower = Follower(self._setting.api, resource, _read)
                follower.tell(self._on_change)
                self._followers[qualified] = (follower, asyncio.create_task(self._run(follower, resource)))

    async def _run(self, follower: Follower[Dependent], resource: Resource) -> None:
        """Follow one resource; the deletion of any object, owner or not, concerns its dependents."""
        feed = self._setting.api.watch(resource)
        follower.catch_up()
        while True:
            await feed.wait()
            try:
                gone = [change.stored.uid for change in feed.drain() if change.kind == "DELETED"]
            except StatusError:
                # Too much happened at once: look at everything that has an owner.
                feed, gone = self._setting.api.watch(resource), list(self._by_owner)
            follower.catch_up()
            for uid in gone:
                self._look_at_dependents(uid)

    def _locate(self, key: Key) -> tuple[Resource, str, str]:
        namespace, _, name = key[1].partition("/")
        return self._resources[key[0]], namespace, name

    def reconcile(self, key: Key) -> float | None:
        """Delete an object whose owners are gone, or finish one that waits for its dependents."""
        known = self._known.get(key)
        resource = self._resources.get(key[0])
        if known is None or resource is None:
            return None
        stored = self._setting.api.store.get(resource, known.namespace, known.name)
        if stored is None or stored.uid != known.uid:
            return None
        obj = stored.object
        if known.waits_for == ORPHAN:
            self._let_dependents_go(obj)
            self._remove_finalizer(resource, obj, ORPHAN)
        elif known.waits_for == FOREGROUND:
            self._delete_dependents_first(resource, obj)
        elif known.owners and "deletionTimestamp" not in obj["metadata"]:
            self._collect(resource, obj)
        return None

    def _collect(self, resource: Resource, obj: Object) -> None:
        """Delete an object that no owner is left of, or whose last owner waits for it; drop references to the gone."""
        references = obj["metadata"].get("ownerReferences") or []
        states = [(reference, self._owner_of(obj, reference)) for reference in references]
        solid = [reference for reference, owner in states if owner is not None and not _waits(owner, FOREGROUND)]
        waiting = [reference for reference, owner in states if owner is not None and _waits(owner, FOREGROUND)]
        if solid:
            if len(solid) < len(references):
                obj["metadata"]["ownerReferences"] = solid
                self._update(resource, obj)
            return
        has_dependents = obj["metadata"]["uid"] in self._by_owner
        policy = "Foreground" if waiting and has_dependents else "Background"
        if "finalizers" in obj["metadata"] and not waiting:
            policy = _asked_policy(obj)
        if policy == "Foreground" and self._is_in_circle(obj):
            # The owner waits for this one, which would wait for the owner.
            for reference in references:
                reference["blockOwnerDeletion"] = False
            self._update(resource, obj)
        self._delete(resource, obj, policy)

    def _is_in_circle(self, obj: Object) -> bool:
        """Whether a dependent of an object waits for dependents of its own, as an owner of it does."""
        dependents = self._by_owner.get(obj["metadata"]["uid"], ())
        return any(self._known[key].waits_for == FOREGROUND for key in dependents)

    def _owner_of(self, obj: Object, reference: Object) -> Object | None:
        """Find an owner by its reference; an object of another uid is not it."""
        resource = self._setting.api.catalogue.of_kind(reference.get("apiVersion", ""), reference.get("kind", ""))
        if resource is None:
            # A kind that is not served may be served again: better kept than lost.
            return {"metadata": {}}
        namespace = obj["metadata"].get("namespace", "") if resource.is_namespaced else ""
        stored = self._setting.api.store.get(resource, namespace, reference.get("name", ""))
        return stored.object if stored is not None and stored.uid == reference.get("uid") else None

    def _delete_dependents_first(self, resource: Resource, obj: Object) -> None:
        """Delete the dependents; when none is left that blocks, let the owner go."""
        uid, is_blocked = obj["metadata"]["uid"], False
        for key in list(self._by_owner.get(uid, ())):
            dependent = self._known[key]
            is_blocked |= any(owner.uid == uid and owner.block_owner_deletion for owner in dependent.owners)
            self._queue.add(key)
        if not is_blocked:
            self._remove_finalizer(resource, obj, FOREGROUND)

    def _let_dependents_go(self, obj: Object) -> None:
        """Take the references to an owner off its dependents."""
        uid = obj["metadata"]["uid"]
        for key in list(self._by_owner.get(uid, ())):
            resource = self._resources[key[0]]
            known = self._known[key]
            stored = self._setting.api.store.get(resource, known.namespace, known.name)
            if stored is None:
                continue
            dependent = stored.object
            references = dependent["metadata"].get("ownerReferences") or []
            dependent["metadata"]["ownerReferences"] = [each for each in references if each.get("uid") != uid]
            self._update(resource, dependent)

    def _remove_finalizer(self, resource: Resource, obj: Object, finalizer: str) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        obj["metadata"]["finalizers"] = [each for each in finalizers if each != finalizer]
        self._update(resource, obj)

    def _update(self, resource: Resource, obj: Object) -> None:
        meta = obj["metadata"]
        self._setting.api.update(resource, meta.get("namespace", ""), meta["name"], obj)

    def _delete(self, resource: Resource, obj: Object, policy: str) -> None:
        meta = obj["metadata"]
        options = {"propagationPolicy": policy, "preconditions": {"uid": meta["uid"]}}
        self._setting.api.delete(resource, meta.get("namespace", ""), meta["name"], options)

    def _on_change(self, before: Dependent | None, after: Dependent | None) -> None:
        if before is not None:
            self._known.pop(before.key, None)
            for owner in before.owners:
                self._forget(owner.uid, before.key)
        if after is not None:
            self._known[after.key] = after
            for owner in after.owners:
                self._by_owner.setdefault(owner.uid, {})[after.key] = None
            self._look_at(before, after)
        if before is not None:
            # An owner that waits for its dependents looks again when one is gone or let go.
            self._look_at_owners(before)

    def _look_at(self, before: Dependent | None, after: Dependent) -> None:
        if after.waits_for:
            self._queue.add(after.key)
        elif after.owners and (before is None or before.owners != after.owners) and self._lacks_owner(after):
            self._queue.add_after(after.key, _SECOND_LOOK_SECONDS)

    def _lacks_owner(self, known: Dependent) -> bool:
        """Whether an owner is missing, or waits for this object."""
        return any(self._is_going(known, owner) for owner in known.owners)

    def _is_going(self, known: Dependent, owner: OwnerReference) -> bool:
        resource = self._setting.api.catalogue.of_kind(owner.api_version, owner.kind)
        if resource is None:
            return False
        stored = self._setting.api.store.get(resource, known.namespace if resource.is_namespaced else "", owner.name)
        return stored is None or stored.uid != owner.uid or b'"deletionTimestamp"' in stored.body

    def _look_at_dependents(self, uid: str) -> None:
        for key in self._by_owner.get(uid, ()):
            self._queue.add(key)

    def _look_at_owners(self, known: Dependent) -> None:
        for owner in known.owners:
            resource = self._setting.api.catalogue.of_kind(owner.api_version, owner.kind)
            if resource is not None:
                namespace = known.namespace if resource.is_namespaced else ""
                key = (resource.qualified, f"{namespace}/{owner.name}")
                if key in self._known and self._known[key].waits_for:
                    self._queue.add(key)

    def _forget(self, uid: str, key: Key) -> None:
        keys = self._by_owner.get(uid)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._by_owner[uid]


def _waits(obj: Object, finalizer: str) -> bool:
    meta = obj["metadata"]
    return "deletionTimestamp" in meta and finalizer in (meta.get("finalizers") or [])


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
    return Dependent(stored.resource.qualified, stored.namespace, stored.name, stored.uid, owners, waits_for)


class _Meta(Part, frozen=True, kw_only=True):
    owner_references: tuple[OwnerReference, ...] | None = None
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None


class _Any(Part, frozen=True, kw_only=True):
    metadata: _Meta = _Meta()


_DECODER = msgspec.json.Decoder(_Any)
