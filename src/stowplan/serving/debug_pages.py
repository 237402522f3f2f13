"""`/debug/`: what the scheduler has decided, and what its process is doing.

`/debug/stowplan/` says why a pod goes where it goes, who waits in the queue, what nodes have left. What is asked is
read here; the answers are `app/inspection.py`'s.

`/debug/pprof/` says what Python can tell of a running scheduler, and a plain word about what it cannot: `goroutine`
lists the tasks and threads with their stacks; `profile` runs Python's profiler for some seconds and gives its table,
which is text and not pprof's format. Profiling slows the scheduler down while it lasts. `/debug/flags/v` sets the
verbosity.
"""

from __future__ import annotations

import asyncio
import cProfile
import io
import pstats
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from stowplan.model.node import Node
from stowplan.serving import responses
from stowplan.serving.responses import Handler

EXPLAIN: Final = "/debug/stowplan/explain"
QUEUE: Final = "/debug/stowplan/queue"
NODES: Final = "/debug/stowplan/nodes"
_WIDEST: Final = 1000
DEFAULT_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 300.0
TOP: Final = 60

OFFERED: Final = {
    "cmdline": "the command line, its parts separated by NUL",
    "goroutine": "stacks of all asyncio tasks and threads",
    "profile": "CPU profile as a table; GET parameter seconds=30",
}
NOT_OFFERED: Final = ("allocs", "block", "heap", "mutex", "symbol", "threadcreate", "trace")


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
class ExplainAnswer:
    """An explanation for programs, or for people."""

    data: dict[str, Any] | None = None
    text: str = ""


class Inspector(Protocol):
    """Who knows the answers. Each raises UnknownObjectError if asked about something that is not there."""

    async def explain(self, query: ExplainQuery) -> ExplainAnswer: ...

    async def queue(self, query: QueueQuery) -> dict[str, Any]: ...

    async def nodes(self, query: NodesQuery) -> dict[str, Any]: ...


def inspection_pages(inspector: Inspector) -> dict[str, Handler]:
    """Return the pages about decisions by path."""

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
            return responses.method_not_allowed(request)
        try:
            return await handler(request)
        except UnknownObjectError as error:
            return responses.failure(request, 404, "NotFound", str(error))
        except BadQueryError as error:
            return responses.failure(request, 400, "BadRequest", str(error))

    return handle


# The process


def process_pages(set_verbosity: Callable[[str], str]) -> dict[str, Handler]:
    """Return the pages about the process by path."""

    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPFound("/debug/pprof/")

    async def flags(request: web.Request) -> web.Response:
        return responses.text_page("/debug/flags/\n\nflags:\n  v  verbosity of the log; PUT a number\n")

    async def verbosity(request: web.Request) -> web.Response:
        if request.method != "PUT":
            return responses.text_page("unsupported http method\n", 406)
        try:
            return responses.text_page(set_verbosity(await request.text()) + "\n")
        except ValueError as error:
            return responses.text_page(f"{error}\n", 400)

    return {
        "/debug/pprof": redirect,
        "/debug/pprof/": _profile,
        "/debug/pprof/{profile}": _profile,
        "/debug/flags": flags,
        "/debug/flags/": flags,
        "/debug/flags/v": verbosity,
    }


async def _profile(request: web.Request) -> web.Response:
    match request.match_info.get("profile", ""):
        case "":
            return responses.text_page(pprof_index())
        case "cmdline":
            return responses.text_page(command_line())
        case "goroutine":
            return responses.text_page(stacks())
        case "profile":
            seconds = request.query.get("seconds", "")
            return responses.text_page(await profile(float(seconds or DEFAULT_SECONDS)))
        case name if name in NOT_OFFERED:
            return responses.text_page(f"{name}: not available in Python; see /debug/pprof/ for what is\n", 404)
        case _:
            raise web.HTTPNotFound


def pprof_index() -> str:
    """Say what there is and what there is not."""
    lines = ["/debug/pprof/", "", "Profiles of this Python process:"]
    lines += [f"  {name:<12}{what}" for name, what in OFFERED.items()]
    lines += ["", f"Not available in Python: {', '.join(NOT_OFFERED)}", ""]
    return "\n".join(lines)


def command_line() -> str:
    return "\0".join(sys.argv)


def stacks() -> str:
    """Write down where every task and thread is."""
    out = io.StringIO()
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    out.write(f"{len(tasks)} tasks\n\n")
    for task in tasks:
        out.write(f"task {task.get_name()}:\n")
        task.print_stack(file=out)
        out.write("\n")
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for identity, frame in sys._current_frames().items():  # noqa: SLF001 (its documented name)
        out.write(f"thread {names.get(identity, identity)}:\n")
        out.write("".join(traceback.format_stack(frame)))
        out.write("\n")
    return out.getvalue()


async def profile(seconds: float) -> str:
    """Profile the event loop's thread for some seconds; return the table of where the time went."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        await asyncio.sleep(min(seconds, LONGEST_SECONDS))
    finally:
        profiler.disable()
    out = io.StringIO()
    pstats.Stats(profiler, stream=out).sort_stats("cumulative").print_stats(TOP)
    return out.getvalue()
