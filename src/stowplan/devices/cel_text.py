"""Expressions as text: which attributes and capacities of a device one reads, and a form that CEL libraries take.

In Kubernetes a domain that a device has nothing of is an empty map; plain CEL would call it a missing key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<raw>[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'))
      | (?P<string>[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
#: The library has these for strings alone, and takes no more of that name.
LIST_FUNCTIONS: Final = {"indexOf": "IndexOf", "lastIndexOf": "LastIndexOf"}
_MAPS: Final = ("attributes", "capacity")


class Read(NamedTuple):
    """Something that an expression reads of a device: of a map ("attributes", "capacity") one entry of a domain.

    Without a name it is the whole domain, without a domain the whole map, or a plain field.
    """

    field: str
    domain: str | None = None
    name: str | None = None


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def reads(expression: str) -> frozenset[Read] | None:
    """Return what an expression reads of a device; None if that may be anything."""
    tokens = _tokens(expression)
    found = set()
    for at in _mentions(tokens):
        if tokens[at + 1].text != "." or tokens[at + 2].kind != "name":
            return None
        read = _read(tokens, at + 2)
        if read.field in _MAPS and read.domain is None:
            return None
        found.add(read)
    return frozenset(found)


def with_empty_domains(expression: str) -> str:
    """Return the expression with domains that are missing taken for empty ones, where a domain is looked up."""
    tokens = _tokens(expression)
    edits: list[tuple[int, int, str]] = []
    for at in _mentions(tokens):
        words = [token.text for token in tokens[at + 1 : at + 5]]
        if words[0] == "." and words[1] in _MAPS and words[2] == "[" and words[3] != "?":
            closing = _closing(tokens, at + 3)
            if closing is not None:
                edits.append((tokens[at + 3].start, tokens[at + 3].end, "[?"))
                edits.append((tokens[closing].start, tokens[closing].end, "].orValue({})"))
    for start, end, text in sorted(edits, reverse=True):
        expression = expression[:start] + text + expression[end:]
    return expression


def with_list_functions(expression: str) -> str:
    """Return the expression with the functions of lists by the names they go by here, which are as long."""
    tokens = _tokens(expression)
    for at, token in enumerate(tokens):
        if token.kind == "name" and token.text in LIST_FUNCTIONS and tokens[at + 1].text == "(":
            expression = expression[: token.start] + LIST_FUNCTIONS[token.text] + expression[token.end :]
    return expression


def _tokens(expression: str) -> list[_Token]:
    """Split an expression, leaving out spaces and comments; some empty tokens at the end spare asking for the end."""
    found = [
        _Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(expression)
        if match.lastgroup != "space"
    ]
    return [*found, *[_Token("end", "", len(expression), len(expression))] * 10]


def _mentions(tokens: Sequence[_Token]) -> Iterator[int]:
    """Yield where the device itself is mentioned."""
    for index, token in enumerate(tokens):
        if token.kind == "name" and token.text == "device" and (index == 0 or tokens[index - 1].text != "."):
            yield index


def _read(tokens: Sequence[_Token], at: int) -> Read:
    """Return what is read from the token of the field on."""
    field = tokens[at].text
    domain = _literal(tokens[at + 2])
    if field not in _MAPS or tokens[at + 1].text != "[" or domain is None or tokens[at + 3].text != "]":
        return Read(field)
    return Read(field, domain, _entry(tokens, at + 4))


def _entry(tokens: Sequence[_Token], at: int) -> str | None:
    """Return which entry of a domain is read: `.name`, `.?name`, `["name"]` or `[?"name"]`."""
    opening = tokens[at].text
    step = 2 if tokens[at + 1].text == "?" else 1
    entry, after = tokens[at + step], tokens[at + step + 1].text
    if opening == "." and entry.kind == "name":
        return None if after == "(" else entry.text
    return _literal(entry) if opening == "[" and after == "]" else None


def _literal(token: _Token) -> str | None:
    """Return what a plain string literal says; None for anything harder to read."""
    if token.kind != "string" or token.text[0] in "bB" or "\\" in token.text or token.text[:3] in ('"""', "'''"):
        return None
    return token.text[1:-1]


def _closing(tokens: Sequence[_Token], opening: int) -> int | None:
    depth = 0
    for index in range(opening, len(tokens)):
        if tokens[index].kind == "other":
            depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        if depth == 0:
            return index
    return None
