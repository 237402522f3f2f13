"""The objects of one resource as they were last seen, and who is told of each change.

Every way to learn something ends here, so that no change is told twice and none is told out of order: what was seen
before is the `old` of what is seen next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: Told (None, new) for an object that appeared, (old, new) for one that changed, (old, None) for one that is gone.
Handler = Callable[[Any | None, Any | None], None]


def key_of(metadata: Any) -> str:
    """`namespace/name`, or the name alone where there is no namespace."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else str(metadata.name)


class Store:
    """Objects by key. Only `put`, `remove` and `replace` change it, and each tells the handler."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._objects: dict[str, Any] = {}

    @property
    def objects(self) -> Mapping[str, Any]:
        """What was last seen, by key."""
        return self._objects

    def put(self, new: Any) -> None:
        """Take in an object that was added or changed; the same version again is nothing new."""
        key = key_of(new.metadata)
        old = self._objects.get(key)
        version = new.metadata.resource_version
        if old is not None and version and old.metadata.resource_version == version:
            return
        self._objects[key] = new
        self._handler(old, new)

    def remove(self, gone: Any) -> None:
        """Drop an object; nothing happens if it is not known."""
        old = self._objects.pop(key_of(gone.metadata), None)
        if old is not None:
            self._handler(old, None)

    def replace(self, found: Mapping[str, Any]) -> None:
        """Take over a whole list: what is new or changed first, then what is not there any more."""
        for new in found.values():
            self.put(new)
        for key in [key for key in self._objects if key not in found]:
            self._handler(self._objects.pop(key), None)
