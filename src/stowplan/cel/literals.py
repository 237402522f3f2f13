"""What Kubernetes finds wrong with an expression that is sound to CEL: literals that cannot be what they stand for.

A list or map whose parts are of several types, and patterns, durations and timestamps that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from stowplan.cel import patterns
from stowplan.cel.expressions import Expr, Token, closing, literal, split
from stowplan.cel.signatures import UNKNOWN, misused, type_of

#: Says why an expression without variables fails, "" if it does not.
WhyItFails = Callable[[str], str]

_TIMES: Final = ("duration", "timestamp")
_CONVERSIONS: Final = ("int", "uint", "double", "bool")
_FINDING: Final = ("find", "findAll")
#: Takes parts of all types.
_FORMAT: Final = "format"


class Flaw(NamedTuple):
    """Where something is wrong, and what."""

    position: int
    what: str


def flaws(expression: str, parsed: Expr, why_it_fails: WhyItFails, unknown: str = "dyn") -> list[Flaw]:
    """Return what does not compile for it, in the order of the text; `unknown` is what an unknown type is called."""
    # Upstream looks for these only where all functions take what they are given.
    wrong = [Flaw(*found) for found in misused(parsed, unknown)]
    return sorted(wrong or [*_unreadable(split(expression), why_it_fails), *_mixed(parsed, unknown)])


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
    expected = type_of(telling[0], unknown) if telling else UNKNOWN
    for part in telling[1:]:
        found = type_of(part, unknown)
        if UNKNOWN not in (found, expected) and found != expected:
            yield Flaw(part.position, f"expected type '{expected}' but found '{found}'")
