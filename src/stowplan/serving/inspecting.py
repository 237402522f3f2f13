"""`/debug/stowplan/`: why a pod goes where it goes, who waits in the queue, what nodes have left.

What is asked is read here; the answers are `app.inspection`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from stowplan.model.node import Node
from stowplan.serving import statuses

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

EXPLAIN: Final = "/debug/stowplan/explain"
QUEUE: Final = "/debug/stowplan/queue"
NODES: Final = "/debug/stowplan/nodes"
_WIDEST: Final = 1000


class UnknownObjectError(LookupError):
    """Something was asked about that is not there; the text says what."""


class BadQueryError(ValueError):
    """A question that cannot be understood; the text names the parameter."""


class ExplainQuery(msgspec.Struct, frozen=True):
    """Which pod is to be explained, and how much is to be said."""

    pod: str
    #: Nodes to say everything about.
    nodes: tuple[str, ...] = ()
    has_every_node: bool = False
    top: int = 5
    is_text: bool = False
    width: int = 100


class QueueQuery(msgspec.Struct, frozen=True):
    """Which of the waiting pods are to be shown; limit 0 shows all."""

    place: str = ""
    namespace: str = ""
    limit: int = 0


class NodesQuery(msgspec.Struct, frozen=True):
    """Which nodes are to be shown, in which order; `sort` is `name` or the resource that is most taken."""

    labels: tuple[tuple[str, str], ...] = ()
    name_part: str = ""
    sort: str = ""
    limit: int = 0

    def wants(self, node: Node) -> bool:
        labels = node.metadata.labels
        return self.name_part in node.metadata.name and all(labels.get(key) == value for key, value in self.labels)


@dataclass(frozen=True, slots=True)
class Answer:
    """An explanation for programs, or for people."""

    data: dict[str, Any] | None = None
    text: str = ""


class Inspector(Protocol):
    """Who knows the answers. Each raises UnknownObjectError if asked about something that is not there."""

    async def explain(self, query: ExplainQuery) -> Answer: ...

    async def queue(self, query: QueueQuery) -> dict[str, Any]: ...

    async def nodes(self, query: NodesQuery) -> dict[str, Any]: ...


def handlers(inspector: Inspector) -> dict[str, Handler]:
    """Return the pages by path."""

    async def explain(request: web.Request) -> web.Response:
        answer = await inspector.explain(explain_query(request))
        return web.json_response(answer.data) if answer.data is not None else web.Response(text=answer.text)

    async def queue(request: web.Request) -> web.Response:
        given = request.query
        query = QueueQuery(given.get("place", ""), given.get("namespace", ""), _number(request, "limit", 0))
        return web.json_response(await inspector.queue(query))

    async def nodes(request: web.Request) -> web.Response:
        return web.json_response(await inspector.nodes(nodes_query(request)))

    return {path: _answered(handler) for path, handler in ((EXPLAIN, explain), (QUEUE, queue), (NODES, nodes))}


def explain_query(request: web.Request) -> ExplainQuery:
    """Read what is to be explained."""
    given = request.query
    if not given.get("pod"):
        raise BadQueryError("pod: Required value: write ?pod=NAMESPACE/NAME")
    return ExplainQuery(
        pod=given["pod"],
        nodes=tuple(filter(None, given.get("node", "").split(","))),
        has_every_node=given.get("nodes", "") == "all",
        top=_number(request, "top", 5, least=1),
        is_text=given.get("format", "") == "text",
        width=min(_number(request, "width", 100, least=40), _WIDEST),
    )


def nodes_query(request: web.Request) -> NodesQuery:
    """Read which nodes are to be shown."""
    given = request.query
    labels = []
    for piece in filter(None, given.get("labels", "").split(",")):
        key, equals, value = piece.partition("=")
        if not (key and equals):
            raise BadQueryError(f"labels: Invalid value: {piece!r}: write key=value,key=value")
        labels.append((key, value))
    return NodesQuery(tuple(labels), given.get("name", ""), given.get("sort", ""), _number(request, "limit", 0))


def _number(request: web.Request, name: str, default: int, least: int = 0) -> int:
    text = request.query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and int(text[:9]) >= least):
        raise BadQueryError(f"{name}: Invalid value: {text!r}: write a whole number of at least {least}")
    return int(text[:9])


def _answered(handler: Handler) -> Handler:
    """Let a question that cannot be answered end in a Status."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            return statuses.method_not_allowed(request)
        try:
            return await handler(request)
        except UnknownObjectError as error:
            return statuses.not_found(request, str(error))
        except BadQueryError as error:
            return statuses.bad_request(request, str(error))

    return handle
