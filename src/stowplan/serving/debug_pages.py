"""`/debug/`: what the scheduler has decided, and what its process is doing.

`/debug/stowplan/` says why a pod goes where it goes, who waits in the queue, what nodes have left: questions that
`app/inspection.py` answers.

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
from typing import Final

from aiohttp import web

from stowplan.serving import responses
from stowplan.serving.responses import Handler

EXPLAIN: Final = "/debug/stowplan/explain"
QUEUE: Final = "/debug/stowplan/queue"
NODES: Final = "/debug/stowplan/nodes"
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


def number_in(request: web.Request, name: str, default: int, least: int = 0) -> int:
    """Read a parameter that is a whole number."""
    text = request.query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and int(text[:9]) >= least):
        raise BadQueryError(f"{name}: Invalid value: {text!r}: write a whole number of at least {least}")
    return int(text[:9])


def answered(handler: Handler) -> Handler:
    """Let a question that cannot be answered end in a Status."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            message = f"{request.method} is not supported on {request.path}; it can only be read"
            return responses.failure(request, 405, "MethodNotAllowed", message)
        try:
            return await handler(request)
        except UnknownObjectError as error:
            return responses.failure(request, 404, "NotFound", str(error))
        except BadQueryError as error:
            return responses.failure(request, 400, "BadRequest", str(error))

    return handle


# The process


def process_pages(set_verbosity: Callable[[str], str]) -> dict[str, Handler]:

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
            return responses.text_page("\0".join(sys.argv))
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
