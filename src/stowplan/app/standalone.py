"""What plugins write, done in the cache itself: for a `Cluster` that nobody else has a copy of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stowplan.cache.cache import Cache
from stowplan.model.decode import patched
from stowplan.model.kinds import Binding


class Unmeasured:
    """Where plugins count if nobody looks."""

    def count(self, name: str, *labels: str) -> None:
        """Forget it."""

    def time(self, name: str, seconds: float, *labels: str) -> None:
        """Forget it."""


@dataclass(frozen=True, slots=True)
class Standalone:
    """Binds assumed pods, and changes other objects at once; a `Binder` and an `ObjectWriter`."""

    cache: Cache

    async def bind(self, binding: Binding) -> None:
        for placed in self.cache.pods_on(binding.target.name):
            if placed.pod.key == f"{binding.metadata.namespace}/{binding.metadata.name}":
                spec = msgspec.structs.replace(placed.pod.spec, node_name=binding.target.name)
                self.cache.add_pod(msgspec.structs.replace(placed.pod, spec=spec))
                return
        raise LookupError(f"pod {binding.metadata.name!r} is not assumed on node {binding.target.name!r}")

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        meta = found.metadata
        self.cache.objects.restore(found.kind, meta.namespace, meta.name)
        known = self.cache.objects.get(found.kind, meta.namespace, meta.name)
        if known is None:
            raise LookupError(f"{found.kind} {meta.name!r} is gone; nothing can be changed about it")
        changed = patched(known, patch)
        self.cache.objects.put(changed)
        return changed

    async def create(self, found: Any) -> Any:
        self.cache.objects.put(found)
        return found

    async def delete(self, found: Any) -> None:
        self.cache.objects.remove(found.kind, found.metadata.namespace, found.metadata.name)
