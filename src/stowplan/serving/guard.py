"""What every request passes: it must say who it is from and be allowed; faults end in an answer, not in silence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from stowplan.observe.logs import log_for
from stowplan.serving import statuses
from stowplan.serving.authentication import Authenticator, Credentials, UnknownUserError
from stowplan.serving.authorization import Authorizer
from stowplan.serving.identity import AccessRequest

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_log = log_for(__name__)


class Guard:
    """Authentication, then authorization, as middleware."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer) -> None:
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
            return statuses.internal_error(request, error)

    async def _refuse(self, request: web.Request) -> web.Response | None:
        """Return the answer to somebody who is not let in; None to those who are."""
        try:
            user = await self._authenticator.identify(credentials_of(request))
        except UnknownUserError as error:
            _log.error(error, "Unable to authenticate the request")
            return statuses.unauthorized(request)
        wanted = AccessRequest(user, request.method.lower(), request.path)
        decision = await self._authorizer.decide(wanted)
        if decision.is_allowed:
            return None
        _log.v(4).info("Forbidden", URI=request.path_qs, reason=decision.reason)
        return statuses.forbidden(request, wanted, decision.reason)


def credentials_of(request: web.Request) -> Credentials:
    headers: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), []).append(value)
    tls = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
    return Credentials(headers, tls.getpeercert(True) if tls is not None else None)
