"""What somebody may see: some paths everybody, everything the masters, the rest as the API server says."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

import msgspec

from stowplan.serving.identity import MASTERS, AccessRequest, Decision, Reviewer
from stowplan.serving.kept import Kept

OPEN_PATHS: Final = ("/healthz", "/readyz", "/livez")


class AccessSettings(msgspec.Struct, frozen=True):
    """A path that ends in `*` stands for all that begin with it."""

    always_allowed_paths: tuple[str, ...] = OPEN_PATHS
    always_allowed_groups: tuple[str, ...] = (MASTERS,)
    allowed_seconds: float = 10.0
    refused_seconds: float = 10.0


@dataclass(slots=True)
class Authorizer:
    """Decides about requests; without a reviewer, whatever is not always allowed is refused."""

    now_seconds: Callable[[], float]
    settings: AccessSettings = field(default_factory=AccessSettings)
    reviewer: Reviewer | None = None
    _decisions: Kept[tuple[object, ...], Decision] = field(init=False)

    def __post_init__(self) -> None:
        self._decisions = Kept(self.now_seconds)

    async def decide(self, request: AccessRequest) -> Decision:
        """Decide about a request; raises if the API server cannot be asked."""
        settings = self.settings
        if not set(settings.always_allowed_groups).isdisjoint(request.user.groups):
            return Decision(True)
        if is_listed(request.path, settings.always_allowed_paths):
            return Decision(True)
        if self.reviewer is None:
            return Decision(False)
        user = request.user
        key = (user.name, user.groups, user.uid, tuple(sorted(user.extra.items())), request.verb, request.path)
        known = self._decisions.get(key)
        if known is None:
            known = await self.reviewer.review_access(request)
            seconds = settings.allowed_seconds if known.is_allowed else settings.refused_seconds
            self._decisions.put(key, known, seconds)
        return known


def is_listed(path: str, listed: Collection[str]) -> bool:
    """Say whether a path is among those listed, as it stands or by a prefix that ends in `*`."""
    path = path.removeprefix("/")
    for one in listed:
        one = one.removeprefix("/")
        if path == one or (one.endswith("*") and path.startswith(one[:-1])):
            return True
    return False
