"""Go's text/template, as far as the templates of workloads use it.

    text {{ .Index }}  {{ $n := or .numDevices 10 }}  {{ range $i := ($n | Int) }} ... {{ end }}
    {{ if eq .mode "single" }} ... {{ else }} ... {{ end }}

Fields, variables, numbers, texts, parentheses, pipes, if, else, range over a number, comparisons, and the functions
that upstream adds. Anything else is an error that says so, not a guess.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias

from stowplan.bench.parameters import WorkloadError

_ACTION: Final = re.compile(r"\{\{(-\s)?\s*(.*?)\s*(\s-)?\}\}", re.DOTALL)
_TOKEN: Final = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?)|(\.\w*|\$\w*|\w+)|(:=|[()|]))')
_MISSING: Final = object()


@dataclass(slots=True)
class _Scope:
    """What names mean at one place of a template."""

    dot: Any
    variables: dict[str, Any]


_Value: TypeAlias = Callable[[_Scope], Any]
_Part: TypeAlias = Callable[[_Scope, list[str]], None]


class Template:
    """A text with actions in it, read once."""

    def __init__(self, text: str) -> None:
        pieces = list(_pieces(text))
        #: Whether it is the same text for everybody.
        self.is_constant = all(not is_action for is_action, _ in pieces)
        self._parts, rest, end = _block(pieces, 0)
        if rest != len(pieces) or end:
            raise WorkloadError(f"template: {{{{{end}}}}} ends nothing")

    def render(self, env: Mapping[str, Any]) -> str:
        """Return the text for some values; raise WorkloadError if one that is written out is missing."""
        out: list[str] = []
        scope = _Scope(dict(env), {"$": env})
        for part in self._parts:
            part(scope, out)
        return "".join(out)


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    at = 0
    trims = False
    for found in _ACTION.finditer(text):
        before = text[at : found.start()]
        before = before.lstrip() if trims else before
        yield False, before.rstrip() if found[1] else before
        trims = bool(found[3])
        at = found.end()
        if not found[2].startswith("/*"):
            yield True, found[2]
    rest = text[at:]
    yield False, rest.lstrip() if trims else rest


def _block(pieces: Sequence[tuple[bool, str]], at: int) -> tuple[list[_Part], int, str]:
    """Read parts up to an `else` or `end` of somebody else; return them, where that is, and which it is."""
    parts: list[_Part] = []
    while at < len(pieces):
        is_action, text = pieces[at]
        at += 1
        keyword, _, rest = text.partition(" ") if is_action else ("", "", "")
        if not is_action:
            parts.append(_written(text))
        elif keyword in ("end", "else"):
            if rest.strip():
                raise WorkloadError(f"template: {{{{{text}}}}} is not known here; nest an if")
            return parts, at, keyword
        elif keyword in ("if", "range"):
            body, at, end = _block(pieces, at)
            otherwise: list[_Part] = []
            if end == "else":
                otherwise, at, end = _block(pieces, at)
            if end != "end":
                raise WorkloadError(f"template: {{{{{text}}}}} has no {{{{end}}}}")
            parts.append((_if if keyword == "if" else _range)(rest, body, otherwise))
        else:
            parts.append(_action(text))
    return parts, at, ""


def _written(text: str) -> _Part:
    return lambda scope, out: out.append(text)


def _if(condition: str, body: list[_Part], otherwise: list[_Part]) -> _Part:
    is_met = _pipeline(condition)

    def run(scope: _Scope, out: list[str]) -> None:
        for part in body if _is_true(is_met(scope)) else otherwise:
            part(scope, out)

    return run


def _range(over: str, body: list[_Part], otherwise: list[_Part]) -> _Part:
    name, assigned, rest = over.partition(":=")
    count = _pipeline(rest if assigned else over)
    variable = name.strip() if assigned else ""

    def run(scope: _Scope, out: list[str]) -> None:
        found = count(scope)
        if isinstance(found, bool) or not isinstance(found, int):
            raise WorkloadError(
                f"template: {{{{range {over}}}}} goes over {found!r}; only whole numbers are known here"
            )
        for index in range(found):
            variables = {**scope.variables, variable: index} if variable else dict(scope.variables)
            inner = _Scope(scope.dot if variable else index, variables)
            for part in body:
                part(inner, out)
        for part in () if found > 0 else otherwise:
            part(scope, out)

    return run


def _action(text: str) -> _Part:
    name, assigned, rest = text.partition(":=")
    if assigned:
        value = _pipeline(rest)

        def assign(scope: _Scope, out: list[str]) -> None:
            scope.variables[name.strip()] = value(scope)

        return assign
    shown = _pipeline(text)

    def run(scope: _Scope, out: list[str]) -> None:
        found = shown(scope)
        if found is _MISSING:
            raise WorkloadError(f"template: {{{{{text}}}}} has no value; give it in templateParams")
        out.append(_spelled(found))

    return run


# Pipelines


def _pipeline(text: str) -> _Value:
    tokens = _tokens(text)
    value, rest = _commands(tokens, 0)
    if rest != len(tokens):
        raise WorkloadError(f"template: {{{{{text}}}}}: {tokens[rest]!r} is not expected there")
    return value


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise WorkloadError(f"template: {{{{{text}}}}}: {text[at:]!r} is not known here")
        found.append(match[0].strip())
        at = match.end()
    return found


def _commands(tokens: list[str], at: int) -> tuple[_Value, int]:
    """Read commands with pipes between them: each is given what the one before says, as its last argument."""
    value, at = _command(tokens, at, None)
    while at < len(tokens) and tokens[at] == "|":
        value, at = _command(tokens, at + 1, value)
    return value, at


def _command(tokens: list[str], at: int, piped: _Value | None) -> tuple[_Value, int]:
    if at >= len(tokens):
        raise WorkloadError("template: a value is missing")
    function = FUNCTIONS.get(tokens[at])
    if function is None:
        if piped is not None:
            known = ", ".join(FUNCTIONS)
            raise WorkloadError(f"template: {tokens[at]!r} is no function that is known here; there are: {known}")
        return _operand(tokens, at)
    arguments: list[_Value] = []
    at += 1
    while at < len(tokens) and tokens[at] not in (")", "|"):
        argument, at = _operand(tokens, at)
        arguments.append(argument)
    if piped is not None:
        arguments.append(piped)

    def call(scope: _Scope) -> Any:
        given = [argument(scope) for argument in arguments]
        try:
            return function(*(None if one is _MISSING else one for one in given))
        except (TypeError, ValueError, ZeroDivisionError) as error:
            raise WorkloadError(f"template: {' '.join(tokens)}: {error}") from None

    return call, at


def _operand(tokens: list[str], at: int) -> tuple[_Value, int]:
    token = tokens[at]
    if token == "(":
        value, at = _commands(tokens, at + 1)
        if at >= len(tokens) or tokens[at] != ")":
            raise WorkloadError(f"template: {' '.join(tokens)}: a bracket is not closed")
        return value, at + 1
    return _simple(token), at + 1


def _simple(token: str) -> _Value:
    if token == ".":
        return lambda scope: scope.dot
    if token.startswith("."):
        return lambda scope: scope.dot.get(token[1:], _MISSING) if isinstance(scope.dot, Mapping) else _MISSING
    if token.startswith("$"):
        return _variable(token)
    if token.startswith('"'):
        text = json.loads(token)
        return lambda scope: text
    constants = {"true": True, "false": False, "nil": None}
    if token in constants:
        return lambda scope: constants[token]
    if token.lstrip("-")[:1].isdigit():
        number = float(token) if "." in token else int(token)
        return lambda scope: number
    raise WorkloadError(_unknown_text(token))


def _unknown_text(token: str) -> str:
    return f"template: {token!r} is nothing that is known here; functions are: {', '.join(FUNCTIONS)}"


def _variable(name: str) -> _Value:
    def read(scope: _Scope) -> Any:
        if name not in scope.variables:
            raise WorkloadError(_unknown_text(name))
        return scope.variables[name]

    return read


# Values and functions


def _is_true(value: Any) -> bool:
    """Say whether Go takes a value for true: what is there and is not empty or 0."""
    return value is not _MISSING and bool(value)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return "<no value>" if value is None else str(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _or(*values: Any) -> Any:
    return next((value for value in values if value), values[-1])


def _and(*values: Any) -> Any:
    return next((value for value in values if not value), values[-1])


def _whole(function: Callable[..., float]) -> Callable[..., int]:
    return lambda *given: int(function(*given))


def _add(*given: Any) -> float:
    return math.fsum(map(_number, given))


def _multiply(*given: Any) -> float:
    return reduce(operator.mul, map(_number, given), 1.0)


def _subtract(left: Any, right: Any) -> float:
    return _number(left) - _number(right)


def _divide(left: Any, right: Any) -> float:
    return _number(left) / _number(right)


def _mod(left: Any, right: Any) -> int:
    # As in Go, the sign is that of the dividend.
    return int(math.fmod(int(_number(left)), int(_number(right))))


#: Those of Go that occur, and upstream's.
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "or": _or,
    "and": _and,
    "not": operator.not_,
    "eq": lambda left, *others: left in others,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "AddInt": _whole(_add),
    "AddFloat": _add,
    "SubtractInt": _whole(_subtract),
    "SubtractFloat": _subtract,
    "MultiplyInt": _whole(_multiply),
    "MultiplyFloat": _multiply,
    "DivideInt": _whole(_divide),
    "DivideFloat": _divide,
    "Mod": _mod,
    "Int": _whole(_number),
    "JSON": lambda value: json.dumps(value, separators=(",", ":")),
}
