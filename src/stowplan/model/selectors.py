"""Label selectors that answer: compiled once, shared by equal ones, fit for dictionary keys.

`compile_label_selector` takes the API object, `parse_selector` the text form: `app=web,tier in (a,b),!old`. Columns
evaluate the same `Requirement`s over label codes; `node_selector.py` uses them for nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from stowplan.model.label_syntax import SelectorError as SelectorError
from stowplan.model.label_syntax import invalid, key_problems, parse_int64, quoted, value_problems
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement

#: Its key and its value.
Label = tuple[str, str]

IN, NOT_IN = "in", "notin"
EQUALS, DOUBLE_EQUALS, NOT_EQUALS = "=", "==", "!="
EXISTS, DOES_NOT_EXIST = "exists", "!"
GREATER_THAN, LESS_THAN = "gt", "lt"

#: The operators that API objects may name.
OPERATORS = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": DOES_NOT_EXIST}
# Where an operator is not written as it is called.
_SIGNS = {GREATER_THAN: ">", LESS_THAN: "<", IN: " in ", NOT_IN: " notin "}

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^ \t\r\n=!(),><\0]+)\0?")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", ">", "<"))
_BINARY = {_SIGNS.get(each, each).strip(): each for each in (EQUALS, DOUBLE_EQUALS, NOT_EQUALS, *_SIGNS)}
_END = ""


class Requirement(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One condition on one label; `operator` is one of this module's constants."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        operator = self.operator
        if operator in (EQUALS, IN, DOUBLE_EQUALS):
            return value is not None and value in self.values
        if operator in (NOT_IN, NOT_EQUALS):
            return value is None or value not in self.values
        if operator == EXISTS:
            return value is not None
        if operator == DOES_NOT_EXIST:
            return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        number, bound = parse_int64(value), parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == GREATER_THAN else number < bound

    def __str__(self) -> str:
        if self.operator == EXISTS:
            return self.key
        if self.operator == DOES_NOT_EXIST:
            return "!" + self.key
        values = ",".join(sorted(self.values))
        if self.operator in (IN, NOT_IN):
            values = f"({values})"
        return f"{self.key}{_SIGNS.get(self.operator, self.operator)}{values}"


class Selector(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Conditions that must all hold, in the order of their keys; `is_nothing` makes it match no labels at all."""

    requirements: tuple[Requirement, ...] = ()
    is_nothing: bool = False

    @property
    def is_everything(self) -> bool:
        return not self.requirements and not self.is_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.is_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def needed_labels(self) -> list[tuple[Label, ...]]:
        """Return sets of labels of each of which whatever matches has one; no set at all if none is needed."""
        exact = (requirement for requirement in self.requirements if requirement.operator in (EQUALS, IN))
        return [tuple((requirement.key, value) for value in requirement.values) for requirement in exact]

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(is_nothing=True)


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile an API selector: None matches nothing, an empty one everything. Raise SelectorError if it is invalid."""
    if selector is None:
        return NOTHING
    return _compile(tuple(sorted(selector.match_labels.items())), selector.match_expressions)


def from_labels(labels: Mapping[str, str]) -> Selector:
    """The selector for exactly these labels, unchecked (`nodeSelector`, the selectors of services)."""
    return select(Requirement(key, EQUALS, (value,)) for key, value in labels.items())


def select(requirements: Iterable[Requirement]) -> Selector:
    """The one shared selector with these requirements."""
    return _share(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def make_requirement(key: str, operator: str, given: tuple[str, ...] | None, path: str = "") -> Requirement:
    """Check and build a requirement of the given values; `path` is where it was written, for the errors."""
    values = given or ()
    prefix = f"{path}." if path else ""
    problems = []
    if problem := key_problems(key):
        problems.append(invalid(f"{prefix}key", key, problem))
    problems += _value_count_problems(operator, given, f"{prefix}values")
    for index, value in enumerate(values):
        if problem := value_problems(value):
            problems.append(invalid(f"{prefix}values[{index}][{key}]", value, problem))
    if problems:
        raise SelectorError(*problems)
    return Requirement(key, operator, values)


def _value_count_problems(operator: str, given: tuple[str, ...] | None, path: str) -> list[str]:
    values, shown = given or (), None if given is None else list(given)
    if operator in (IN, NOT_IN):
        return [] if values else [invalid(path, shown, "for 'in', 'notin' operators, values set can't be empty")]
    if operator in (EXISTS, DOES_NOT_EXIST):
        return [invalid(path, shown, "values set must be empty for exists and does not exist")] if values else []
    if operator not in (GREATER_THAN, LESS_THAN):
        # Both text and labels give exactly one value.
        return []
    problems = []
    if len(values) != 1:
        problems.append(invalid(path, shown, "for 'Gt', 'Lt' operators, exactly one value is required"))
    for index, value in enumerate(values):
        if parse_int64(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.append(invalid(f"{path}[{index}]", value, detail))
    return problems


@lru_cache(maxsize=16384)
def _compile(labels: tuple[tuple[str, str], ...], expressions: tuple[LabelSelectorRequirement, ...]) -> Selector:
    requirements = [make_requirement(key, EQUALS, (value,)) for key, value in labels]
    for expression in expressions:
        operator = OPERATORS.get(expression.operator)
        if operator is None:
            raise SelectorError(f"{quoted(expression.operator)} is not a valid label selector operator")
        # Upstream copies the values, and a copy of no values is none.
        requirements.append(make_requirement(expression.key, operator, expression.values or None))
    return select(requirements)


@lru_cache(maxsize=16384)
def _share(requirements: tuple[Requirement, ...]) -> Selector:
    return Selector(requirements) if requirements else EVERYTHING


def parse_selector(text: str) -> Selector:
    """Read a selector; the empty text selects everything. Raise SelectorError with upstream's words.

    A requirement is a key (it exists), `!` and a key (it does not), a key with `=`, `==`, `!=`, `>` or `<` and one
    value, or a key with `in` or `notin` and a list of values in brackets. Commas join requirements.
    """
    return select(_SelectorReader(text).read_all())


class _SelectorReader:
    """Walks the tokens; a token that is neither symbol nor end is an identifier, "in" and "notin" included."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokenise(text)
        self._position = 0

    def read_all(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        if self._next == _END:
            return requirements
        if not self._starts_requirement:
            raise SelectorError(f"found '{self._next}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                requirements.append(self._read_requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            separator = self._take()
            if separator == _END:
                return requirements
            if separator != ",":
                raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            if not self._starts_requirement:
                raise SelectorError(f"found '{self._next}', expected: identifier after ','")

    @property
    def _next(self) -> str:
        return self._tokens[self._position]

    @property
    def _starts_requirement(self) -> bool:
        return self._next == "!" or _is_identifier(self._next)

    def _take(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def _read_requirement(self) -> Requirement:
        is_negated = self._next == "!"
        if is_negated:
            self._take()
        key = self._take()
        if not _is_identifier(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        if problem := key_problems(key):
            raise SelectorError(invalid("<nil>", key, problem))
        if is_negated:
            return make_requirement(key, DOES_NOT_EXIST, ())
        if self._next in (_END, ","):
            return make_requirement(key, EXISTS, ())
        operator = _BINARY.get(sign := self._take())
        if operator is None:
            raise SelectorError(f"found '{sign}', expected: in, notin, =, ==, !=, gt, lt")
        is_set = operator in (IN, NOT_IN)
        values = self._read_values() if is_set else {self._read_value()}
        return make_requirement(key, operator, tuple(sorted(values)))

    def _read_value(self) -> str:
        if self._next in (_END, ","):
            return ""
        value = self._take()
        if not _is_identifier(value):
            raise SelectorError(f"found '{value}', expected: identifier")
        return value

    def _read_values(self) -> set[str]:
        if (bracket := self._take()) != "(":
            raise SelectorError(f"found '{bracket}' expected: '('")
        if self._next == ")":
            self._take()
            return {""}
        if self._next != "," and not _is_identifier(self._next):
            raise SelectorError(f"found '{self._next}', expected: ',', ')' or identifier")
        values = self._read_list()
        self._take()
        return values

    def _read_list(self) -> set[str]:
        """Read up to the closing bracket; nothing between two commas is the empty value."""
        values: set[str] = set()
        while True:
            token = self._take()
            if _is_identifier(token):
                values.add(token)
                if self._next == ")":
                    return values
                if self._next != ",":
                    raise SelectorError(f"found '{self._next}', expected: ',' or ')'")
            elif token == ",":
                if not values or self._next in (")", ","):
                    values.add("")
                if self._next == ")":
                    return values
            else:
                raise SelectorError(f"found '{token}', expected: ',', or identifier")


def _tokenise(text: str) -> list[str]:
    tokens, position = [], 0
    while found := _TOKEN.match(text, position):
        tokens.append(found[1])
        position = found.end()
    return [*tokens, _END]


def _is_identifier(token: str) -> bool:
    return token != _END and token not in _SYMBOLS
