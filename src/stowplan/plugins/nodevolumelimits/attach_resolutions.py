"""What references came to, remembered until an object changes that was looked at for them."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from stowplan.framework.handle import Listers
from stowplan.plugins.nodevolumelimits.attach_references import Reference
from stowplan.plugins.nodevolumelimits.attach_resolving import CLAIM, CLASS, VOLUME, Key, Resolution, resolve

KINDS: Final = (CLAIM, VOLUME, CLASS)


class Resolutions:
    """Resolutions by reference, and by object the references that depend on it."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._seen = {kind: listers.version(kind) for kind in KINDS}
        self._known: dict[Reference, Resolution] = {}
        self._dependent: dict[Key, set[Reference]] = {}

    def find(self, reference: Reference) -> Resolution:
        """Return what a reference comes to, and remember it until it is forgotten."""
        known = self._known.get(reference)
        if known is None:
            known = self._known[reference] = resolve(reference, self._listers)
            for key in known.reads:
                self._dependent.setdefault(key, set()).add(reference)
        return known

    def look_up(self, reference: Reference) -> Resolution:
        """Return what a reference comes to, without keeping it."""
        return self._known.get(reference) or resolve(reference, self._listers)

    def forget(self, reference: Reference) -> None:
        """Drop what is remembered of a reference."""
        known = self._known.pop(reference, None)
        for key in known.reads if known is not None else ():
            self._dependent[key].discard(reference)
            if not self._dependent[key]:
                del self._dependent[key]

    def changed(self) -> Set[Reference] | None:
        """Forget what may no longer be true since the last time, and return it; None if it may be anything."""
        found: set[Reference] = set()
        is_lost = False
        for kind in KINDS:
            version, seen = self._listers.version(kind), self._seen[kind]
            if version == seen:
                continue
            self._seen[kind], changed = version, self._listers.changed(kind, seen)
            is_lost = is_lost or changed is None
            for namespace, name in changed or ():
                found |= self._dependent.get((kind, namespace, name), frozenset())
        for reference in found:
            self.forget(reference)
        return None if is_lost else found
