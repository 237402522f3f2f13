"""Runs `stowplan up` as a user does: in a process of its own, in a folder of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.limits import LIMIT_SECONDS

SOURCE = Path(__file__).resolve().parents[3] / "src"
PROGRAM = [sys.executable, "-m", "stowplan"]


@dataclass
class Up:
    """A cluster that runs."""

    process: subprocess.Popen[str]
    folder: Path
    url: str
    #: Where the scheduler's pages are; "" if it has none.
    scheduler: str
    #: The commands of ours that it offers to try.
    offered: list[str]

    def get(self, path: str, **headers: str) -> Any:
        """Read from the API."""
        return self.send("GET", path, None, **headers)[1]

    def send(self, verb: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """Send a request; return code and answer, whatever it is."""
        data = json.dumps(body).encode() if body is not None else None
        url = path if path.startswith("http") else f"{self.url}{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"} | headers)
        request.method = verb
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
                text = answer.read().decode()
                return answer.status, json.loads(text) if "json" in answer.headers["Content-Type"] else text
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something in the cluster to become true."""
        end = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)

    def tell_again(self, number: signal.Signals) -> str:
        """Send a signal; return the next note that it writes, and nothing if there is none."""
        self.process.send_signal(number)
        assert self.process.stderr is not None
        with _not_for_ever(self.process):
            return next((line for line in self.process.stderr if line.startswith("note: ")), "")

    def node_of(self, name: str, namespace: str = "default") -> str:
        code, pod = self.send("GET", f"/api/v1/namespaces/{namespace}/pods/{name}", None)
        return pod["spec"].get("nodeName", "") if code == 200 else ""

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Stop it; return the exit code and what it had still to say."""
        self.process.send_signal(number)
        assert self.process.stdout is not None
        with _not_for_ever(self.process):
            # Not by `communicate`, which does not know of what was read ahead with the introduction.
            out = self.process.stdout.read()
        return self.process.wait(), out


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run what somebody types in a shell."""
    return subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )


def run(folder: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a subcommand to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Up]:
    """Have a cluster while the block runs; it is killed if it has not been ended by then."""
    port = () if "--port" in arguments else ("--port", "0")
    with started(folder, "up", *port, *arguments) as process:
        with _not_for_ever(process):
            introduction = _introduction(process)
        url, *pages = [word for line in introduction for word in line.split() if word.startswith("http")]
        metrics = [page.removesuffix("/metrics") for page in pages if page.endswith("/metrics")]
        offered = [line[14:].rstrip() for line in introduction if " -m stowplan " in line]
        yield Up(process, folder, url, "".join(metrics), offered)


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Have a subcommand run while the block does; it is killed if it has not ended by then."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with _until_left(process):
        yield process


@contextmanager
def _until_left(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


@contextmanager
def _not_for_ever(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a process that does not say in time what is read inside the block, so that there is no more to read."""
    guard = threading.Timer(LIMIT_SECONDS, process.kill)
    guard.start()
    try:
        yield
    finally:
        guard.cancel()


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "STOWPLAN_TOKEN")}
    return kept | {"PYTHONPATH": str(SOURCE), "COLUMNS": "120"}


def _introduction(process: subprocess.Popen[str]) -> list[str]:
    """Read what it says up to the end of the introduction."""
    assert process.stdout is not None
    found: list[str] = []
    for line in process.stdout:
        found.append(line)
        if line.startswith("Ctrl-C"):
            return found
    assert process.stderr is not None
    raise AssertionError(f"it did not come up: {process.stderr.read()}")
