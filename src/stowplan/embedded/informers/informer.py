"""Follows one resource: keeps a small extract of each object, finds extracts by index, tells handlers what changed.

`catch_up` reads, without waiting, whatever was written so far: who calls it first sees the store as it is now, so
nobody needs to remember what it has just asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeVar

import msgspec

from stowplan.embedded.informers.event_recorder import EventRecorder, Failures
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.changes import Feed
from stowplan.embedded.storage.stored import DELETED, Stored


class Extract(msgspec.Struct, frozen=True, gc=False):
    """What an informer keeps of an object; others add what they need to know. `namespace` is "" where there is none."""

    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        return (self.namespace, self.name)


T = TypeVar("T")
E = TypeVar("E", bound=Extract)

#: Reads the extract of an object; None for one that is of no interest.
Transform = Callable[[Stored], T | None]
#: Called with the extract before and after; None where there was or is no object.
EventHandler = Callable[[T | None, T | None], None]

_EXPIRED = 410
_COMPONENT = "controllermanager"


class SharedInformer(Generic[T]):
    """The objects of one resource that are of interest, by key."""

    def __init__(self, api: Api, resource: Resource, transform: Transform[T]) -> None:
        self.known: dict[ObjectKey, T] = {}
        self.resource = resource
        self._store = api.store
        self._transform = transform
        self._handlers: list[EventHandler[T]] = []
        self._failures = Failures(EventRecorder(api, _COMPONENT, api.now), lambda key: (resource, *key))
        self._feed: Feed | None = None

    def get(self, key: ObjectKey) -> T | None:
        return self.known.get(key)

    def add_event_handler(self, handler: EventHandler[T]) -> None:
        """Call `handler` at every change from now on, and once for each object that is known already."""
        self._handlers.append(handler)
        for extract in list(self.known.values()):
            handler(None, extract)

    def catch_up(self) -> None:
        """Take in every change so far."""
        try:
            for change in self._followed().drain():
                stored = change.stored
                self._set(stored.key, None if change.kind == DELETED else self._extract(stored))
        except StatusError as error:
            if error.code != _EXPIRED:
                raise
            # The feed fell out of the log; the next look lists everything.
            self._feed = None

    async def run(self) -> None:
        """Take in changes as they come, for ever."""
        while True:
            self.catch_up()
            await self._followed().wait()

    def _followed(self) -> Feed:
        """List everything the first time, and after the feed was lost."""
        if self._feed is None:
            self._feed = self._store.feed(self.resource, self._store.version)
            listed = {stored.key: stored for stored in self._store.list(self.resource)}
            for key in [key for key in self.known if key not in listed]:
                self._set(key, None)
            for key, stored in listed.items():
                self._set(key, self._extract(stored))
        return self._feed

    def _extract(self, stored: Stored) -> T | None:
        try:
            extract = self._transform(stored)
        except Exception as error:
            # Somebody wrote nonsense where nobody checks; all other objects are to be followed still.
            self._failures.tell(stored.key, error, "is left alone until it is corrected")
            return None
        self._failures.forget(stored.key)
        return extract

    def _set(self, key: ObjectKey, after: T | None) -> None:
        before = self.known.get(key)
        if after is not None:
            self.known[key] = after
        elif before is None:
            return
        else:
            del self.known[key]
        for handler in self._handlers:
            try:
                handler(before, after)
            except Exception as error:
                # Who cannot make anything of one object is to hear of the others, and others are to hear of this one.
                self._failures.tell(key, error, "is left alone until it changes")


class Index(Generic[E]):
    """Finds extracts by what `values` reads of them; follows informers, or whoever calls `update`."""

    def __init__(self, values: Callable[[E], Iterable[Hashable]], *informers: SharedInformer[E]) -> None:
        self._values = values
        self._found: dict[Hashable, dict[ObjectKey, E]] = {}
        for informer in informers:
            informer.add_event_handler(self.update)

    def find(self, value: Hashable) -> list[E]:
        return list(self._found.get(value, {}).values())

    def collection(self, value: Hashable) -> Collection[E]:
        """The same without a copy, for who is done before anything changes."""
        return self._found.get(value, {}).values()

    def count(self, value: Hashable) -> int:
        return len(self._found.get(value, ()))

    def update(self, before: E | None, after: E | None) -> None:
        """Take an extract out, and put in what took its place."""
        if before is not None:
            for value in self._values(before):
                found = self._found.get(value, {})
                if found.pop(before.key, None) is not None and not found:
                    del self._found[value]
        if after is not None:
            for value in self._values(after):
                self._found.setdefault(value, {})[after.key] = after
