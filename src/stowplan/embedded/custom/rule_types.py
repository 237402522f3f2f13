"""What rules read, held against the schema: fields that are not there, what is no object, and types of expressions.

The CEL library knows nothing of the schema and has no types for objects, so every path to a property is a variable of
its own there, as far as `variables` goes. Inside loops the properties of objects are of any type: what is done with
them is not checked before a rule is evaluated, unless the rule itself says it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from cel_expr_python import cel

from stowplan.cel import expressions, patterns
from stowplan.cel.environment import DYN, STRING, ExpressionError, at, fault
from stowplan.embedded.custom import rule_values
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_MOST_ITEMS: Final = 10_000
#: `self.?field` and `self[?"field"]`.
_OPTIONAL: Final = ("_?._", "_[?_]")
_TIMES: Final = ("date-time", "date", "duration")
_NAMES: Final = {"integer": "int", "number": "double", "boolean": "bool", "string": "string", "array": "list"}
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


def reads_times(schema: Object, parsed: expressions.Expr, text: str, *, is_root: bool) -> bool:
    """Say whether a rule reads a time or a duration inside an object, which the library cannot be given.

    Raise ExpressionError for a rule that reads what values of the schema cannot have.
    """
    reader = _Reader(text, schema, is_root)
    reader.read(parsed, {})
    return reader.has_times or (reader.is_unsure and not set(re.findall(r"\w+", text)).isdisjoint(_time_names(schema)))


def loops(node: expressions.Expr) -> int:
    """Return how deep the loops of an expression are nested."""
    below = max(map(loops, node.parts), default=0)
    # `cel.bind` is a loop over nothing.
    return below + (node.does == expressions.LOOP and node.name != "#unused" and bool(node.parts))


def items(node: expressions.Expr) -> int:
    """Return how many items the longest list has that an expression makes itself."""
    own = _MOST_ITEMS if node.does == "lists.Range" else len(node.parts) if node.does == "list" else 0
    return max([own, *map(items, node.parts)])


def loops_around(node: expressions.Expr, names: Collection[str]) -> int:
    """Return how many loops there are around a call of one of the functions, at most; -1 if none is called."""
    inside = node.does == expressions.LOOP and node.name != "#unused"
    # What is looped over is worked out once.
    below = [
        found + (inside and index > 0)
        for index, part in enumerate(node.parts)
        if (found := loops_around(part, names)) >= 0
    ]
    return max([0 if node.does in names else -1, *below])


def growth(node: expressions.Expr) -> int:
    """Return how many times longer than what it reads something can become by being added up."""
    below = [growth(part) for part in node.parts]
    # `map` and `filter` collect what they find by adding it to a result.
    if node.does == "_+_" and node.parts[0].name != "@result":
        return sum(below)
    if node.does == expressions.LOOP:
        # What is bound or looped over is read again in each of the parts.
        return math.prod(below)
    return max(below, default=1)


def _time_names(schema: Any, name: str | None = None) -> Iterator[str]:
    """Yield the names of the properties that are times, or lists or maps of them, on any level, as rules spell them."""
    if not isinstance(schema, dict):
        return
    if name is not None and _is_time(schema):
        yield name
    for below in (schema.get("items"), schema.get("additionalProperties")):
        yield from _time_names(below, name)
    for key, below in reading.mapping(schema, "properties").items():
        yield from _time_names(below, rule_values.escaped(key))


def _is_time(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "string" and schema.get("format") in _TIMES


class _Reader:
    def __init__(self, text: str, schema: Object, is_root: bool) -> None:
        self._text = text
        self._schema = schema
        self._is_root = is_root
        self.has_times = False
        #: Whether a field is read of something of which the schema is not known.
        self.is_unsure = False

    def read(self, node: expressions.Expr, scope: dict[str, Any]) -> Any:
        """Return the schema of what a node yields; None if it is not known."""
        match node.does:
            case "" if node.name:
                return scope.get(node.name, self._schema if node.name in ("self", "oldSelf") else None)
            case "select":
                return self._select(node, self.read(node.parts[0], scope))
            case expressions.LOOP:
                return self._loop(node, scope)
        found = [self.read(part, scope) for part in node.parts]
        self.is_unsure = self.is_unsure or node.does in _OPTIONAL
        if node.does == "_[_]" and isinstance(found[0], dict):
            return self._noted(found[0].get("items") or found[0].get("additionalProperties"))
        return None

    def _loop(self, node: expressions.Expr, scope: dict[str, Any]) -> None:
        ranged = self.read(node.parts[0], scope)
        items = self._noted(ranged.get("items")) if isinstance(ranged, dict) and ranged.get("type") == "array" else None
        for part in node.parts[1:]:
            self.read(part, {**scope, node.name: items})

    def _select(self, node: expressions.Expr, schema: Any) -> Any:
        if not isinstance(schema, dict) or schema.get("x-kubernetes-int-or-string") is True:
            self.is_unsure = True
            return None
        if isinstance(schema.get("additionalProperties"), dict):
            return self._noted(schema["additionalProperties"])
        kind = reading.text(schema, "type")
        if kind in _NAMES:
            what = f"type '{_NAMES[kind]}' does not support field selection"
            raise ExpressionError(f"compilation failed: {at(self._text, node.position, what)}")
        properties = rule_values.properties_of(schema, is_root=self._is_root and schema is self._schema)
        if node.name not in properties:
            what = f"undefined field '{node.name}'"
            raise ExpressionError(f"compilation failed: {at(self._text, node.position, what)}")
        return self._noted(properties[node.name])

    def _noted(self, schema: Any) -> Any:
        self.has_times = self.has_times or _is_time(schema)
        return schema


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
        compiled = environment.compile(_without_questions(expressions.renamed(text)))
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
    listed = expressions.split(text)
    pieces, done = [], 0
    for index, token in enumerate(listed):
        if token.text == "has" and token.kind == "name" and listed[index + 1].text == "(" and token.start >= done:
            closing = expressions.closing(listed, index + 1)
            if closing is not None:
                end = listed[closing].end
                pieces += [text[done : token.start], "true".ljust(end - token.start)]
                done = end
    return "".join([*pieces, text[done:]])


def _check_patterns(text: str) -> None:
    """Raise ExpressionError for a pattern that is written out and is none."""
    listed = expressions.split(text)
    for index, token in enumerate(listed):
        if token.text != "matches" or listed[index + 1].text != "(" or listed[index + 3].text != ")":
            continue
        literal = listed[index + 2]
        pattern = expressions.literal(literal)
        try:
            if pattern is not None:
                patterns.check(pattern)
        except patterns.PatternError as error:
            what = at(text, literal.start, "invalid matches argument")
            raise ExpressionError(f"compilation failed: {what}") from error


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
