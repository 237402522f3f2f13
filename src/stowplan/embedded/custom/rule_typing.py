"""The types of rules, checked by the CEL library as far as it goes: what is read by its path from `self` is typed.

The library has no types for objects, so every path to a property is a variable of its own there. Inside loops the
properties of objects are of any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from cel_expr_python import cel

from stowplan.cel import patterns, tokens
from stowplan.cel.environment import DYN, STRING, ExpressionError, at, fault
from stowplan.embedded.custom import rule_values
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_MOST_VARIABLES: Final = 1000
_OBJECT: Final = cel.Type.Map(STRING, DYN)
_SIMPLE: Final = {"integer": cel.Type.INT, "number": cel.Type.DOUBLE, "boolean": cel.Type.BOOL, "string": STRING}
_FORMATS: Final = {
    "date-time": cel.Type.TIMESTAMP,
    "date": cel.Type.TIMESTAMP,
    "duration": cel.Type.DURATION,
    "byte": cel.Type.BYTES,
}
_FAULT: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")


def variables(schema: Object, *, is_root: bool) -> dict[str, Any]:
    """Return what rules about values of a schema can read, and the types of it."""
    found: dict[str, Any] = {}
    for name in ("self", "oldSelf"):
        for path, kind in _paths(schema, name, is_root):
            if len(found) < _MOST_VARIABLES:
                found[path] = kind
    return found


def kind_of(environment: Any, text: str) -> str:
    """Return what CEL calls the type of what an expression says. Raise ExpressionError if it does not compile."""
    _check_patterns(text)
    try:
        compiled = environment.compile(_without_questions(tokens.renamed(text)))
    except RuntimeError as error:
        words = fault(error).replace("map(string, dyn)", "object")
        listed = [at(text, _offset(text, int(line), int(column)), what) for line, column, what in _FAULT.findall(words)]
        raise ExpressionError("compilation failed: " + ("\n".join(listed) or words)) from error
    return str(compiled.return_type().name())


def _paths(schema: Object, path: str, is_root: bool) -> Iterator[tuple[str, Any]]:
    yield path, _type(schema)
    if schema.get("type") == "object" and schema.get("nullable") is not True:
        for name, below in rule_values.properties_of(schema, is_root=is_root).items():
            yield from _paths(below, f"{path}.{name}", is_root=False)


def _type(schema: Any) -> Any:
    if not rule_values.is_typed(schema) or schema.get("nullable") or schema.get("x-kubernetes-int-or-string"):
        return DYN
    kind = schema.get("type")
    if kind == "array":
        return cel.Type.List(_type(schema.get("items")))
    if kind == "object":
        additional = schema.get("additionalProperties")
        return cel.Type.Map(STRING, _type(additional)) if isinstance(additional, dict) else _OBJECT
    if kind == "string" and reading.text(schema, "format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return _SIMPLE.get(str(kind), DYN)


def _without_questions(text: str) -> str:
    """Put a plain answer in the place of `has(...)`, which the library does not ask of typed variables."""
    listed = tokens.split(text)
    pieces, done = [], 0
    for index, token in enumerate(listed):
        if token.text == "has" and token.kind == "name" and listed[index + 1].text == "(" and token.start >= done:
            closing = tokens.closing(listed, index + 1)
            if closing is not None:
                end = listed[closing].end
                pieces += [text[done : token.start], "true".ljust(end - token.start)]
                done = end
    return "".join([*pieces, text[done:]])


def _check_patterns(text: str) -> None:
    """Raise ExpressionError for a pattern that is written out and is none."""
    listed = tokens.split(text)
    for index, token in enumerate(listed):
        if token.text != "matches" or listed[index + 1].text != "(" or listed[index + 3].text != ")":
            continue
        literal = listed[index + 2]
        pattern = tokens.literal(literal)
        try:
            if pattern is not None:
                patterns.check(pattern)
        except patterns.PatternError as error:
            what = at(text, literal.start, "invalid matches argument")
            raise ExpressionError(f"compilation failed: {what}") from error


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
