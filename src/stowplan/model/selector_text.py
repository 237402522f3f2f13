"""Label selectors written as text: `app=web,tier in (a,b),!old`. The result is a `selectors.Selector`.

A requirement is a key (it exists), `!` and a key (it does not), a key with `=`, `==`, `!=`, `>` or `<` and one value,
or a key with `in` or `notin` and a list of values in brackets. Commas join requirements.
"""

from __future__ import annotations

import re

from stowplan.model import selectors
from stowplan.model.label_syntax import SelectorError, invalid, key_problems
from stowplan.model.selectors import Requirement, Selector

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^ \t\r\n=!(),><\0]+)\0?")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", ">", "<"))
_BINARY = {
    "in": selectors.IN,
    "notin": selectors.NOT_IN,
    "=": selectors.EQUALS,
    "==": selectors.DOUBLE_EQUALS,
    "!=": selectors.NOT_EQUALS,
    ">": selectors.GREATER_THAN,
    "<": selectors.LESS_THAN,
}
_END = ""


def parse(text: str) -> Selector:
    """Read a selector; the empty text selects everything. Raise SelectorError with upstream's words."""
    return selectors.select(_Reader(text).read_all())


class _Reader:
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
            return selectors.make_requirement(key, selectors.DOES_NOT_EXIST, ())
        if self._next in (_END, ","):
            return selectors.make_requirement(key, selectors.EXISTS, ())
        operator = _BINARY.get(sign := self._take())
        if operator is None:
            raise SelectorError(f"found '{sign}', expected: in, notin, =, ==, !=, gt, lt")
        is_set = operator in (selectors.IN, selectors.NOT_IN)
        values = self._read_values() if is_set else {self._read_value()}
        return selectors.make_requirement(key, operator, tuple(sorted(values)))

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
