"""`/debug/pprof/`: what Python can tell of a running scheduler, and a plain word about what it cannot.

`goroutine` lists the tasks and threads with their stacks; `profile` runs Python's profiler for some seconds and gives
its table, which is text and not pprof's format. Profiling slows the scheduler down while it lasts.
"""

from __future__ import annotations

import asyncio
import cProfile
import io
import pstats
import sys
import threading
import traceback
from typing import Final

DEFAULT_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 300.0
TOP: Final = 60

OFFERED: Final = {
    "cmdline": "the command line, its parts separated by NUL",
    "goroutine": "stacks of all asyncio tasks and threads",
    "profile": "CPU profile as a table; GET parameter seconds=30",
}
NOT_OFFERED: Final = ("allocs", "block", "heap", "mutex", "symbol", "threadcreate", "trace")


def index() -> str:
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
