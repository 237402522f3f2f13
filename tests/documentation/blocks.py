"""The blocks of code in the documentation: fenced ones, and those that are indented, with the commands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tools.reference_pages.pages import PAGES as MADE

ROOT: Final = Path(__file__).resolve().parents[2]
_PROGRAMS: Final = """
.venv/bin/pytest .venv/bin/stowplan cd chmod cosign curl diff docker export git helm kubectl make mkdir pip podman
promtool pytest python python3 sed sha256sum skopeo stowplan sudo tar uv
"""
#: What a command begins with, in a block that does not say what it is.
PROGRAMS: Final = frozenset(_PROGRAMS.split())
SHELLS: Final = frozenset(("bash", "console", "sh", "shell"))
_FENCE: Final = re.compile(r"^( *)```(\w*)[^`]*$")
_REMARK: Final = re.compile(r"(?:^| +)# .*$")


@dataclass(frozen=True)
class Block:
    """A block, with the line on which it begins."""

    page: str
    line: int
    #: "" for one that is indented.
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_shell(self) -> bool:
        """Whether it has commands, with or without what they print."""
        if self.language:
            return self.language in SHELLS
        return any(_begins_a_command(line) for line in self.text.splitlines())

    def commands(self) -> list[str]:
        """Return the commands, without what is remarked about them."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        elif not self.language and not all(_begins_a_command(one) or one.startswith("#") for one in lines if one):
            lines = [line for line in lines if _begins_a_command(line)]
        found = (" ".join(_REMARK.sub("", line).split()) for line in lines)
        return [one for one in found if one]


def _begins_a_command(line: str) -> bool:
    return line.startswith("$ ") or line.partition(" ")[0] in PROGRAMS


@cache
def pages() -> list[str]:
    """List the pages that people write; those that are made from the code are compared with it elsewhere."""
    folders = ("docs", "deploy", "examples")
    found = [*ROOT.glob("*.md"), *(path for folder in folders for path in (ROOT / folder).rglob("*.md"))]
    names = (path.relative_to(ROOT).as_posix() for path in sorted(found))
    return [name for name in names if name.removeprefix("docs/") not in MADE and not name.startswith("docs/plugins/")]


@cache
def blocks() -> list[Block]:
    """List every block of every page."""
    return [block for page in pages() for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))]


def of_language(*languages: str) -> list[Block]:
    return [block for block in blocks() if block.language in languages]


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a page."""
    lines = text.splitlines()
    at, margin = 0, 4
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence:
            end = next(one for one in range(at + 1, len(lines)) if lines[one].strip() == "```")
            inside = (one.removeprefix(fence[1]) for one in lines[at + 1 : end])
            yield Block(page, at + 1, fence[2] or "text", "".join(f"{one}\n" for one in inside))
            at = end + 1
            continue
        item = re.match(r"(?:[-*]|\d+\.) ", line)
        if line and not line.startswith(" "):
            margin = 4 + (len(item[0]) if item else 0)
        if line.startswith(" " * margin) and (at == 0 or not lines[at - 1].strip()):
            end = _end_of_indented(lines, at, margin)
            inside = (one.removeprefix(" " * margin) for one in lines[at:end])
            yield Block(page, at + 1, "", "".join(f"{one}\n" for one in inside))
            at = end
            continue
        at += 1


def _end_of_indented(lines: list[str], start: int, margin: int) -> int:
    end = start
    for number in range(start, len(lines)):
        if lines[number].startswith(" " * margin):
            end = number + 1
        elif lines[number].strip():
            break
    return end
