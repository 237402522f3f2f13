"""What Kubernetes finds wrong with an expression that is sound to CEL: literals that cannot be what they stand for.

A list or map whose parts are of several types, and patterns, durations and timestamps that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from stowplan.cel import patterns
from stowplan.cel.expressions import Expr, Token, closing, fields_of, literal, split
from stowplan.cel.values import CIDR, IP, QUANTITY, URL, VERSION

#: Says why an expression without variables fails, "" if it does not.
WhyItFails = Callable[[str], str]

_TIMES: Final = ("duration", "timestamp")
_CONVERSIONS: Final = ("int", "uint", "double", "bool")
_FINDING: Final = ("find", "findAll")
#: Takes parts of all types.
_FORMAT: Final = "format"
_CARRIER: Final = "map(string, string)"
_MADE_BY: Final = {"semver": VERSION, "ip": IP, "cidr": CIDR, "masked": CIDR, "url": URL}
_PRIMITIVES: Final = ("", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN: Final = ("", "any", "timestamp", "duration")
_DYN, _NULL, _PRIMITIVE, _KNOWN, _LIST, _MAP, _TYPE = 1, 2, 3, 5, 6, 7, 11


class Flaw(NamedTuple):
    """Where something is wrong, and what."""

    position: int
    what: str


def flaws(expression: str, parsed: Expr, why_it_fails: WhyItFails, unknown: str = "dyn") -> list[Flaw]:
    """Return what does not compile for it, in the order of the text; `unknown` is what an unknown type is called."""
    return sorted([*_unreadable(split(expression), why_it_fails), *_mixed(parsed, unknown)])


def never_works(expression: str, why_it_fails: WhyItFails) -> str:
    """Return why an expression cannot be run at all, "" if it can be."""
    tokens = split(expression)
    for at, call in enumerate(tokens):
        text = _only_text(tokens, at)
        if text is None:
            continue
        is_member = at > 0 and tokens[at - 1].text == "."
        if call.text in _CONVERSIONS and not is_member:
            why = why_it_fails(expression[call.start : tokens[at + 3].end])
        elif call.text in _FINDING and is_member:
            why = _fault_of_pattern(text)
        else:
            continue
        if why:
            return why
    return ""


def _unreadable(tokens: Sequence[Token], why_it_fails: WhyItFails) -> Iterator[Flaw]:
    for at, call in enumerate(tokens):
        text = _only_text(tokens, at)
        if text is None:
            continue
        is_member = at > 0 and tokens[at - 1].text == "."
        is_wrong = (is_member and call.text == "matches" and bool(_fault_of_pattern(text))) or (
            not is_member and call.text in _TIMES and bool(why_it_fails(f"{call.text}({tokens[at + 2].text})"))
        )
        if is_wrong:
            yield Flaw(tokens[at + 2].start, f"invalid {call.text} argument")


def _only_text(tokens: Sequence[Token], at: int) -> str | None:
    """Return the text that a function is called with, if that is all."""
    if tokens[at].kind != "name" or tokens[at + 1].text != "(" or closing(tokens, at + 1) != at + 3:
        return None
    given = tokens[at + 2]
    return given.text[2:-1] if given.kind == "raw" and given.text[0] in "rR" else literal(given)


def _fault_of_pattern(pattern: str) -> str:
    try:
        patterns.check(pattern)
    except patterns.PatternError as error:
        return str(error)
    return ""


def _mixed(parsed: Expr, unknown: str) -> Iterator[Flaw]:
    """Yield what is of another type than the first of its list, or of the keys or values of its map."""
    if parsed.does == _FORMAT:
        return
    if parsed.does == "list":
        yield from list(_unlike(parsed.parts, unknown))[:1]
    elif parsed.does == "map":
        yield from _unlike(parsed.parts[::2], unknown)
        yield from _unlike(parsed.parts[1::2], unknown)
    for part in parsed.parts:
        yield from _mixed(part, unknown)


def _unlike(parts: Sequence[Expr], unknown: str) -> Iterator[Flaw]:
    # Of an empty list or map any type may be had, and what may be missing says less than it is.
    telling = [part for part in parts if not part.has_optional and (part.parts or part.does not in ("list", "map"))]
    expected = _type_of(telling[0], unknown) if telling else ""
    for part in telling[1:]:
        found = _type_of(part, unknown)
        if found != expected:
            yield Flaw(part.position, f"expected type '{expected}' but found '{found}'")


def _type_of(part: Expr, unknown: str) -> str:
    if part.is_dynamic and part.does != "dyn":
        return unknown
    return _printed(part.type).replace(_CARRIER, _MADE_BY.get(part.does, QUANTITY))


def _printed(message: bytes) -> str:
    """Return the name of a type, of which only the number of the field says what kind it is."""
    for kind, value in fields_of(message):
        if kind == _DYN:
            return "dyn"
        if kind == _NULL:
            return "null"
        if isinstance(value, int):
            names = _PRIMITIVES if kind == _PRIMITIVE else _WELL_KNOWN
            return names[value] if kind in (_PRIMITIVE, _KNOWN) and value < len(names) else "dyn"
        if kind in (_LIST, _MAP, _TYPE):
            of = "" if kind == _TYPE and not value else ", ".join(_parameters(kind, value))
            return {_LIST: "list", _MAP: "map", _TYPE: "type"}[kind] + f"({of})"
    return "dyn"


def _parameters(kind: int, message: bytes) -> list[str]:
    if kind == _TYPE:
        return [_printed(message)]
    return [_printed(bytes(value)) for _, value in fields_of(message)]
