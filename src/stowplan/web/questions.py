"""How a question to the API of the page is read, answered and refused: in JSON, whatever happens.

`api.py` lists the questions. Who may ask at all is up to the server (`serving/authorization.py`); here web pages of
others are kept out, which a browser would let in with the credentials of whoever sits there.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from msgspec import Meta, inspect

from stowplan.app.question_bodies import BodyError
from stowplan.app.what_if_page import BusyError
from stowplan.observe.logs import log_for
from stowplan.serving import responses
from stowplan.serving.debug_pages import BadQueryError, UnknownObjectError
from stowplan.serving.responses import Handler
from stowplan.web.answers import JsonAnswer
from stowplan.whatif.world import QuestionError

S = TypeVar("S")

ROOT: Final = "/api/stowplan/v1/"
MOST_LISTED: Final = 10_000
_OWN_SITES: Final = ("same-origin", "none")
_PORTS: Final = {"http": 80, "https": 443}
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

_log = log_for(__name__)

#: How many things are listed at most.
Limit = Annotated[int, Meta(ge=1, le=MOST_LISTED)]


class Query(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The parameters of a question; none, as it stands."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that can be understood."""

    request: web.Request
    query: Any

    def part(self, name: str) -> str:
        """Return a part of the path."""
        return self.request.match_info[name]


@dataclass(frozen=True, slots=True)
class PageQuestion(Generic[S]):
    """One question of the API, to a source of type S."""

    path: str
    summary: str
    answer: Any
    ask: Callable[[S, Asked], Awaitable[JsonAnswer | bytes | web.StreamResponse]]
    query: type[Query] = Query
    #: What is posted; None if nothing is.
    body: Any = None
    media_type: str = "application/json"
    #: Codes of answers beyond those that every question may get.
    failures: tuple[int, ...] = ()

    @property
    def method(self) -> Literal["GET", "POST"]:
        return "GET" if self.body is None else "POST"

    @property
    def parameters(self) -> list[str]:
        """The names in the path."""
        return _PARAMETER.findall(self.path)

    def route(self) -> str:
        """Return the path as a server matches it: a name may have any character but a slash."""
        return ROOT + _PARAMETER.sub(r"{\1:[^/]+}", self.path)


def handler(operation: PageQuestion[S], source: S) -> Handler:
    """Return who answers a question."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method != operation.method:
            message = f"{request.method} is not supported on {request.path}; {operation.method} it"
            refused = failure(request, 405, "MethodNotAllowed", message)
            refused.headers["Allow"] = operation.method
            return refused
        refused_page = _refuse_foreign_page(request)
        if refused_page is not None:
            return refused_page
        try:
            said = await operation.ask(source, Asked(request, _read_query(request, operation.query)))
        except Exception as error:
            return _failed(request, error)
        if isinstance(said, web.StreamResponse):
            if not said.prepared:
                said.headers.update(HEADERS)
            return said
        body = said if isinstance(said, bytes) else msgspec.json.encode(said)
        return web.Response(body=body, content_type="application/json", headers=HEADERS)

    return answer


async def unknown(request: web.Request) -> web.StreamResponse:
    """Answer a question that there is not."""
    return failure(request, 404, "NotFound", f"{request.path} is not here; see {ROOT}openapi.json for what is")


def failure(request: web.Request, code: int, reason: str, message: str) -> web.Response:
    """Answer with a Status that no browser takes for anything else."""
    response = responses.failure(request, code, reason, message)
    response.headers.update(HEADERS)
    return response


def _failed(request: web.Request, error: Exception) -> web.Response:
    match error:
        case UnknownObjectError():
            return failure(request, 404, "NotFound", str(error))
        case BadQueryError() | QuestionError():
            return failure(request, 400, "BadRequest", str(error))
        case BodyError():
            return failure(request, error.code, error.reason, str(error))
        case BusyError():
            message = "others wait for such an answer already; ask again in a moment"
            return failure(request, 429, "TooManyRequests", message)
        case TimeoutError():
            return failure(request, 504, "Timeout", "it takes too long; ask for less")
    _log.error(error, "Request failed", method=request.method, path=request.path)
    return failure(request, 500, "InternalError", f"it could not be answered: {type(error).__name__}; see the log")


# What a question brings along


def _read_query(request: web.Request, kind: type[Query]) -> Query:
    given: dict[str, str] = {}
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for name, text in request.query.items():
        if name not in known:
            raise BadQueryError(f"{name}: unknown parameter; known: {', '.join(known) or 'none'}")
        if name in given:
            raise BadQueryError(f"{name}: is there twice; give it once")
        given[name] = text
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`")
        raise BadQueryError(f"{name}: Invalid value: {given.get(name, '')!r}: {text}{_choices(kind, name)}") from None


def _choices(kind: type[Query], name: str) -> str:
    """Say what a parameter may be that is one of a few words."""
    fields = {field.encode_name: field.type for field in inspect.type_info(kind).fields}  # type: ignore[attr-defined]
    wanted = fields[name]
    types = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    words = [member.value for one in types if isinstance(one, inspect.EnumType) for member in one.cls]
    return f"; known: {', '.join(words)}" if words else ""


def _refuse_foreign_page(request: web.Request) -> web.Response | None:
    """Refuse what a web page of somebody else sends; a program that is no browser sends neither header."""
    given = request.headers
    origin, site = given.get("Origin"), given.get("Sec-Fetch-Site")
    remedy = "pages of other origins may not use this server; a program that is no browser leaves the header out"
    if origin is not None and _origin(origin) != _origin(f"{request.scheme}://{request.host}"):
        return failure(request, 403, "Forbidden", f'forbidden: the header Origin is "{origin[:100]}": {remedy}')
    if site is not None and site.lower() not in _OWN_SITES:
        return failure(request, 403, "Forbidden", f'forbidden: the header Sec-Fetch-Site is "{site[:100]}": {remedy}')
    return None


def _origin(text: str) -> tuple[str, str, int | None] | str:
    """Return scheme, name and port; the text itself if it is no origin, which equals none."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return text
    if not parts.hostname or "@" in parts.netloc or text.partition("://")[2].lower() != parts.netloc.lower():
        return text
    return parts.scheme, parts.hostname, _PORTS.get(parts.scheme) if port is None else port
