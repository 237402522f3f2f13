"""CSV as RFC 4180 has it: one row of headings, lines that end in CR LF, quotes where they are needed.

A cell that begins with = + - or @, which a spreadsheet may take for a formula, is left as it is, for programs read it
too, but always quoted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

_NEEDS_QUOTES: Final = frozenset(',"\r\n')
_LOOKS_LIKE_A_FORMULA: Final = ("=", "+", "-", "@")


def csv_text(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table; what is not known (None, not a number) is an empty cell."""
    return "".join(f"{','.join(map(_cell, row))}\r\n" for row in (headings, *rows))


def _cell(value: object) -> str:
    text = _spelled(value)
    if text.startswith(_LOOKS_LIKE_A_FORMULA) or not _NEEDS_QUOTES.isdisjoint(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _spelled(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if math.isnan(value):
            return ""
        case float():
            # All digits, so that what is read back is what was written.
            return repr(value).removesuffix(".0")
        case _:
            return str(value)
