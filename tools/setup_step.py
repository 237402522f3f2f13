"""Runs one step of setting up, and says in one line what it is at and how far; all that it wrote only if it fails.

    python tools/setup_step.py 2/3 "Installing ..." -- .uv/bin/uv sync

In a terminal the line is rewritten, elsewhere there is a new one every few seconds. The last line says how it ended;
after a failure that is one sentence with the remedy. The Makefile runs it before anything is installed, so that it
needs nothing but Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

#: How often a terminal's line is rewritten; elsewhere, how long it takes to a new line, and to the same one again.
REDRAWN_SECONDS: Final = 0.2
NEWS_SECONDS: Final = 2.0
SAME_SECONDS: Final = 5.0
INTERRUPTED: Final = 130
#: What a command says to be told as it is.
STAGE: Final = "stage: "

_DOWNLOADING: Final = re.compile(r"\s*Downloading (?P<name>\S+) \((?P<size>[^)]+)\)")
_DOWNLOADED: Final = re.compile(r"\s*Downloaded (?P<name>\S+)")
_BUILDING: Final = re.compile(r"\s*Building (?P<name>\S+)")
_PREPARED: Final = re.compile(r"Prepared (?P<count>\d+ packages?)")
_INSTALLED: Final = re.compile(r"Installed (?P<count>\d+ packages?)")
#: An archive as pip names it, with version and platform behind the name.
_ARCHIVE: Final = re.compile(r"(?P<name>[^-/]+)-\d[^/]*\.(?:whl|tar\.gz)(?:\.metadata)?$")

#: What can be done about it, by what was written; the first that is found counts.
REMEDIES: Final[Sequence[tuple[str, str]]] = (
    (
        r"No space left on device|os error 28|Disk quota exceeded",
        "there is no space left on the disk; make room, about 500 MB, in this folder and in the home folder",
    ),
    (
        r"ensurepip is not available|No module named '?(venv|ensurepip)",
        "this Python cannot make environments; install what is missing (Debian and Ubuntu have it in python3-venv), "
        "or name another: make PYTHON=path/to/python",
    ),
    (
        r"invalid peer certificate|CERTIFICATE_VERIFY_FAILED|UnknownIssuer",
        "the package index shows a certificate that this machine does not trust; "
        "if a proxy is in between, name its certificate in SSL_CERT_FILE",
    ),
    (
        r"dns error|resolve|Failed to fetch|error sending request|onnection (refused|reset|aborted|broken)|timed out"
        r"|Network is unreachable|No route to host|ProxyError|tunnel error|No matching distribution found",
        "the package index cannot be reached; check the network, and HTTPS_PROXY if it goes through a proxy",
    ),
    (
        r"Permission denied|Read-only file system|Operation not permitted",
        "this folder cannot be written to, or the cache in the home folder cannot; "
        "make that possible, or copy the project to where it is",
    ),
)


class Progress:
    """Understands what pip and uv write."""

    def __init__(self) -> None:
        self._large: dict[str, str] = {}
        self._arrived: set[str] = set()
        self._stage = ""

    def read(self, line: str) -> None:
        """Take note of a line."""
        if found := _DOWNLOADING.match(line):
            name = found["name"].rpartition("/")[2]
            archive = _ARCHIVE.match(name)
            self._large[archive["name"] if archive else name] = found["size"]
        elif found := _DOWNLOADED.match(line):
            self._arrived.add(found["name"])
        elif found := _PREPARED.match(line):
            self._stage = f"{found['count']} downloaded, installing"
        elif found := _INSTALLED.match(line):
            self._stage = f"{found['count']} installed, compiling, so that programs start faster"
        elif line.startswith(STAGE):
            self._stage = line.removeprefix(STAGE).strip()
        elif line.startswith("Installing collected packages"):
            self._stage = "downloaded, installing"
        elif (found := _BUILDING.match(line)) and not self._large:
            self._stage = f"building {found['name']}"

    def __str__(self) -> str:
        coming = [f"{name} ({size})" for name, size in self._large.items() if name not in self._arrived]
        is_over = "downloaded" in self._stage or "installed" in self._stage
        if is_over or not coming:
            return self._stage
        count = (
            f"{len(self._large) - len(coming)} of {len(self._large)} large packages, " if len(self._large) > 1 else ""
        )
        return f"downloading {count}{'still ' if count else ''}{', '.join(coming)}"


class Line:
    """The line that says what goes on: rewritten in a terminal, else written again when there is something to say."""

    def __init__(self, title: str, clock: Callable[[], float]) -> None:
        self._title, self._is_terminal = title, sys.stdout.isatty()
        self._clock = clock
        self._began = clock()
        self._progress, self._said_at = "", 0.0
        self.write(title)

    @property
    def _seconds(self) -> float:
        return self._clock() - self._began

    def show(self, progress: str) -> None:
        """Show how far it is."""
        if self._is_terminal:
            text = f"{self._title}: {progress}" if progress else self._title
            self.write(f"{text} ({self._seconds:.0f} s)")
        elif self._seconds - self._said_at >= (SAME_SECONDS if progress == self._progress else NEWS_SECONDS):
            self.write(f"  {progress or 'it goes on'} ({self._seconds:.0f} s)")
            self._progress = progress

    def end(self, text: str) -> None:
        """Say how it ended."""
        self.write(f"{self._title}: {text}, {self._seconds:.0f} s")
        if self._is_terminal:
            print(flush=True)

    def write(self, text: str) -> None:
        self._said_at = self._seconds
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            cut = text if len(text) <= width else f"{text[: width - 3]}..."
            print(f"\r{cut}\x1b[K", end="", flush=True)
        else:
            print(text, flush=True)


def run(command: Sequence[str], heard: Callable[[str], None], wait: Callable[[], None]) -> tuple[int, list[str]]:
    """Run a command, and hear each line that it writes; return its exit code, and the lines."""
    process = subprocess.Popen(
        command,
        # What a program in Python writes is heard at once.
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines: list[str] = []

    def read() -> None:
        for line in process.stdout or ():
            lines.append(line)
            heard(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while reader.is_alive():
        reader.join(REDRAWN_SECONDS)
        wait()
    return process.wait(), lines


def remedy(output: str) -> str:
    """Return what is wrong and what can be done about it, in a sentence; "" if that is not known."""
    return next((text for pattern, text in REMEDIES if re.search(pattern, output)), "")


def main(arguments: Sequence[str]) -> int:
    """Run a step: its number, its title, `--`, and the command."""
    step, title, _, *command = arguments
    progress, line = Progress(), Line(f"[{step}] {title}", time.monotonic)  # noqa: TID251 (people wait here)
    try:
        code, lines = run(command, progress.read, lambda: line.show(str(progress)))
    except KeyboardInterrupt:
        print(flush=True)
        return INTERRUPTED
    except OSError as error:
        code, lines = 1, [f"{error}\n"]
    if code == 0:
        line.end("done")
        return 0
    line.end("failed")
    output = "".join(one for one in lines if not one.startswith(STAGE))
    found = remedy(output) or f"{command[0]} ended with {code}, and what it says is above"
    print(f"{output.rstrip()}\n\nThis did not work: {found}; then run make again.", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
