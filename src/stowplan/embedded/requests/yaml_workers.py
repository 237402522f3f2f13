"""Long bodies in YAML, turned into JSON beside the event loop: by processes that are ended when they take too long.

A process is started when one is needed, and kept for the next body, but not for long: it keeps the memory that the
largest body took. There are few of them, and few bodies wait: whoever sends more is told to come again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Final

from stowplan.embedded.objects import yaml_worker
from stowplan.embedded.objects.errors import StatusError, bad_request

_MOST_WORKERS: Final = 2
#: Those that are being read among them.
_MOST_WAITING: Final = 16
#: A megabyte of ordinary YAML takes a second.
_READING_SECONDS: Final = 1.5
#: Twice what a body takes that can be read in that time.
_MEMORY_BYTES: Final = 160 * 1024 * 1024
#: How long a process waits for the next body.
_IDLE_SECONDS: Final = 2.0
#: Python itself has to start, on a machine that may be busy.
_STARTING_SECONDS: Final = 10.0


class YamlWorkers:
    """Owns the processes."""

    def __init__(
        self,
        reading_seconds: float = _READING_SECONDS,
        memory_bytes: int = _MEMORY_BYTES,
        most_waiting: int = _MOST_WAITING,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._reading_seconds = reading_seconds
        self._most_waiting = most_waiting
        self._memory_bytes = memory_bytes
        self._idle_seconds = idle_seconds
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        # By process, when it is no longer waited for bodies.
        self._retirements: dict[Process, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._turns = asyncio.Semaphore(_MOST_WORKERS)

    async def convert(self, body: bytes) -> bytes:
        """JSON for a body in YAML. Raise StatusError: 400 if it is not YAML, 413 if too long, 429 or 503 if busy."""
        if self._waiting >= self._most_waiting:
            raise StatusError(
                429, "TooManyRequests", f"many long bodies in YAML are being read; {_REMEDY}, or try again"
            )
        self._waiting += 1
        try:
            async with self._turns:
                return await self._convert(body)
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End every process; what is being read is not read to the end."""
        for worker in self._busy:
            worker.kill()
        while self._idle:
            await _end(self._take_idle())
        await asyncio.gather(*self._ending)

    async def _convert(self, body: bytes) -> bytes:
        worker = self._take_idle() if self._idle else await _start(self._memory_bytes)
        self._busy.add(worker)
        is_sound = False
        try:
            answer = await asyncio.wait_for(_ask(worker, body), self._reading_seconds)
            is_sound = True
        except TimeoutError:
            raise _too_much(f"takes longer than {self._reading_seconds:g} s to read") from None
        except (OSError, EOFError):
            raise _too_much("takes more memory to read than there is for it") from None
        finally:
            self._busy.discard(worker)
            if is_sound:
                self._keep(worker)
            else:
                # Also if the client has left: nobody wants to know any more.
                await _end(worker)
        return _json(answer)

    def _keep(self, worker: Process) -> None:
        """Have a process wait for the next body, or for the end."""
        self._idle.append(worker)
        loop = asyncio.get_running_loop()
        self._retirements[worker] = loop.call_later(self._idle_seconds, self._retire, worker)

    def _take_idle(self) -> Process:
        worker = self._idle.pop()
        self._retirements.pop(worker).cancel()
        return worker

    def _retire(self, worker: Process) -> None:
        self._idle.remove(worker)
        del self._retirements[worker]
        task = asyncio.get_running_loop().create_task(_end(worker))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


async def _start(memory_bytes: int) -> Process:
    """Start a process, and wait until it may be asked."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = (sys.executable, "-m", yaml_worker.__name__, str(memory_bytes))
    try:
        worker = await asyncio.create_subprocess_exec(
            *program, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
        )
    except OSError as error:
        raise _not_started(str(error)) from None
    try:
        await asyncio.wait_for(_read(worker), _STARTING_SECONDS)
    except BaseException as error:
        await _end(worker)
        if isinstance(error, TimeoutError | OSError | EOFError):
            raise _not_started(f"it was not there after {_STARTING_SECONDS:g} s, or ended at once") from None
        raise
    return worker


async def _ask(worker: Process, body: bytes) -> bytes:
    assert worker.stdin is not None
    worker.stdin.write(yaml_worker.LENGTH.pack(len(body)) + body)
    await worker.stdin.drain()
    return await _read(worker)


async def _read(worker: Process) -> bytes:
    assert worker.stdout is not None
    head = await worker.stdout.readexactly(yaml_worker.LENGTH.size)
    return await worker.stdout.readexactly(yaml_worker.LENGTH.unpack(head)[0])


async def _end(worker: Process) -> None:
    """End a process, and leave nothing open to it."""
    assert worker.stdin is not None
    if worker.returncode is None:
        worker.kill()
    worker.stdin.close()
    await worker.communicate()


def _json(answer: bytes) -> bytes:
    kind, rest = answer[:1], answer[1:]
    if kind == yaml_worker.REFUSED:
        raise bad_request(f"the object provided is unrecognized: {rest.decode()}")
    if kind == yaml_worker.TOO_LARGE:
        raise _too_much("takes more memory to read than there is for it")
    return rest


def _too_much(problem: str) -> StatusError:
    return StatusError(
        413, "RequestEntityTooLarge", f"Request entity too large: the YAML of the body {problem}; {_REMEDY}"
    )


def _not_started(why: str) -> StatusError:
    """Say that nobody can read a body now: the machine is at its limits, and the body may be as good as any."""
    problem = f"a process to read long YAML could not be started: {why}"
    return StatusError(503, "ServiceUnavailable", f"{problem}; {_REMEDY}, or try again")


_REMEDY: Final = "send the object as JSON"
