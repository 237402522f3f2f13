"""The part of JSONPath that custom resource definitions use: keys, indices, `[*]` and a comparison of one field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

#: One step: from a value to the values below it.
Step = Callable[[Any], Iterator[Any]]

_KEY: Final = re.compile(r"\.((?:[^.\[\]\\]|\\.)+)")
_QUOTED_KEY: Final = re.compile(r"""\[(['"])(.+?)\1\]""")
_INDEX: Final = re.compile(r"\[(-?\d+)\]")
_EVERY: Final = re.compile(r"\[\*\]|\.\*")
_WHERE: Final = re.compile(r"""\[\?\(\s*@((?:\.[\w-]+)+)\s*(==|!=)\s*(?:(['"])(.*?)\3|([\w.+-]+))\s*\)\]""")


class JsonPath:
    """A path that was read once, to be followed in many objects. Raise ValueError if it is not one."""

    def __init__(self, text: str) -> None:
        self._steps = list(_parse(text))

    def first(self, value: Any) -> Any:
        """The first value at this path, or None."""
        return next(iter(self.all(value)), None)

    def all(self, value: Any) -> list[Any]:
        """Every value at this path."""
        found = [value]
        for step in self._steps:
            found = [below for each in found for below in step(each)]
        return found


def keys(text: str) -> tuple[str, ...]:
    """Read a path that has keys only, such as `.spec.replicas`. Raise ValueError if it is not one."""
    names, position = [], 0
    while position < len(text):
        match = _KEY.match(text, position)
        if match is None:
            raise ValueError(f"not a path of keys: {text}")
        names.append(_unescaped(match[1]))
        position = match.end()
    return tuple(names)


def _parse(text: str) -> Iterator[Step]:
    if not text.startswith((".", "[")):
        raise ValueError(f"must start with a dot: {text}")
    position = 0 if text != "." else 1
    while position < len(text):
        step, position = _step(text, position)
        yield step


def _step(text: str, position: int) -> tuple[Step, int]:
    if match := _EVERY.match(text, position):
        return _every, match.end()
    if match := _QUOTED_KEY.match(text, position):
        return _key(match[2]), match.end()
    if match := _INDEX.match(text, position):
        return _index(int(match[1])), match.end()
    if match := _WHERE.match(text, position):
        wanted = match[4] if match[3] else match[5]
        return _where(keys(match[1]), wanted, is_equal=match[2] == "=="), match.end()
    if match := _KEY.match(text, position):
        return _key(_unescaped(match[1])), match.end()
    raise ValueError(f"cannot be read from {text[position:]!r} on: {text}")


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _key(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _where(path: tuple[str, ...], wanted: str, *, is_equal: bool) -> Step:
    def holds(value: Any) -> bool:
        for name in path:
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
        return (_spelled(value) == wanted) is is_equal

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from (each for each in value if holds(each))

    return step


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
