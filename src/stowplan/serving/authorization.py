"""What every request passes: it must say who it is from and be allowed; faults end in an answer, not in silence.

Some paths are for everybody, everything is for the masters, and the rest is as the API server says.
`serving/authentication.py` finds out who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

import msgspec
from aiohttp import web

from stowplan.observe.logs import log_for
from stowplan.serving import responses
from stowplan.serving.authentication import (
    MASTERS,
    AccessRequest,
    AccessReview,
    DelegatedAuthenticator,
    RequestCredentials,
    ReviewCache,
    Reviewer,
    UnknownUserError,
)
from stowplan.serving.responses import Handler

_log = log_for(__name__)

OPEN_PATHS: Final = ("/healthz", "/readyz", "/livez")
#: Whoever is known may `get` all that is below it, by the ClusterRole `system:discovery` of every cluster.
_DISCOVERY: Final = "/api"


class Guard:
    """Authentication, then authorization, as middleware."""

    def __init__(self, authenticator: DelegatedAuthenticator, authorizer: DelegatedAuthorizer) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await self._answer(request, handler)
        # Everything here is for one reader only.
        response.headers.setdefault("Cache-Control", "no-cache, private")
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            refusal = await self._refuse(request)
            return refusal if refusal is not None else await handler(request)
        except web.HTTPNotFound:
            return web.Response(status=404, text="404 page not found\n")
        except web.HTTPException as redirect:
            return web.Response(status=redirect.status, headers=redirect.headers)
        except Exception as error:
            _log.error(error, "Request failed", method=request.method, path=request.path)
            return responses.text_page(f'Internal Server Error: "{request.path_qs}": {error}\n', 500)

    async def _refuse(self, request: web.Request) -> web.Response | None:
        """Return the answer to somebody who is not let in; None to those who are."""
        try:
            user = await self._authenticator.identify(credentials_of(request))
        except UnknownUserError as error:
            _log.error(error, "Unable to authenticate the request")
            return responses.failure(request, 401, "Unauthorized", "Unauthorized")
        wanted = AccessRequest(user, request.method.lower(), request.path)
        decision = await self._authorizer.decide(wanted)
        if decision.is_allowed:
            return None
        _log.v(4).info("Forbidden", URI=request.path_qs, reason=decision.reason)
        return responses.forbidden(request, reviewed(wanted), decision.reason)


def credentials_of(request: web.Request) -> RequestCredentials:
    tls = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
    return RequestCredentials(request.headers, tls.getpeercert(True) if tls is not None else None)


class AccessSettings(msgspec.Struct, frozen=True):
    """A path that ends in `*` stands for all that begin with it."""

    always_allowed_paths: tuple[str, ...] = OPEN_PATHS
    allowed_seconds: float = 10.0
    refused_seconds: float = 10.0


@dataclass(slots=True)
class DelegatedAuthorizer:
    """Decides about requests; without a reviewer, whatever is not always allowed is refused."""

    now_seconds: Callable[[], float]
    settings: AccessSettings = field(default_factory=AccessSettings)
    reviewer: Reviewer | None = None
    _decisions: ReviewCache[tuple[object, ...], AccessReview] = field(init=False)

    def __post_init__(self) -> None:
        self._decisions = ReviewCache(self.now_seconds)

    async def decide(self, request: AccessRequest) -> AccessReview:
        """Decide about a request; raises if the API server cannot be asked."""
        settings = self.settings
        if MASTERS in request.user.groups or is_listed(request.path, settings.always_allowed_paths):
            return AccessReview(True)
        if self.reviewer is None:
            return AccessReview(False)
        asked, user = reviewed(request), request.user
        key = (user.name, user.groups, user.uid, tuple(sorted(user.extra.items())), asked.verb, asked.path)
        known = self._decisions.get(key)
        if known is None:
            known = await self.reviewer.review_access(asked)
            seconds = settings.allowed_seconds if known.is_allowed else settings.refused_seconds
            self._decisions.put(key, known, seconds)
        return known


def reviewed(request: AccessRequest) -> AccessRequest:
    """Return what the API server is asked about: of what is below `/api`, the rest of the path.

    To discover the API server's own resources is everybody's right; to read what is served here is not.
    """
    if not request.path.startswith(f"{_DISCOVERY}/"):
        return request
    return msgspec.structs.replace(request, path=request.path.removeprefix(_DISCOVERY))


def is_listed(path: str, listed: Collection[str]) -> bool:
    """Say whether a path is among those listed, as it stands or by a prefix that ends in `*`."""
    path = path.removeprefix("/")
    for one in listed:
        one = one.removeprefix("/")
        if path == one or (one.endswith("*") and path.startswith(one[:-1])):
            return True
    return False
