"""Plain text in columns, for terminals of any width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

INDENT = "  "
GAP = "  "
NARROWEST = 20


def columns(rows: Sequence[Sequence[object]], width: int) -> list[str]:
    """Lay rows out in columns: numbers to the right, the rest to the left; the last column is wrapped at `width`."""
    if not rows:
        return []
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in texts) for index in range(len(texts[0]))]
    is_number = [len(rows) > 1 and all(isinstance(row[index], int) for row in rows[1:]) for index in range(len(widths))]
    lines: list[str] = []
    for row in texts:
        cells = [
            cell.rjust(size) if number else cell.ljust(size)
            for cell, size, number in zip(row, widths, is_number, strict=True)
        ]
        head = INDENT + GAP.join(cells[:-1])
        lines += wrapped(row[-1] if not is_number[-1] else cells[-1], width, f"{head}{GAP}" if cells[:-1] else INDENT)
    return lines


def wrapped(text: str, width: int, prefix: str = INDENT) -> list[str]:
    """Wrap a text, its first line after `prefix` and the others under its start."""
    room = max(width - len(prefix), NARROWEST)
    parts = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    return [((prefix if index == 0 else " " * len(prefix)) + part).rstrip() for index, part in enumerate(parts)]


def some(names: Sequence[str], most: int) -> str:
    """List names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more} more"
