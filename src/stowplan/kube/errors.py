"""What a request may end with instead of an answer: the server said no, or nobody knows what it said.

`ApiError` is the server's word. Its text is the server's message alone, because users read it in events and conditions;
`describe` adds the request for logs. `TransportError` is the lack of an answer, and says whether the request may have
been carried out nevertheless.
"""

from __future__ import annotations

import msgspec

FORBIDDEN = 403
NOT_FOUND = 404
CONFLICT = 409
GONE = 410
UNSUPPORTED_MEDIA_TYPE = 415
INVALID = 422
TOO_MANY_REQUESTS = 429
TOO_LARGE_RESOURCE_VERSION = "Too large resource version"
_PASSING = {500: "InternalError", 503: "ServiceUnavailable"}


class StatusCause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True):
    causes: tuple[StatusCause, ...] | None = None


class ApiStatus(msgspec.Struct, frozen=True):
    """A metav1.Status: what the server sends with an error, and as the object of a watch's ERROR event."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class RequestError(Exception):
    """A request without a usable answer; `verb` and `path` say which."""

    def __init__(self, verb: str, path: str, text: str) -> None:
        super().__init__(text)
        self.verb, self.path = verb, path

    def describe(self) -> str:
        """The error with its request, for logs."""
        return str(self)


class ApiError(RequestError):
    """The server refused. `retry_after` is the number of seconds it asks to wait, None if it does not ask."""

    def __init__(self, verb: str, path: str, status: ApiStatus, retry_after: float | None = None) -> None:
        super().__init__(verb, path, status.message)
        self.code, self.reason, self.message = status.code, status.reason, status.message
        self.retry_after = retry_after
        self._causes = (status.details.causes or ()) if status.details is not None else ()

    def describe(self) -> str:
        return f"{self.verb} {self.path}: {self.code} {self.reason or 'without a reason'}: {self.message}"

    @property
    def is_not_found(self) -> bool:
        return self.code == NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        return self.code == CONFLICT and self.reason != "AlreadyExists"

    @property
    def is_already_exists(self) -> bool:
        return self.code == CONFLICT and self.reason == "AlreadyExists"

    @property
    def is_expired(self) -> bool:
        """Whether a resourceVersion or a continue token is too old: list again."""
        return self.code == GONE or self.reason in ("Expired", "Gone")

    @property
    def is_version_unknown(self) -> bool:
        """Whether the server has not come as far as the resourceVersion asked for, say after a restored backup."""
        if any(cause.reason == "ResourceVersionTooLarge" for cause in self._causes):
            return True
        texts = (self.message, *(cause.message for cause in self._causes))
        return any(TOO_LARGE_RESOURCE_VERSION in text for text in texts)

    @property
    def is_about_another(self) -> bool:
        """Whether the object of that name is not the one whose uid was given: ours is gone."""
        is_immutable = self.code == INVALID and any(cause.field == "metadata.uid" for cause in self._causes)
        return is_immutable or (self.is_conflict and "UID in precondition" in self.message)

    @property
    def is_forbidden(self) -> bool:
        return self.code == FORBIDDEN

    @property
    def is_unavailable(self) -> bool:
        """Whether the resource cannot be had with these permissions from this server."""
        return self.code in (FORBIDDEN, NOT_FOUND, 405)

    @property
    def is_server_fault(self) -> bool:
        return self.code >= 500

    @property
    def may_pass(self) -> bool:
        """Whether it is a fault of the server that upstream tries again: an internal error, or nobody is there."""
        return self.reason in _PASSING.values() or (not self.reason and self.code in _PASSING)


class TransportError(RequestError):
    """No answer, or one that cannot be read. `may_have_arrived`: the server may have done what was asked."""

    def __init__(self, request: tuple[str, str], problem: str, *, may_have_arrived: bool, is_timeout: bool) -> None:
        verb, path = request
        super().__init__(verb, path, f"{verb} {path}: {problem}")
        self.problem, self.may_have_arrived, self.is_timeout = problem, may_have_arrived, is_timeout


def status_of(code: int, reason_phrase: str, body: bytes) -> ApiStatus:
    """Read the Status of an error response; a proxy's page becomes one in its own words."""
    try:
        status = msgspec.json.decode(body, type=ApiStatus)
    except (msgspec.DecodeError, UnicodeError):
        status = ApiStatus()
    if status.kind == "Status" and status.message:
        return msgspec.structs.replace(status, code=status.code or code)
    text = " ".join(body[:200].decode(errors="replace").split())
    said = f" ({text})" if text else ""
    message = f"the server answered {code} {reason_phrase} without saying why{said}; see its log, or a proxy's between"
    return ApiStatus(message=message, code=code)
