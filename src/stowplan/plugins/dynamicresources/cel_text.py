"""Expressions as text: which attributes and capacities of a device one reads, and a form that CEL libraries take.

In Kubernetes a domain that a device has nothing of is an empty map; plain CEL would call it a missing key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from stowplan.cel.tokens import Token, closing, literal, split

_MAPS: Final = ("attributes", "capacity")


class Read(NamedTuple):
    """Something that an expression reads of a device: of a map ("attributes", "capacity") one entry of a domain.

    Without a name it is the whole domain, without a domain the whole map, or a plain field.
    """

    field: str
    domain: str | None = None
    name: str | None = None


def reads(expression: str) -> frozenset[Read] | None:
    """Return what an expression reads of a device; None if that may be anything."""
    tokens = split(expression)
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
    tokens = split(expression)
    edits: list[tuple[int, int, str]] = []
    for at in _mentions(tokens):
        words = [token.text for token in tokens[at + 1 : at + 5]]
        if words[0] == "." and words[1] in _MAPS and words[2] == "[" and words[3] != "?":
            end = closing(tokens, at + 3)
            if end is not None:
                edits.append((tokens[at + 3].start, tokens[at + 3].end, "[?"))
                edits.append((tokens[end].start, tokens[end].end, "].orValue({})"))
    for start, end, text in sorted(edits, reverse=True):
        expression = expression[:start] + text + expression[end:]
    return expression


def _mentions(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield where the device itself is mentioned."""
    for index, token in enumerate(tokens):
        if token.kind == "name" and token.text == "device" and (index == 0 or tokens[index - 1].text != "."):
            yield index


def _read(tokens: Sequence[Token], at: int) -> Read:
    """Return what is read from the token of the field on."""
    field = tokens[at].text
    domain = literal(tokens[at + 2])
    if field not in _MAPS or tokens[at + 1].text != "[" or domain is None or tokens[at + 3].text != "]":
        return Read(field)
    return Read(field, domain, _entry(tokens, at + 4))


def _entry(tokens: Sequence[Token], at: int) -> str | None:
    """Return which entry of a domain is read: `.name`, `.?name`, `["name"]` or `[?"name"]`."""
    opening = tokens[at].text
    step = 2 if tokens[at + 1].text == "?" else 1
    entry, after = tokens[at + step], tokens[at + step + 1].text
    if opening == "." and entry.kind == "name":
        return None if after == "(" else entry.text
    return literal(entry) if opening == "[" and after == "]" else None
