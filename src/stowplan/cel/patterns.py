"""Regular expressions by the engine of the CEL library, RE2: the syntax that Kubernetes takes, in linear time.

The library compiles a pattern each time that it is used, so answers are kept, and a pattern has a `weight`: about how
many instructions it compiles to. Linear is the time with each of the two, weight and text: whoever lets others choose
them bounds the sum of what `cost` says. Finding may look through the rest of the text for each that fits, and is
stopped where that may take long.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from cel_expr_python import cel

#: A pattern that weighs more takes too long to compile, and is refused.
MOST_WEIGHT: Final = 50_000
#: What the library for rules says of one that costs too much.
COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
#: Bytes of a text that cost nothing more, and so many of those beyond cost what the pattern weighs.
_FREE_BYTES: Final = 100
_BYTES: Final = 200
#: How many are found at first, each time how many times more, and what finding them may cost.
_FOUND_AT_FIRST: Final = 1
_FOUND_MORE: Final = 4
_MOST_SEARCHED: Final = 5_000_000
_LONGEST: Final = 10_000
_KEPT: Final = 8192
_LONGEST_KEPT: Final = 512
_CONFIGURATION: Final = "extensions:\n  - name: optional\n  - name: regex\n"
_STRING: Final = cel.Type.STRING
# What RE2 calls a fault, and what Go's package does.
_WORDS: Final = (
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid repetition size", "invalid repeat count"),
    ("missing )", "missing closing )"),
    ("missing ]", "missing closing ]"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid named capture group", "invalid named capture"),
    ("trailing \\", "trailing backslash at end of expression"),
)
_PIECE: Final = re.compile(
    r"(?P<quoted>\\Q.*?(?:\\E|$))|(?P<category>\\[pP](?:\{[^}]*\}|.))|(?P<escape>\\x\{[^}]*\}|\\.)|(?P<class>\[\^?\]?(?:\\.|\[:\w*:\]|[^\]\\])*\])"
    r"|(?P<repeat>\{\d+(?:,\d*)?\})|(?P<open>\()|(?P<close>\))|(?P<any>.)",
    re.DOTALL,
)
_CATEGORY_WEIGHT: Final = 2500
_WIDE_WEIGHT: Final = 10


class PatternError(ValueError):
    """A text that is no pattern; the words are those of Go's package for regular expressions."""


def check(pattern: str) -> int:
    """Return the weight of a pattern. Raise PatternError if it is none, or is too heavy."""
    if r"\C" in re.sub(r"\\[^C]", "", pattern):
        raise PatternError(r"error parsing regexp: invalid escape sequence: `\C`")
    if len(pattern) > _LONGEST or (found := weight(pattern)) > MOST_WEIGHT:
        raise PatternError("error parsing regexp: expression too large")
    matches(pattern, "")
    return found


def matches(pattern: str, text: str) -> bool:
    """Say whether a pattern is found anywhere in a text. Raise PatternError."""
    return _kept_answer(pattern, text) if len(text) < _LONGEST_KEPT else _answer(pattern, text)


def cost(pattern: str, text: str) -> int:
    """Estimate what it costs to look for a pattern in a text, in the weight of patterns.

    Where a pattern has more states than RE2 keeps, each byte takes 5 ns or so for each instruction.
    """
    found = weight(pattern)
    size = len(text) if text.isascii() else len(text) * 4
    return found + found * max(size - _FREE_BYTES, 0) // _BYTES


def find_all(pattern: str, text: str, most: int = -1) -> list[str]:
    """Return what a pattern fits in a text, from left to right. Raise PatternError; ValueError if it costs too much."""
    wanted, each = _FOUND_AT_FIRST, cost(pattern, text)
    while True:
        wanted = wanted if most < 0 else min(wanted, most)
        found = _find(pattern, text, wanted)
        if "" in found:
            # Of a number of matches, the library finds an empty one at the same place again and again.
            if len(text) * each > _MOST_SEARCHED:
                raise ValueError(COST_EXCEEDED)
            return _find(pattern, text, -1)[: None if most < 0 else most]
        if len(found) < wanted or wanted == most:
            return found
        wanted *= _FOUND_MORE
        if wanted * each > _MOST_SEARCHED:
            raise ValueError(COST_EXCEEDED)


def _find(pattern: str, text: str, most: int) -> list[str]:
    opening, closing = _marks(text)
    data = {"text": text, "pattern": pattern, "by": rf"{opening}\0{closing}", "most": most}
    try:
        marked = _REPLACE.eval(data=data).value()
    except RuntimeError as error:
        raise _fault(str(error)) from error
    if not isinstance(marked, str):
        raise _fault(str(marked))
    return [part.partition(closing)[0] for part in marked.split(opening)[1:]]


@lru_cache(maxsize=1024)
def weight(pattern: str) -> int:
    """Estimate how many instructions a pattern compiles to."""
    totals, last = [0], 0
    for piece in _PIECE.finditer(pattern):
        match piece.lastgroup:
            case "open":
                # What is in plain brackets is noted where it begins and where it ends.
                totals.append(0 if pattern.startswith("?", piece.end()) else 2)
                continue
            case "close":
                last = totals.pop() if len(totals) > 1 else 0
            case "repeat":
                last *= max(max(map(int, re.findall(r"\d+", piece.group()))) - 1, 0)
            case kind:
                last = _weight_of(str(kind), piece.group())
        totals[-1] += last
    return sum(totals)


def _weight_of(kind: str, text: str) -> int:
    if kind == "category" or (kind == "class" and ("\\p" in text or "\\P" in text)):
        return _CATEGORY_WEIGHT
    is_wide = text == "." or (kind == "class" and (text[1] == "^" or not text.isascii())) or text[1:] in ("D", "W", "S")
    return _WIDE_WEIGHT if is_wide else max(len(text) // 8, 1)


def _answer(pattern: str, text: str) -> bool:
    found = _MATCHES.eval(data={"text": text, "pattern": pattern}).value()
    if not isinstance(found, bool):
        raise _fault(str(found))
    return found


_kept_answer = lru_cache(maxsize=_KEPT)(_answer)


def _fault(words: str) -> PatternError:
    words = re.sub(r" \[[A-Z_]+\]$", "", words).partition("invalid regular expression: ")[2] or words
    what, _, where = words.partition(": ")
    for theirs, ours in _WORDS:
        if words == theirs or what == theirs:
            return PatternError(f"error parsing regexp: {ours}: `{where}`")
    return PatternError(f"error parsing regexp: {what}" + (f": `{where}`" if where else ""))


def _marks(text: str) -> tuple[str, str]:
    """Return two characters that a text does not have."""
    free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    return next(free), next(free)


_ENVIRONMENT: Final = cel.NewEnv(
    config=cel.NewEnvConfigFromYaml(_CONFIGURATION),
    variables={"text": _STRING, "pattern": _STRING, "by": _STRING, "most": cel.Type.INT},
)
_MATCHES: Final = _ENVIRONMENT.compile("text.matches(pattern)")
_REPLACE: Final = _ENVIRONMENT.compile("regex.replace(text, pattern, by, most)")
