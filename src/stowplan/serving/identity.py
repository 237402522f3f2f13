"""Who asks: a user as authentication finds it, and the ports through which the API server is asked about it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, Protocol, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Answers of the API server that are kept at a time.
MOST_KEPT: Final = 1024
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"


class UserInfo(msgspec.Struct, frozen=True):
    """A user with the groups it is in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS: Final = UserInfo("system:anonymous", (UNAUTHENTICATED,))


class AccessRequest(msgspec.Struct, frozen=True):
    """What a user wants to do: a verb on a path that is no API object."""

    user: UserInfo
    verb: str
    path: str


class AccessDecision(msgspec.Struct, frozen=True):
    """Whether a request is allowed, and what the API server said about it."""

    is_allowed: bool
    reason: str = ""


class Reviewer(Protocol):
    """The API server as the judge of who somebody is and may do. Every method raises if it cannot be asked."""

    async def review_token(self, token: str) -> UserInfo | None:
        """Return whose token it is (a TokenReview); None if it is nobody's."""

    async def review_access(self, request: AccessRequest) -> AccessDecision:
        """Say whether a request is allowed (a SubjectAccessReview)."""

    async def authentication_config(self) -> Mapping[str, str]:
        """Return the data of the ConfigMap `extension-apiserver-authentication` in namespace `kube-system`."""


class ReviewCache(Generic[K, V]):
    """What the API server answered, each until its time is over, so that a scraper does not have each request reviewed.

    The oldest go when there are too many.
    """

    def __init__(self, now_seconds: Callable[[], float]) -> None:
        self._now_seconds = now_seconds
        self._values: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        until, value = found
        if self._now_seconds() < until:
            return value
        del self._values[key]
        return None

    def put(self, key: K, value: V, seconds: float) -> None:
        if seconds <= 0:
            return
        while len(self._values) >= MOST_KEPT:
            del self._values[next(iter(self._values))]
        self._values[key] = (self._now_seconds() + seconds, value)
