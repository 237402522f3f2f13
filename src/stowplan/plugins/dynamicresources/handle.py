"""The ports through which plugins that count or allocate devices see their scheduler."""

from __future__ import annotations

from typing import Protocol

from stowplan.framework.handle import Handle, PreparingHandle
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.in_flight import InFlight


class ClaimsHandle(Handle, Protocol):
    """The handle of a scheduler that knows which devices are taken."""

    @property
    def claims(self) -> InFlight:
        """The claims on their way to the cluster, shared by all profiles."""


class DevicesHandle(PreparingHandle, ClaimsHandle, Protocol):
    """The handle of a scheduler that gives devices away."""

    def now_ns(self) -> int:
        """Return the time in nanoseconds since the epoch; 0 where no time passes."""

    def recount(self, pod: Pod) -> None:
        """Have a pod that was just given a node counted there by another version of it."""

    def monotonic_ns(self) -> int:
        """Return the time by a clock that never goes back and that runs while a question is answered."""

    def announce(self, pod: Pod, reason: str, text: str) -> None:
        """Record an event that says what a pod waits for; best effort, never waits."""
