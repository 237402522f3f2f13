"""`POST /debug/stowplan/whatif`: questions to a running scheduler, which goes on scheduling meanwhile.

A short question is answered between two cycles, by the scheduler itself, and taken back. A longer one goes to a forked
child, which has everything as it stood at that moment, answers into a pipe and ends: the scheduler is held up for as
long as forking takes. One child at a time; it has a limit of time, and the question one of size.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from stowplan.app import what_if
from stowplan.app.cluster import Cluster
from stowplan.app.question_bodies import BodyError, QuestionBodies
from stowplan.model.pod import Pod
from stowplan.serving import responses
from stowplan.serving.responses import Handler
from stowplan.whatif import requests
from stowplan.whatif.requests import WhatIf
from stowplan.whatif.world import QuestionError

T = TypeVar("T")
#: Runs something while no cycle is under way.
BetweenCycles = Callable[[Callable[[int], Any]], Awaitable[Any]]

WHATIF: Final = "/debug/stowplan/whatif"
LONGEST_SECONDS: Final = 60.0
_ANSWERED, _REFUSED = b"+", b"-"
#: A question that has to share a core with the scheduler or the API server gets about a tenth of it.
_NICENESS: Final = 10
#: The last of those that every process has: logs may go to a socket, too.
_STDERR: Final = 2


class WhatIfPage:
    """Answers questions about one scheduler."""

    def __init__(
        self,
        cluster: Callable[[], Cluster],
        waiting: Callable[[], Sequence[Pod]],
        between_cycles: BetweenCycles,
        bodies: QuestionBodies,
    ) -> None:
        self._cluster, self._waiting, self._between_cycles, self._bodies = cluster, waiting, between_cycles, bodies
        self._is_busy = False

    def pages(self) -> dict[str, Handler]:
        return {WHATIF: self._page}

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            message = f"{request.method} is not supported on {request.path}; POST a question (`stowplan manual whatif`)"
            return responses.failure(request, 405, "MethodNotAllowed", message)
        try:
            asked = requests.read(await self._bodies.read(request))
            return web.Response(body=await self._answer(asked), content_type="application/json")
        except QuestionError as error:
            return responses.failure(request, 400, "BadRequest", str(error))
        except BodyError as error:
            return responses.failure(request, error.code, error.reason, str(error))
        except TimeoutError:
            message = f"it takes longer than {LONGEST_SECONDS:g} s; ask for less, or on a snapshot in files"
            return responses.failure(request, 504, "Timeout", message)
        except BusyError:
            message = "another question is being answered; ask again when that is done"
            return responses.failure(request, 429, "TooManyRequests", message)

    async def _answer(self, asked: WhatIf) -> bytes:
        cluster = self._cluster()

        def answer() -> bytes:
            return msgspec.json.encode(what_if.ask(cluster, asked, self._waiting()))

        if requests.is_short(asked, bool(cluster.extenders)):
            answered: bytes = await self._between_cycles(lambda now_ns: answer())
            return answered
        if self._is_busy:
            raise BusyError
        self._is_busy = True
        try:
            child: Child = await self._between_cycles(lambda now_ns: fork(answer))
            return await child.answer()
        finally:
            self._is_busy = False


class BusyError(Exception):
    """A child is answering another question."""


# In a child


class Child:
    """A forked process that answers one question."""

    def __init__(self, pid: int, pipe: int) -> None:
        self._pid, self._pipe = pid, pipe

    async def answer(self) -> bytes:
        """Wait for the answer; raise QuestionError if there is none, TimeoutError if it takes too long."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._pipe, "rb")
        )
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                said = await reader.read(-1)
        finally:
            transport.close()
            self._end()
        if said[:1] == _ANSWERED:
            return said[1:]
        raise QuestionError(said[1:].decode() or "the process that was to answer it ended; look at the scheduler's log")

    def _end(self) -> None:
        """Have the child be gone, whatever it is doing."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def fork(answer: Callable[[], bytes]) -> Child:
    """Answer in a copy of this process; it shares its memory, and nothing that it does is seen here."""
    read_end, write_end = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if pid:
        os.close(write_end)
        return Child(pid, read_end)
    try:
        _in_child(answer, write_end)
    finally:
        # Neither what is to happen at exit, nor what is buffered, is the child's to do.
        os._exit(0)


def _in_child(answer: Callable[[], bytes], pipe: int) -> None:
    # Where there are few cores, pods come before questions.
    os.nice(_NICENESS)
    # What is not looked at is not written to, and so not copied.
    gc.disable()
    _leave_connections()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    signal.alarm(int(LONGEST_SECONDS) + 5)
    try:
        said = _ANSWERED + answer()
    except QuestionError as error:
        said = _REFUSED + str(error).encode()
    except Exception as error:
        said = _REFUSED + f"it could not be answered: {type(error).__name__}: {error}".encode()
    with os.fdopen(pipe, "wb") as out:
        out.write(said)


def _leave_connections() -> None:
    """Close the copies of all connections: who is at the other end waits until the last one is closed."""
    for name in os.listdir("/dev/fd"):
        number = int(name)
        # The one that lists them is gone by now.
        with suppress(OSError):
            if number > _STDERR and stat.S_ISSOCK(os.fstat(number).st_mode):
                os.close(number)
