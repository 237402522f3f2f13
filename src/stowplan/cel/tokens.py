"""Expressions as text: their tokens, and a form that the CEL library takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<raw>[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'))
      | (?P<string>[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
#: The library has these itself, and takes no more of that name: for strings alone, or without bounds.
RENAMED: Final = {
    "indexOf": "IndexOf",
    "lastIndexOf": "LastIndexOf",
    "matches": "Matches",
    "range": "Range",
    "replace": "Replace",
}


class Token(NamedTuple):
    """A word, a string, a mark; what kind of thing it is, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def renamed(expression: str) -> str:
    """Return the expression with some functions by the names they go by here, which are as long."""
    pieces, done = [], 0
    tokens = split(expression)
    for at, token in enumerate(tokens):
        if token.kind == "name" and token.text in RENAMED and tokens[at + 1].text == "(":
            pieces += [expression[done : token.start], RENAMED[token.text]]
            done = token.end
    return "".join([*pieces, expression[done:]])


def split(expression: str) -> list[Token]:
    """Split an expression, leaving out spaces and comments; some empty tokens at the end spare asking for the end."""
    found = [
        Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(expression)
        if match.lastgroup != "space"
    ]
    return [*found, *[Token("end", "", len(expression), len(expression))] * 10]


def literal(token: Token) -> str | None:
    """Return what a plain string literal says; None for anything harder to read."""
    if token.kind != "string" or token.text[0] in "bB" or "\\" in token.text or token.text[:3] in ('"""', "'''"):
        return None
    return token.text[1:-1]


def closing(tokens: Sequence[Token], opening: int) -> int | None:
    """Return where the bracket is that closes another one."""
    depth = 0
    for index in range(opening, len(tokens)):
        if tokens[index].kind == "other":
            depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        if depth == 0:
            return index
    return None
