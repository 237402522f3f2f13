"""HTML for notebooks: a line and a small table, every text escaped, nothing loaded from anywhere.

It is beside the lowest thing that a notebook shows, a `verdict`. Whatever has a `_repr_html_` writes it with these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Final

#: More rows are not read in a notebook; how many there are is told.
MOST_ROWS: Final = 20

_NUMBER: Final = ' style="text-align: right"'
_TEXT: Final = ' style="text-align: left"'


def line(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], count: int) -> str:
    """Write the first rows of a table that has `count` of them, and how many are left out."""
    head = "".join(f"<th{_TEXT}>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, MOST_ROWS))
    left_out = count - MOST_ROWS
    more = line(f"and {left_out} more") if left_out > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    align = _NUMBER if isinstance(value, int | float) and not isinstance(value, bool) else _TEXT
    return f"<td{align}>{escape(_spelled(value))}</td>"


def _spelled(value: object) -> str:
    match value:
        case None:
            return ""
        case float() if math.isnan(value):
            return ""
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)
