"""The rules of definitions (`x-kubernetes-validations`), compiled by the CEL library and asked of objects.

What a rule may cost is bounded twice: the library takes 10,000 steps through lists in one evaluation, and `MOST_COST`
bounds all evaluations for an object together. Imported when the first rule is met; `rule_validation` checks rules that
are written, `rule_types` what they read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from cel_expr_python import cel

from stowplan.cel import expressions
from stowplan.cel.environment import DYN, ExpressionError, at, environment, fault, in_other_words
from stowplan.cel.functions import of_kubernetes
from stowplan.cel.network import of_network
from stowplan.embedded.custom import rule_types
from stowplan.embedded.custom.rule_patterns import PatternMeter
from stowplan.embedded.objects.resource import Object
from stowplan.model.remembering import remember

#: Everything in an object that rules look at, each time that one does, and each step through a list.
MOST_COST: Final = 500_000
_MOST_STEPS: Final = 10_000
_EVALUATION: Final = 10
_CHARACTERS: Final = 1000
#: What is made of strings in loops stays in memory.
_CHARACTERS_IN_LOOPS: Final = 200
_ITEMS: Final = 10
_MOST_GROWTH: Final = 64
_LONGEST: Final = 100_000
#: What the library says of a value that it cannot be given inside an object or a list.
_NO_VALUE: Final = "Non-CEL value type"
#: Functions that go through a list each time that they are called, which the library does not count.
_WALKING: Final = frozenset(
    (
        *("@in", "IndexOf", "LastIndexOf", "isSorted", "sum", "min", "max", "slice", "flatten", "distinct", "reverse"),
        *("sort", "includes", "sets.contains", "sets.equivalent", "sets.intersects", "_==_", "_!=_", "split", "join"),
    )
)
_EXTENSIONS: Final = ("lists", "sets", "two-var-comprehensions")
# The library has these itself, with loops that are bounded.
_OF_EXTENSIONS: Final = frozenset(
    ("slice", "flatten", "distinct", "reverse", "sort", "sets.contains", "sets.equivalent", "sets.intersects")
)
_BY_FORMAT: Final = {"date-time": cel.Type.TIMESTAMP, "date": cel.Type.TIMESTAMP, "duration": cel.Type.DURATION}
_PYTHON: Final = frozenset(function.name for function in (*of_kubernetes(), *of_network())) | {"dyn"}


class NotEvaluatedError(Exception):
    """A rule that is sound, but that the library cannot be asked; says why."""


class BudgetError(Exception):
    """A rule that was stopped for what it costs."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled rule or message."""

    program: Any
    parsed: expressions.Expr
    uses_old: bool
    #: How long it is, and how many items its own lists have.
    length: int
    items: int
    meter: PatternMeter
    #: How deep loops are nested.
    loops: int
    #: How many loops there are around functions that go through lists, and around `join`; -1 if there is none.
    walks: int
    joins: int
    splits: bool

    def evaluate(self, variables: Object) -> Any:
        """Say what it says of values. Raise ExpressionError, BudgetError, or NotEvaluatedError for what CEL has not."""
        self.meter.reset()
        try:
            result = self.program.eval(data=variables)
        except RuntimeError as error:
            if "Iteration budget exceeded" in str(error):
                raise BudgetError from error
            if _NO_VALUE in str(error):
                raise NotEvaluatedError(str(error)) from error
            raise ExpressionError(in_other_words(str(error))) from error
        if self.meter.is_exceeded:
            raise BudgetError
        if result.type().name() == "ERROR":
            if _NO_VALUE in str(result.value()):
                raise NotEvaluatedError(str(result.value()))
            raise ExpressionError(in_other_words(str(result.value())))
        return result.plain_value()

    def cost(self, size: int, longest: int) -> int:
        """Estimate what evaluating it costs, for values of a size of which the longest string has a length."""
        items = max(size, self.items, longest if self.splits else 0)
        steps = _steps(items, self.loops)
        cost = _EVALUATION + size + steps + self.length * longest // _CHARACTERS
        if self.loops:
            cost += steps * longest // _CHARACTERS_IN_LOOPS
        if self.walks >= 0:
            cost += _steps(items, self.walks) * items // _ITEMS
        if self.joins >= 0:
            # What is put between the items may be as long as they are.
            cost += _steps(items, self.joins) * items * 2 * longest // _CHARACTERS_IN_LOOPS
        return int(cost)


def compiled(schema: Object, text: str, old: str = "plain", *, is_root: bool = False) -> Expression:
    """Compile an expression about values of a schema; `old`: oldSelf is the value, "some" or "none".

    Raise ExpressionError if it does not compile, NotEvaluatedError if it cannot be evaluated.
    """
    kind = str(schema.get("format")) if schema.get("type") == "string" else ""
    expression = _compiled(text, kind if kind in _BY_FORMAT else "", old)
    if rule_types.reads_times(schema, expression.parsed, text, is_root=is_root):
        raise NotEvaluatedError("it reads a date-time, a date or a duration inside an object or a list")
    return expression


def _steps(items: int, loops: int) -> int:
    return int(min(_MOST_STEPS, items**loops))


class Typing:
    """Finds the types of expressions about values of one schema; what they may read is worked out once for all."""

    def __init__(self, schema: Object, *, is_root: bool) -> None:
        self._schema, self._is_root = schema, is_root

    def kind_of(self, text: str, old: str) -> str:
        """Return what CEL calls the type of what an expression says, as far as it is known. Raise ExpressionError."""
        with suppress(NotEvaluatedError):
            compiled(self._schema, text, old, is_root=self._is_root)
        return "DYN" if old != "plain" else rule_types.kind_of(self._environment, text)

    @cached_property
    def _environment(self) -> Any:
        return _make(rule_types.variables(self._schema, is_root=self._is_root), PatternMeter())


@remember(2**19)
def _compiled(text: str, kind: str, old: str) -> Expression:
    if len(text) > _LONGEST:
        raise ExpressionError(
            f"compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: "
            f"size: {len(text)}, limit {_LONGEST}"
        )
    try:
        program = _environment(kind).compile(_with_old(expressions.renamed(text), old))
    except RuntimeError as error:
        raise ExpressionError(f"compilation failed: {_in_upstream_words(fault(error))}") from error
    parsed = expressions.read(program.serialize())
    if rule_types.growth(parsed) > _MOST_GROWTH:
        raise ExpressionError("compilation failed: the rule adds up too much, in variables that it binds or loops over")
    found = expressions.problem(parsed, _PYTHON, has_lists=True)
    if found is not None:
        raise ExpressionError(f"compilation failed: {at(text, *found)}")
    uses_old = any(node.name == "oldSelf" for node in parsed.walk()) or (old != "plain" and "oldSelf" in text)
    return Expression(
        program,
        parsed,
        uses_old,
        len(text),
        rule_types.items(parsed),
        _meter(kind),
        rule_types.loops(parsed),
        walks=rule_types.loops_around(parsed, _WALKING),
        joins=rule_types.loops_around(parsed, ("join",)),
        splits=rule_types.loops_around(parsed, ("split",)) >= 0,
    )


@lru_cache(maxsize=4)
def _environment(kind: str) -> Any:
    itself = _BY_FORMAT.get(kind, DYN)
    return _make({"self": itself, "oldSelf": itself}, _meter(kind))


@lru_cache(maxsize=4)
def _meter(kind: str) -> PatternMeter:
    """What the patterns of one environment cost; each has its own."""
    return PatternMeter()


def _make(variables: dict[str, Any], meter: PatternMeter) -> Any:
    more = [*of_network(), *meter.functions()]
    return environment(variables, _EXTENSIONS, more, without=_OF_EXTENSIONS | {each.name for each in meter.functions()})


def _with_old(text: str, old: str) -> str:
    """Make what may be missing of the value as it was, where a rule says that it may be."""
    if old == "plain":
        return text
    wrapped = "optional.of(oldSelf)" if old == "some" else "optional.none()"
    pieces, done = [], 0
    listed = expressions.split(text)
    for index, token in enumerate(listed):
        if token.kind == "name" and token.text == "oldSelf" and (index == 0 or listed[index - 1].text != "."):
            pieces += [text[done : token.start], wrapped]
            done = token.end
    return "".join([*pieces, text[done:]])


def _in_upstream_words(words: str) -> str:
    words = re.sub(r" \(in container ''\)", "", words)
    return re.sub(r"undeclared reference to '(\w+)'", r"undeclared reference to '\1' (in container '')", words)
