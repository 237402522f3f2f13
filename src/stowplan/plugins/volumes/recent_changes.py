"""Which objects of a kind changed since a plugin looked last, for what it derives from them and keeps up to date."""

from __future__ import annotations

from collections.abc import Collection

from stowplan.framework.handle import Listers


class RecentChanges:
    """The objects of one kind that came, changed or went since `take` was called last."""

    def __init__(self, listers: Listers, kind: str) -> None:
        self._listers = listers
        self._kind = kind
        self._seen: int | None = None

    def take(self) -> Collection[tuple[str, str]] | None:
        """Return namespace and name of what changed, each once; None if it may be anything, as the first time."""
        version, seen = self._listers.version(self._kind), self._seen
        if version == seen:
            return ()
        self._seen = version
        changed = self._listers.changed(self._kind, seen) if seen is not None else None
        return dict.fromkeys(changed) if changed is not None else None
