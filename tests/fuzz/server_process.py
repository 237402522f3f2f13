"""The server under attack: `stowplan up` in a process of its own, what it writes, and how much memory it has."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fuzz.client import Address
from tests.integration.up.up_process import environment

_URL: Final = re.compile(rb"https?://127\.0\.0\.1:(\d+)")
#: How a line of the log begins, as klog writes it.
_NEW_LINE: Final = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d")
_NODES: Final = 5
_START_SECONDS: Final = 120
_END_SECONDS: Final = 60

#: The ways in which the server is started, by name.
#: Groups of pods are attacked, too.
_GATES: Final = ("--feature-gates", "GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "plain": (),
    "kept": ("--data", "data", "--audit-log", "audit.log"),
    "guarded": ("--token", "fuzz-token", "--authorization", "rbac"),
}


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A server that runs."""

    process: asyncio.subprocess.Process
    address: Address
    _reading: tuple[asyncio.Task[None], ...]

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    def resident_bytes(self) -> int:
        """How much memory it has that is not files, with the processes that it started."""
        return sum(_resident_bytes(pid) for pid in _with_children(self.process.pid))

    async def end(self) -> int:
        """Stop it as a user does; return its exit code."""
        if self.is_running:
            self.process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self.process.wait()
        if self.is_running:
            self.process.kill()
        code = await self.process.wait()
        await asyncio.gather(*self._reading)
        return code


def _with_children(pid: int) -> list[int]:
    found = [pid]
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in listed.read_text(encoding="utf-8").split():
                found += _with_children(int(child))
    return found


def _resident_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        # One that has ended meanwhile.
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


async def start(folder: Path, variant: str, hear: Callable[[str], None]) -> ServerProcess:
    """Start a server; `hear` is told what it writes to its log, a traceback in one piece."""
    options = VARIANTS[variant]
    os.makedirs(folder, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stowplan", "up", "--nodes", str(_NODES), "--port", "0", *_GATES, *options),
        cwd=folder,
        env=environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    log = asyncio.create_task(_hear_log(process.stderr, folder / "stderr.log", hear))
    async with asyncio.timeout(_START_SECONDS):
        api, pages = await _introduction(process.stdout)
    rest = asyncio.create_task(_drop(process.stdout))
    token = options[options.index("--token") + 1] if "--token" in options else ""
    return ServerProcess(process, Address(api, pages, token), (log, rest))


async def _introduction(out: asyncio.StreamReader) -> tuple[int, int]:
    ports: list[int] = []
    async for line in out:
        ports += [int(port) for port in _URL.findall(line)]
        if line.startswith(b"Ctrl-C"):
            return ports[0], ports[-1]
    raise AssertionError("the server did not come up: see stderr.log in its folder")


async def _drop(out: asyncio.StreamReader) -> None:
    while await out.read(65536):
        pass


async def _hear_log(log: asyncio.StreamReader, copy: Path, hear: Callable[[str], None]) -> None:
    """Tell what is logged; lines that are indented, or begin a traceback, belong to the one before."""
    block: list[str] = []
    with copy.open("w", encoding="utf-8") as kept:
        while line := (await log.readline()).decode("utf-8", "replace"):
            kept.write(line)
            kept.flush()
            if block and not _continues(block, line):
                hear("".join(block))
                block = []
            block.append(line)
    if block:
        hear("".join(block))


def _continues(block: list[str], line: str) -> bool:
    if _NEW_LINE.match(line):
        return False
    if line.startswith((" ", "\t", "Traceback", "\n")):
        return True
    # The last line of a traceback, and what led to it.
    is_in_traceback = any(each.startswith("Traceback") for each in block) and block[-1].startswith((" ", "\n"))
    return is_in_traceback or line.startswith(("During handling", "The above exception"))
