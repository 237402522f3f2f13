"""Expressions: as text, with a form of it that the CEL library takes; and, once compiled, as a tree.

The tree is read from the form in which the library writes what it compiled, a protobuf message. The library crashes
when it hands an optional value to a function that is written in Python, and takes some expressions that Kubernetes does
not; `problem` finds both before anything is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
    "charAt": "CharAt",
    "indexOf": "IndexOf",
    "lastIndexOf": "LastIndexOf",
    "matches": "Matches",
    "range": "Range",
    "replace": "Replace",
    "substring": "Substring",
}

# Fields of Any, of CheckedExpr, of Expr and of the kinds of Expr.
_WRAPPED: Final = 2
_TYPES, _TREE, _SOURCE, _POSITIONS = 3, 4, 5, 4
_ID, _VARIABLE, _SELECT, _CALL, _LIST, _STRUCT, _LOOP = 2, 4, 5, 6, 7, 8, 9
_FIELD: Final = 2
_FUNCTION: Final = 2
_RANGE: Final = 2
_OPTIONAL: Final = b"optional_type"
# A Type that holds an empty message in its first field.
_DYN: Final = b"\x0a\x00"

EQUALS: Final = b"_==_"
_CHOICE: Final = "_?_:_"
LOOP: Final = "loop"
_MAKES: Final = ("list", "map", _CHOICE)


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


@dataclass(slots=True)
class Expr:
    """A part of an expression: what it does ("" for a constant or a variable), its type, and its own parts."""

    does: str
    type: bytes
    position: int
    parts: list[Expr] = field(default_factory=list)
    #: Of a variable its own, of a selection that of the field, of a loop that of its variable.
    name: str = ""

    @property
    def is_dynamic(self) -> bool:
        return self.type == _DYN

    @property
    def has_optional(self) -> bool:
        return _OPTIONAL in self.type

    def walk(self) -> Iterator[Expr]:
        yield self
        for part in self.parts:
            yield from part.walk()


def read(message: bytes) -> Expr:
    wrapped = next(value for number, value in fields_of(message) if number == _WRAPPED)
    fields = list(fields_of(bytes(wrapped)))
    types = {key: bytes(value) for key, value in _entries(fields, _TYPES)}
    source = next((value for number, value in fields if number == _SOURCE), b"")
    positions = {key: int(value or 0) for key, value in _entries(fields_of(bytes(source)), _POSITIONS)}
    tree = next(value for number, value in fields if number == _TREE)
    return _node(bytes(tree), types, positions)


def problem(tree: Expr, functions: Collection[str], has_lists: bool) -> tuple[int, str] | None:
    """Return where and why an expression cannot be used; `functions` are those that are written in Python."""
    for node in tree.walk():
        if node.does == LOOP and node.parts[0].is_dynamic and not has_lists:
            what = "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)"
            return node.parts[0].position, what
        has_optional = any(part.has_optional for part in node.parts)
        if has_optional and (node.does in functions or (node.does in _MAKES and not node.has_optional)):
            return node.position, f"found no matching overload for '{node.does}' applied to an optional value"
    return None


def compares_dynamic(tree: Expr) -> bool:
    """Say whether something of which the type is not known is compared for equality, and nothing optional is."""
    equalities = [node for node in tree.walk() if node.does == EQUALS.decode()]
    if any(part.has_optional for node in equalities for part in node.parts):
        return False
    return any(node.parts[0].is_dynamic for node in equalities)


def _node(message: bytes, types: dict[int, bytes], positions: dict[int, int]) -> Expr:
    fields = list(fields_of(message))
    id = next((value for number, value in fields if number == _ID), 0)
    node = Expr("", types.get(int(id), b""), positions.get(int(id), 0))
    for number, value in fields:
        if number == _VARIABLE:
            node.name = _name(bytes(value), 1)
        if number in (_SELECT, _CALL, _LIST, _STRUCT, _LOOP):
            node.does, parts = _parts(number, bytes(value))
            node.name = _name(bytes(value), 1 if number == _LOOP else _FIELD) if number in (_SELECT, _LOOP) else ""
            node.parts = [_node(part, types, positions) for part in parts]
    return node


def _name(message: bytes, number: int) -> str:
    return next((bytes(value).decode() for each, value in fields_of(message) if each == number), "")


def _parts(kind: int, message: bytes) -> tuple[str, list[bytes]]:
    fields = [(number, bytes(value)) for number, value in fields_of(message) if not isinstance(value, int)]
    if kind == _CALL:
        function = next(value.decode() for number, value in fields if number == _FUNCTION)
        return function, [value for number, value in fields if number != _FUNCTION]
    if kind in (_SELECT, _LIST):
        return "select" if kind == _SELECT else "list", [value for number, value in fields if number == 1]
    if kind == _STRUCT:
        entries = [value for number, value in fields if number == 2]
        return "map", [bytes(part) for entry in entries for number, part in fields_of(entry) if number in (3, 4)]
    # The range comes first, then what is done with it; names of variables are left out.
    return LOOP, [value for number, value in sorted(fields) if number >= _RANGE and number not in (3, 8)]


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of every field; a value is a number, or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            number, at = _varint(message, at)
            yield key >> 3, number
        elif key & 7 == 2:
            length, at = _varint(message, at)
            yield key >> 3, message[at : at + length]
            at += length
        else:
            at += 8 if key & 7 == 1 else 4


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _entries(fields: Iterable[tuple[int, int | bytes]], wanted: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield keys, which are numbers, and values of a field that is a map."""
    for number, message in fields:
        if number == wanted:
            found = dict(fields_of(bytes(message)))
            yield int(found.get(1, 0)), found.get(2, b"")
