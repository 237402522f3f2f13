"""How long the flow waits for plugins and for the cluster before it goes on without them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits in seconds. What is awaited is given up; what answers at once cannot be, so its answer is not taken."""

    #: As long as a Permit plugin may hold a pod: volumes and devices take their time.
    pre_bind_seconds: float = 900.0
    bind_seconds: float = 60.0
    post_bind_seconds: float = 60.0
    #: For a status update or an eviction.
    write_seconds: float = 30.0
    #: How long a plugin may take to answer inside the scheduling cycle without being told of.
    slow_seconds: float = 1.0
    #: How long it may take until its answer does not count any more: the pod fails, and the plugin is named.
    late_seconds: float = 5.0

    def for_pre_bind(self) -> asyncio.Timeout:
        return asyncio.timeout(self.pre_bind_seconds)

    def for_bind(self) -> asyncio.Timeout:
        return asyncio.timeout(self.bind_seconds)

    def for_post_bind(self) -> asyncio.Timeout:
        return asyncio.timeout(self.post_bind_seconds)

    def for_a_write(self) -> asyncio.Timeout:
        return asyncio.timeout(self.write_seconds)
