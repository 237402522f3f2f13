"""What happens to an object on its way into the store: identity, admission, versions, parts, deletion.

Everything here is synchronous: nobody sees half a change. Controllers call `create`,
`update` and `delete` in process; the server calls `insert`, `replace`, `amend` and `remove`, which take what a
request says as a `Target` and `Options`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from stowplan.embedded import patching
from stowplan.embedded.admission import chain, quota
from stowplan.embedded.custom import definitions
from stowplan.embedded.objects.errors import Cause, StatusError, already_exists, invalid, not_found
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import APPLY_PATCH, JSON_PATCH, Author, Patch, copied
from stowplan.embedded.registry import deletion, metadata, parts
from stowplan.embedded.registry.deletion import DeleteOptions
from stowplan.embedded.registry.metadata import Draw, make_name
from stowplan.embedded.requests.request import TRUSTED, Options, Target
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Feed, Store, Stored
from stowplan.model.timestamps import format_time

#: A PUT creates these if they are not there.
CREATED_BY_UPDATE: Final = frozenset(("endpoints", "events", "leases.coordination.k8s.io", "limitranges"))
_NAMING_TRIES: Final = 8
#: What etcd takes, and with it a real API server.
_MOST_STORED_BYTES: Final = 1536 * 1024

Objects = list[Object]


@dataclass(frozen=True, slots=True)
class Removal:
    """How a deletion went: the object as it is now, or as it was last if it is gone."""

    obj: Object
    is_gone: bool


class Api:
    """The one way in for changes; reads come from its store."""

    def __init__(self, store: Store, catalogue: Catalogue, now: Callable[[], datetime], draw: Draw) -> None:
        self.store = store
        self.catalogue = catalogue
        self.now = now
        self._draw = draw
        #: Of objects that were not created here; what is drawn from a seed may have been drawn from it there, too.
        self._foreign_uids: set[str] = set()
        definitions.register_all(catalogue, store)

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """Read an object. Raise StatusError 404 if it is not there."""
        return conversion.to_serve(resource, self.found(Target(resource, namespace, name)))

    def list(self, resource: Resource, namespace: str | None = None) -> Objects:
        """Every object of a resource, or of one namespace, in no particular order."""
        return [conversion.to_serve(resource, stored) for stored in self.store.list(resource, namespace)]

    def watch(self, resource: Resource, namespace: str | None = None) -> Feed:
        """Follow what changes from now on."""
        return self.store.feed(resource, self.store.version, namespace)

    def create(self, resource: Resource, namespace: str, obj: Object) -> Object:
        """Create an object; the caller's stays as it was."""
        return self.insert(Target(resource, namespace), copied(obj), Options(is_trusted=True))

    def update(self, resource: Resource, namespace: str, name: str, obj: Object, subresource: str = "") -> Object:
        """Replace an object, or one part of it; the caller's stays as it was."""
        return self.replace(Target(resource, namespace, name, subresource), copied(obj), TRUSTED)

    def delete(self, resource: Resource, namespace: str, name: str, options: Object | None = None) -> Object:
        """Delete an object, or begin to; `options` is a DeleteOptions."""
        target = Target(resource, namespace, name)
        return self.remove(target, deletion.read_options(options), Options(is_trusted=True)).obj

    def take_over(self, resource: Resource, obj: Object) -> None:
        """Put in an object of another server as it was there, in place of one of ours."""
        self.keep_uid(obj["metadata"]["uid"])
        self.store.write(resource, obj)

    def keep_uid(self, uid: str) -> None:
        """Give no object the uid of one that was created elsewhere, or by an earlier process."""
        self._foreign_uids.add(uid)

    def _new_uid(self) -> str:
        while (uid := metadata.make_uid(self._draw)) in self._foreign_uids:
            pass
        return uid

    def ready_new(self, target: Target, obj: Object, options: Options) -> None:
        """See to what a new object needs that depends on nothing else, in place; this may be done in a thread."""
        resource = target.resource
        meta = self._receive(target, obj, options)
        metadata.clear_new(meta)
        parts.without_status(resource, obj)
        if options.is_tracked:
            chain.fill_in(resource, obj)
            patching.note_creation(resource, obj, self._author(target, options))

    def ready(self, target: Target, wanted: Object | Patch, before: Object, options: Options) -> Object:
        """What a change makes of an object, as far as that depends on nothing else; this may be done in a thread."""
        resource = target.resource
        obj = patching.apply(resource, before, wanted) if isinstance(wanted, Patch) else wanted
        meta = self._receive(target, obj, options)
        if isinstance(wanted, Patch):
            # A small patch may make much of a small object, by copying.
            if wanted.media_type == JSON_PATCH:
                check_size(resource, obj)
            meta.setdefault("resourceVersion", before["metadata"]["resourceVersion"])
        metadata.check_version(target, meta, before["metadata"])
        obj = parts.changed(resource, obj, before, target.subresource)
        metadata.carry_over(obj["metadata"], before["metadata"])
        metadata.check_finalizers(resource, obj["metadata"], before["metadata"])
        is_applied = isinstance(wanted, Patch) and wanted.media_type == APPLY_PATCH
        if not is_applied and patching.is_tracked(before, obj):
            # What is filled in was not removed by whoever left it out.
            chain.fill_in(resource, obj)
            patching.note_update(resource, before, obj, self._author(target, options))
        return obj

    def insert(self, target: Target, obj: Object, options: Options) -> Object:
        """Create an object from one that is the server's own to change."""
        if not options.is_ready:
            self.ready_new(target, obj, options)
        self.complete_new(target, obj, options)
        self._admit(target.resource, obj, None, options)
        self._write(target.resource, obj, options)
        return obj

    def complete_new(self, target: Target, obj: Object, options: Options) -> None:
        """Give a new object that is ready what the server and the cluster give it, in place."""
        meta = obj["metadata"]
        metadata.complete_new(meta, format_time(self.now()), self._new_uid())
        self._name(target, meta)
        parts.count_generation(target.resource, obj, None)
        chain.credit(target.resource, obj, options.requester)
        self.complete(target, obj, None, options)

    def complete(self, target: Target, obj: Object, before: Object | None, options: Options) -> None:
        """Fill in a change that is ready with what depends on the cluster, in place."""
        chain.prepare(target.resource, obj, before, self, is_filled_in=options.is_ready)

    def check(self, target: Target, obj: Object, before: Object | None) -> None:
        """Refuse what breaks a rule of its kind. Raise StatusError; this may be done in a thread."""
        chain.check(target.resource, obj, before, self.catalogue.gates)

    def replace(self, target: Target, obj: Object, options: Options) -> Object:
        """Replace an object, or the part that the target names, by one that is the server's own to change."""
        resource = target.resource
        stored = self.store.get(resource, target.namespace, target.name)
        if stored is None and creates_by_update(target):
            return self.insert(target, without_version(obj), options)
        if stored is None:
            # What is wrong with the object itself is said first.
            self._receive(target, obj, options)
            raise not_found(resource, target.name)
        before = conversion.to_serve(resource, stored)
        return self.settle(target, self.ready(target, obj, before, options), before, options)

    def amend(self, target: Target, patch: Patch, options: Options) -> Object:
        """Change an object, or the part that the target names, as a patch says."""
        resource = target.resource
        stored = self.store.get(resource, target.namespace, target.name)
        if stored is None:
            return self.insert(target, self.apply_new(target, patch), replace(options, is_tracked=False))
        before = conversion.to_serve(resource, stored)
        return self.settle(target, self.ready(target, patch, before, options), before, options)

    def remove(self, target: Target, how: DeleteOptions, options: Options) -> Removal:
        """Delete an object, or mark it so that whoever still has something to do for it does it."""
        resource = target.resource
        before = conversion.to_serve(resource, self.found(target))
        if not options.is_trusted:
            chain.check_deletion(resource, target.name)
        deletion.check_preconditions(target, before["metadata"], how)
        # What is marked is the metadata, and what is in it is put there anew.
        obj = {**before, "metadata": {**before["metadata"]}}
        if deletion.begin(resource, obj, how, self.now()):
            return Removal(obj, is_gone=self._erase(target, options))
        if obj != before:
            self._write(resource, obj, options)
        return Removal(obj, is_gone=False)

    def _receive(self, target: Target, obj: Object, options: Options) -> Object:
        """Check that an object is what the request is about and has the form of its kind; return its metadata."""
        resource = target.resource
        metadata.check_kind(resource, obj)
        if not options.is_trusted:
            options.warnings.extend(chain.check_fields(resource, obj, options.field_validation, options.sent))
        return metadata.place(target, obj)

    def apply_new(self, target: Target, patch: Patch) -> Object:
        """Server-side apply creates what is not there; any other patch needs something to patch.

        Who applies owns what it said, and not what is filled in: such an object is not tracked in another way.
        """
        if patch.media_type != APPLY_PATCH or target.subresource:
            raise not_found(target.resource, target.name)
        return patching.apply(target.resource, None, patch)

    def _name(self, target: Target, meta: Object) -> None:
        """Make up a name where one is wanted. Raise StatusError if there is none, or one that is taken."""
        resource, is_made_up = target.resource, not meta.get("name") and meta.get("generateName")
        for _ in range(_NAMING_TRIES if is_made_up else 1):
            if is_made_up:
                meta["name"] = make_name(meta["generateName"], self._draw)
            if not meta.get("name"):
                cause = Cause("FieldValueRequired", "metadata.name", "Required value: name or generateName is required")
                raise invalid(resource, "", [cause])
            if self.store.get(resource, target.namespace, str(meta["name"])) is None:
                return
        raise already_exists(resource, meta["name"])

    def settle(self, target: Target, obj: Object, before: Object, options: Options) -> Object:
        """Make a change that is ready."""
        resource = target.resource
        # What this process itself reports needs nobody's permission.
        if not (options.is_trusted and target.subresource == parts.STATUS):
            self.complete(target, obj, before, options)
            self._admit(resource, obj, before, options)
        # A report is no wish: a Deployment's annotations come by this way too.
        if target.subresource != parts.STATUS:
            parts.count_generation(resource, obj, before)
        if deletion.is_finished(resource, obj):
            self._erase(target, options)
        elif obj != before:
            self._write(resource, obj, options)
        return obj

    def _author(self, target: Target, options: Options) -> Author:
        return Author(options.field_manager, target.subresource, self.now())

    def _admit(self, resource: Resource, obj: Object, before: Object | None, options: Options) -> None:
        if not options.is_checked:
            chain.check(resource, obj, before, self.catalogue.gates)
        chain.validate(resource, obj, before, self)
        if not options.is_trusted:
            options.warnings.extend(chain.warnings(resource, obj, before, self))
        if options.guard is not None:
            options.guard(resource, obj, before)

    def _write(self, resource: Resource, obj: Object, options: Options) -> None:
        if options.is_dry_run:
            return
        is_definition = resource.qualified == definitions.DEFINITIONS
        if is_definition:
            obj["status"] = definitions.status(obj, self.catalogue, self.now())
        meta = obj["metadata"]
        before = self.store.get(resource, meta.get("namespace", ""), meta["name"])
        after = self.store.write(resource, obj)
        quota.account(resource, before, after, self)
        if is_definition:
            definitions.register(self.catalogue, obj)

    def _erase(self, target: Target, options: Options) -> bool:
        resource = target.resource
        if not options.is_dry_run:
            gone = self.store.remove(resource, target.namespace, target.name)
            quota.account(resource, gone, None, self)
            if resource.qualified == definitions.DEFINITIONS:
                definitions.unregister(self.catalogue, gone.object, self.store)
        return True

    def found(self, target: Target) -> Stored:
        """What is stored of the object that a target names. Raise StatusError 404 if it is not there."""
        stored = self.store.get(target.resource, target.namespace, target.name)
        if stored is None:
            raise not_found(target.resource, target.name)
        return stored


def creates_by_update(target: Target) -> bool:
    """Whether a PUT creates what is not there."""
    return target.resource.qualified in CREATED_BY_UPDATE and not target.subresource


def without_version(obj: Object) -> Object:
    """An object that is to be created, though whoever sent it thought that it was there."""
    if isinstance(obj.get("metadata"), dict):
        obj["metadata"].pop("resourceVersion", None)
    return obj


def check_size(resource: Resource, obj: Object) -> None:
    """Refuse an object that is larger than a real API server could keep, who owns its fields included."""
    size = len(msgspec.json.encode(obj))
    if size > _MOST_STORED_BYTES:
        # What `kubectl apply` notes may be the half of it; whoever is told so knows to apply on the server's side.
        chain.check_annotations(resource, obj)
        problem = f"the object takes {size} bytes of storage: limit is {_MOST_STORED_BYTES}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {problem}")
