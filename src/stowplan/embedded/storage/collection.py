"""The objects of one storage: found by namespace and name, in the order of these, as they are or as they were."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter

from stowplan.embedded.storage.changes import ChangeLog
from stowplan.embedded.storage.stored import Stored

#: Namespace and name.
Key = tuple[str, str]
FIRST: Key = ("", "")


class Collection:
    """Holds objects and the log of their changes; `Store` is the only one that changes either."""

    def __init__(self, log: ChangeLog, objects: Iterable[Stored] = ()) -> None:
        self.log = log
        self._spaces: dict[str, _Space] = {}
        for stored in objects:
            self.put(stored)

    def get(self, namespace: str, name: str) -> Stored | None:
        space = self._spaces.get(namespace)
        return None if space is None else space.objects.get(name)

    def put(self, stored: Stored) -> None:
        space = self._spaces.get(stored.namespace)
        if space is None:
            space = self._spaces[stored.namespace] = _Space()
        space.put(stored)

    def take(self, stored: Stored) -> None:
        space = self._spaces[stored.namespace]
        space.take(stored.name)
        if not space.objects:
            # Namespaces come and go; each would be left behind here, once for every resource.
            del self._spaces[stored.namespace]

    def all(self, namespace: str | None = None) -> list[Stored]:
        """Every object, in no particular order."""
        if namespace is None:
            return [stored for space in self._spaces.values() for stored in space.objects.values()]
        space = self._spaces.get(namespace)
        return [] if space is None else [*space.objects.values()]

    def count(self, namespace: str | None = None) -> int:
        if namespace is None:
            return sum(len(space.objects) for space in self._spaces.values())
        space = self._spaces.get(namespace)
        return 0 if space is None else len(space.objects)

    def after(self, key: Key, namespace: str | None = None) -> Iterator[Stored]:
        """The objects behind a key, in the order of their keys."""
        for each in sorted(self._spaces) if namespace is None else [namespace]:
            if each >= key[0] and each in self._spaces:
                yield from self._spaces[each].after(key[1] if each == key[0] else "")

    def was_after(self, version: int, key: Key, namespace: str | None = None) -> Iterator[Stored]:
        """The same as it was at a version. Raise StatusError 410 if the log does not reach back."""
        # What each object that has changed since was at that version.
        past: dict[Key, Stored | None] = {}
        for change in self.log.read(self.log.position_after(version)):
            past.setdefault(change.stored.key, change.before)
        if not past:
            return self.after(key, namespace)
        then = [s for s in past.values() if s and s.key > key and namespace in (None, s.namespace)]
        same = (stored for stored in self.after(key, namespace) if stored.key not in past)
        return heapq.merge(same, sorted(then, key=attrgetter("key")), key=attrgetter("key"))


class _Space:
    """The objects of one namespace. Their order is made when asked for, and kept until a name comes or goes."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self._order: list[str] | None = []

    def put(self, stored: Stored) -> None:
        if stored.name not in self.objects:
            self._order = None
        self.objects[stored.name] = stored

    def take(self, name: str) -> None:
        del self.objects[name]
        self._order = None

    def after(self, name: str) -> Iterator[Stored]:
        if self._order is None:
            self._order = sorted(self.objects)
            # In order the next sorting is nearly free, and sorting is what listing page by page would pay for.
            self.objects = {name: self.objects[name] for name in self._order}
        start = bisect_right(self._order, name) if name else 0
        for each in self._order[start:]:
            yield self.objects[each]
