"""Who asks: a user as authentication finds it, and the ports through which the API server is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"


class User(msgspec.Struct, frozen=True):
    """A user with the groups it is in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))


class AccessRequest(msgspec.Struct, frozen=True):
    """What a user wants to do: a verb on a path that is no API object."""

    user: User
    verb: str
    path: str


class Decision(msgspec.Struct, frozen=True):
    """Whether a request is allowed, and what the API server said about it."""

    is_allowed: bool
    reason: str = ""


class Reviewer(Protocol):
    """The API server as the judge of who somebody is and may do. Every method raises if it cannot be asked."""

    async def review_token(self, token: str) -> User | None:
        """Return whose token it is (a TokenReview); None if it is nobody's."""

    async def review_access(self, request: AccessRequest) -> Decision:
        """Say whether a request is allowed (a SubjectAccessReview)."""

    async def authentication_config(self) -> Mapping[str, str]:
        """Return the data of the ConfigMap `extension-apiserver-authentication` in namespace `kube-system`."""
