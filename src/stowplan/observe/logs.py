"""Logs as kube-scheduler writes them: klog's lines, or one JSON object a line.

    I1115 22:29:01.123456   12345 scheduler.py:42] "Attempting to schedule pod" pod="default/web"

They go through Python's `logging`, so what libraries log comes out in the same shape. `Log` adds key and value pairs
and klog's verbosity: `log.v(4).info(...)` is written with `-v=4` and above, or where `--vmodule` names the file.
"""

from __future__ import annotations

import fnmatch
import json
import logging
import sys
import time
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final, Literal, TextIO

import msgspec

Format = Literal["text", "json"]

#: The name under which everything of this package is logged.
ROOT: Final = "stowplan"
_VALUES: Final = "stowplan_values"
_LETTERS: Final = ((logging.CRITICAL, "F"), (logging.ERROR, "E"), (logging.WARNING, "W"))


class LogSettings(msgspec.Struct, frozen=True):
    """What the logging flags say."""

    format: Format = "text"
    verbosity: int = 0
    #: Patterns of file names without `.py`, each with the verbosity for the files that match.
    vmodule: tuple[tuple[str, int], ...] = ()
    #: Whether what is not an error goes to the standard output.
    splits: bool = False


class Log:
    """Writes lines with key and value pairs, of one verbosity."""

    __slots__ = ("_level", "_logger")

    def __init__(self, logger: logging.Logger, level: int = logging.INFO) -> None:
        self._logger = logger
        self._level = level

    def v(self, verbosity: int) -> Log:
        """Return the log for lines that only this verbosity or a higher one shows."""
        return Log(self._logger, _level(verbosity))

    @property
    def is_on(self) -> bool:
        """Whether lines are written; asked first where many are made, for one that nobody reads must cost nothing."""
        return self._logger.isEnabledFor(self._level)

    def info(self, message: str, /, **values: object) -> None:
        if self.is_on:
            self._logger.log(self._level, message, extra={_VALUES: values}, stacklevel=2)

    def warning(self, message: str, /) -> None:
        self._logger.log(logging.WARNING, message, stacklevel=2)

    def error(self, error: object, message: str, /, **values: object) -> None:
        """Write an error, with what went wrong if anything is known about it."""
        known = {"err": error, **values} if error is not None else values
        self._logger.log(logging.ERROR, message, extra={_VALUES: known}, stacklevel=2)


def _level(verbosity: int) -> int:
    """Return the level of `logging` for a verbosity: the more detailed a line, the lower."""
    return max(logging.INFO - verbosity, 1)


def log_for(module: str) -> Log:
    """Return the log of a module, by its `__name__`."""
    return Log(logging.getLogger(module))


class Logging:
    """The handlers in force; `set_verbosity` is what /debug/flags/v changes."""

    def __init__(self, settings: LogSettings, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._filter = _Verbosity(settings)
        formatter: logging.Formatter = JsonFormatter() if settings.format == "json" else TextFormatter()
        self._handlers = [_handler(err or sys.stderr, formatter, self._filter)]
        if settings.splits:
            self._handlers[0].setLevel(logging.ERROR)
            rest = _handler(out or sys.stdout, formatter, self._filter)
            rest.addFilter(lambda record: record.levelno < logging.ERROR)
            self._handlers.append(rest)

    def start(self) -> None:
        """Write everything that is logged from now on; libraries only from warnings upwards."""
        root = logging.getLogger()
        root.handlers[:] = self._handlers
        root.setLevel(logging.WARNING)
        self.set_verbosity(self.verbosity)

    def stop(self) -> None:
        root = logging.getLogger()
        root.handlers[:] = [handler for handler in root.handlers if handler not in self._handlers]

    @property
    def verbosity(self) -> int:
        return self._filter.verbosity

    def set_verbosity(self, verbosity: int) -> None:
        self._filter.verbosity = verbosity
        most = max((verbosity, *(of_file for _, of_file in self._filter.vmodule)))
        logging.getLogger(ROOT).setLevel(_level(most))


def _handler(stream: TextIO, formatter: logging.Formatter, verbosity: logging.Filter) -> logging.Handler:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(verbosity)
    return handler


class _Verbosity(logging.Filter):
    """Lets through what is not more detailed than asked for, in general or for its file."""

    def __init__(self, settings: LogSettings) -> None:
        super().__init__()
        self.verbosity = settings.verbosity
        self.vmodule = settings.vmodule

    def filter(self, record: logging.LogRecord) -> bool:
        of_file = (shown for pattern, shown in self.vmodule if fnmatch.fnmatchcase(record.module, pattern))
        return record.levelno >= _level(next(of_file, self.verbosity))


class TextFormatter(logging.Formatter):
    """klog's line; a record without values is plain text, one with values is quoted and followed by them."""

    def format(self, record: logging.LogRecord) -> str:
        letter = next((letter for level, letter in _LETTERS if record.levelno >= level), "I")
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        micros = int(record.created % 1 * 1_000_000)
        head = f"{letter}{stamp}.{micros:06d} {record.process or 0:7d} {record.filename}:{record.lineno}] "
        values: Mapping[str, object] | None = getattr(record, _VALUES, None)
        if values is None:
            return head + record.getMessage() + self._traceback(record)
        pairs = "".join(f" {key}={text_of(value)}" for key, value in values.items())
        return head + quoted(record.getMessage()) + pairs + self._traceback(record)

    def _traceback(self, record: logging.LogRecord) -> str:
        return f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""


class JsonFormatter(logging.Formatter):
    """One object a line: ts in milliseconds, caller, msg, v or err, and the values."""

    def format(self, record: logging.LogRecord) -> str:
        path = PurePath(record.pathname)
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 6),
            "caller": f"{path.parent.name}/{path.name}:{record.lineno}",
            "msg": record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            line["v"] = max(0, logging.INFO - record.levelno)
        line |= getattr(record, _VALUES, None) or {}
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)


def text_of(value: object) -> str:
    """Spell a value as klog does: numbers bare, texts quoted, long texts indented below."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return '"<nil>"'
        case int() | float():
            return str(value)
        case list() | tuple() | dict():
            return json.dumps(value, separators=(",", ":"), default=str, ensure_ascii=False)
        case _:
            text = str(value)
    if "\n" not in text:
        return quoted(text)
    lines = "".join(f"\n\t{line}" for line in text.removesuffix("\n").split("\n"))
    return f"<{lines}\n >"


def quoted(text: str) -> str:
    """Put a text in quotes, with what is not printable written out."""
    return json.dumps(text, ensure_ascii=False)
