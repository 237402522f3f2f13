"""Follows one resource: keeps a small extract of each object and tells listeners what changed.

`catch_up` reads, without waiting, whatever was written so far: who calls it first sees the store as it is now, so
nobody needs to remember what it has just asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from stowplan.embedded.following.events import Recorder
from stowplan.embedded.following.failures import Failures
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.changes import Feed
from stowplan.embedded.storage.stored import DELETED, Change, Stored

T = TypeVar("T")

#: Namespace ("" for cluster-scoped objects) and name.
Key = tuple[str, str]
Read = Callable[[Stored], T | None]
#: Called with the extract before and after; None where there was or is no object.
Listener = Callable[[T | None, T | None], None]

_EXPIRED = 410
_COMPONENT = "controllermanager"

_log = logging.getLogger(__name__)


class Follower(Generic[T]):
    """The objects of one resource that are of interest; `read` returns None for those that are not."""

    def __init__(self, api: Api, resource: Resource, read: Read[T]) -> None:
        self.known: dict[Key, T] = {}
        self._api = api
        self._resource = resource
        self._read = read
        self._listeners: list[Listener[T]] = []
        self._failures = Failures(Recorder(api, _COMPONENT, api.now), api, lambda key: (resource, *key))
        self._feed: Feed | None = None

    def tell(self, listener: Listener[T]) -> None:
        """Call `listener` at every change from now on, and once for each object that is known already."""
        self._listeners.append(listener)
        for extract in list(self.known.values()):
            listener(None, extract)

    def catch_up(self) -> None:
        """Take in every change so far."""
        try:
            for change in self._followed().drain():
                self._apply(change)
        except StatusError as error:
            self._begin_again(error)

    async def run(self) -> None:
        """Take in changes as they come, for ever."""
        while True:
            self.catch_up()
            await self._followed().wait()

    def _followed(self) -> Feed:
        """List everything the first time, and after the feed was lost."""
        if self._feed is None:
            store = self._api.store
            self._feed = store.feed(self._resource, store.version)
            listed = {stored.key: stored for stored in store.list(self._resource)}
            for key in [key for key in self.known if key not in listed]:
                self._set(key, None)
            for key, stored in listed.items():
                self._set(key, self._extract(stored))
        return self._feed

    def _begin_again(self, error: StatusError) -> None:
        """Forget the feed if it fell out of the log; the next look lists everything."""
        if error.code != _EXPIRED:
            raise error
        self._feed = None

    def _apply(self, change: Change) -> None:
        stored = change.stored
        self._set(stored.key, None if change.kind == DELETED else self._extract(stored))

    def _extract(self, stored: Stored) -> T | None:
        try:
            read = self._read(stored)
        except Exception as error:
            # Somebody wrote nonsense where nobody checks; all other objects are to be followed still.
            self._tell_failure(stored.key, error, "is left alone until it is corrected")
            return None
        self._failures.forget(stored.key)
        return read

    def _set(self, key: Key, after: T | None) -> None:
        before = self.known.get(key)
        if after is not None:
            self.known[key] = after
        elif before is None:
            return
        else:
            del self.known[key]
        for listener in self._listeners:
            try:
                listener(before, after)
            except Exception as error:
                # Who cannot make anything of one object is to hear of the others, and others are to hear of this one.
                self._tell_failure(key, error, "is left alone until it changes")

    def _tell_failure(self, key: Key, error: Exception, does: str) -> None:
        try:
            self._failures.tell(key, error, does)
        except Exception:
            _log.exception("%s %s/%s failed, which cannot be told in an event", self._resource.qualified, *key)
