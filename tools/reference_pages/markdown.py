"""Words of Markdown that several pages need."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 120


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar within a cell stays one."""
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(_cell(one) for one in line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def prose(text: str) -> str:
    """Wrap the paragraphs of a docstring; what is indented in it stays as it is."""
    found = []
    for part in text.strip().split("\n\n"):
        is_code = part.startswith("    ")
        found.append(part if is_code else textwrap.fill(" ".join(part.split()), WIDTH, break_on_hyphens=False))
    return "\n\n".join(found)
