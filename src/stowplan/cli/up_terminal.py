"""A terminal that a screen is drawn on again and again, and that single keys come from; it is given back as it was.

Lines are written over those before them, each to its end, so that nothing is empty in between; what is the same as
before is not written. Logs come above. Keys are read as long as we are in the foreground: somebody else's are not ours.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_REST_OF_LINE, _BELOW, _EVERYTHING = "\x1b[K", "\x1b[J", "\x1b[2J\x1b[H"
#: A terminal that knows these shows what is between them at once; others pass over them.
_TOGETHER, _DONE = "\x1b[?2026h", "\x1b[?2026l"
_MOST_KEYS: Final = 64


class Painter:
    """Draws lines in one place of a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn: list[str] = []
        self._size: tuple[int, ...] = ()
        self._is_open = False

    def draw(self, lines: Sequence[Text]) -> None:
        """Draw the lines in the place of those before."""
        drawn, size = self._rendered(lines), tuple(self._console.size)
        if drawn == self._drawn and size == self._size and self._is_open:
            return
        # After another size nobody knows where the lines are: the terminal may have broken them anew.
        start = self._start() if size == self._size else _EVERYTHING
        body = "".join(f"{line}{_REST_OF_LINE}\n" for line in drawn)
        self._write(f"{_TOGETHER}{'' if self._is_open else _HIDE}{start}{body}{_BELOW}{_DONE}")
        self._drawn, self._size, self._is_open = drawn, size, True

    def open(self) -> None:
        """Draw from here on."""
        self._size = tuple(self._console.size)

    def above(self, text: str) -> None:
        """Write a text above what is drawn; it stays."""
        body = "".join(f"{line}{_REST_OF_LINE}\n" for line in (*text.split("\n"), *self._drawn))
        self._write(f"{_TOGETHER}{self._start()}{_BELOW}{body}{_DONE}")

    def leave(self) -> None:
        """Leave what is drawn where it is, and go on below."""
        if self._is_open:
            self._write(_SHOW)
        self._drawn, self._is_open = [], False

    def _start(self) -> str:
        return f"\r\x1b[{len(self._drawn)}A" if self._drawn else "\r"

    def _rendered(self, lines: Sequence[Text]) -> list[str]:
        with self._console.capture() as captured:
            for line in lines:
                self._console.print(line, no_wrap=True, overflow="crop", crop=False, soft_wrap=True)
        return captured.get().split("\n")[: len(lines)]

    def _write(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()


class Keys:
    """Hears single keys of the terminal that the standard input is, if it is one."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear
        self._before: list[Any] | None = None
        self._is_reading = False

    @property
    def is_open(self) -> bool:
        """Whether keys are heard."""
        return self._is_reading

    def look(self) -> None:
        """Hear keys if the terminal is ours now, and do not if it is not; to be asked again and again."""
        is_ours = _is_foreground()
        if is_ours and not self._is_reading:
            self._open()
        elif not is_ours and self._is_reading:
            # Whoever is in the foreground has set the terminal as it likes.
            self._stop_reading()

    def close(self) -> None:
        """Give the terminal back as it was."""
        if self._is_reading:
            self._stop_reading()
            termios.tcsetattr(_descriptor(), termios.TCSADRAIN, self._before or [])

    def _open(self) -> None:
        # Ctrl-C, Ctrl-Z and their like remain signals.
        self._before = termios.tcgetattr(_descriptor())
        tty.setcbreak(_descriptor(), termios.TCSADRAIN)
        asyncio.get_running_loop().add_reader(_descriptor(), self._read)
        self._is_reading = True

    def _stop_reading(self) -> None:
        asyncio.get_running_loop().remove_reader(_descriptor())
        self._is_reading = False

    def _read(self) -> None:
        try:
            found = os.read(_descriptor(), _MOST_KEYS).decode(errors="replace")
        except OSError:
            found = ""
        if not found:
            # Nobody is there any more.
            self._stop_reading()
        elif not found.startswith("\x1b"):
            # An arrow, say, is several letters that mean nothing here.
            for key in found:
                self._hear(key)


class Suspension:
    """Lets Ctrl-Z stop the program with the terminal as it was, and go on drawing when it is brought back."""

    def __init__(self, leave: Callable[[], None], resume: Callable[[], None]) -> None:
        self._leave, self._resume = leave, resume
        self._may_stop = False

    def open(self) -> None:
        loop = asyncio.get_running_loop()
        # Whoever starts us without a way to bring us back has it ignored.
        self._may_stop = signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN
        if self._may_stop:
            loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)
        loop.add_signal_handler(signal.SIGWINCH, self._resume)

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (*((signal.SIGTSTP,) if self._may_stop else ()), signal.SIGCONT, signal.SIGWINCH):
            loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self._leave()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTSTP)
        signal.raise_signal(signal.SIGTSTP)

    def _go_on(self) -> None:
        if self._may_stop:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self._stop)
        self._resume()


def _descriptor() -> int:
    return sys.stdin.fileno()


def _is_foreground() -> bool:
    """Say whether what is typed is for us: who asks from the background would be stopped."""
    try:
        return os.isatty(_descriptor()) and os.tcgetpgrp(_descriptor()) == os.getpgrp()
    except (OSError, ValueError):
        return False
