"""The help of `stowplan run`, in the sections of kube-scheduler's."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import msgspec

from stowplan.app.options import Options
from stowplan.cli.flag_parser import spelled
from stowplan.cli.flag_table import SECTIONS, Flag

ABOUT = """\
Schedule the pods of a cluster, in place of kube-scheduler: the same flags, the same configuration file, the same
permissions, endpoints, metrics, events and conditions.
"""


def usage(width: int) -> str:
    """Return the flags by section."""
    return "\n".join(["Usage:", "  stowplan run [flags]", *_sections(width)]) + "\n"


def text(width: int) -> str:
    """Return the whole help."""
    return f"{ABOUT}\n{usage(width)}"


def _sections(width: int) -> Iterator[str]:
    for title, flags in SECTIONS:
        yield f"\n{title} flags:\n"
        for flag in flags:
            yield from _flag(flag, width)


def _flag(flag: Flag, width: int) -> Iterator[str]:
    short = f"-{flag.shorthand}, " if flag.shorthand else "    "
    kind = "" if flag.kind == "bool" else f" {'true|false|raw' if flag.kind == 'version' else flag.kind}"
    yield f"  {short}--{flag.name}{kind}"
    absent = f" Accepted without effect: {flag.absent}." if flag.absent else ""
    told = f"{flag.help}{absent}{_default(flag)}"
    yield textwrap.fill(told, max(width, 40), initial_indent=" " * 10, subsequent_indent=" " * 10)


def _default(flag: Flag) -> str:
    field = next(one for one in msgspec.structs.fields(Options) if one.encode_name == flag.name)
    value = spelled(field.default)
    if value in ("", "[]", "false", "0"):
        return ""
    return f' (default "{value}")' if flag.kind in ("string", "ip") else f" (default {value})"
