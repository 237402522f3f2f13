"""The functions that Kubernetes adds to CEL for quantities, versions, patterns, lists and sets.

Those for addresses and URLs are in `network.py`. Some go by other names here (`expressions.RENAMED`): the library has
`indexOf` for strings alone, and `matches` and `replace` without bounds. `sortBy` is missing: it is rewritten by the
parser in Kubernetes, which the CEL library does not let us do.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, NamedTuple

from stowplan.cel import patterns, values
from stowplan.cel.values import (
    NO_OVERLOAD,
    QUANTITY,
    VERSION,
    Carrier,
    NoOverloadError,
    VersionError,
    is_equal,
    kind_of,
    of_quantity,
    of_version,
    quantity_in,
    version_in,
)
from stowplan.model.quantity import Quantity, QuantityError

_MOST_INCLUDED: Final = 48
# How long a string may become by replacing parts of it.
_LONGEST: Final = 3 * 1024 * 1024
# What evaluating a selector may cost; a list costs as much as it is long.
_MOST_COST: Final = 1_000_000
_MOST_PATTERN_COST: Final = 100_000
_ORDERED: Final = ("bool", "int", "double", "string", "bytes")
COST_EXCEEDED: Final = patterns.COST_EXCEEDED


class Function(NamedTuple):
    """One overload; a member is written `value.name(...)`, its value being the first parameter."""

    name: str
    is_member: bool
    parameters: tuple[str, ...]
    result: str
    answer: Callable[..., Any]


def of_kubernetes() -> list[Function]:
    """Return all of them. Those of features that are off are there too, as for expressions that are stored already."""
    return [
        Function("quantity", False, ("string",), "carrier", _quantity),
        Function("isQuantity", False, ("string",), "bool", _can(_quantity)),
        Function("sign", False, ("dyn",), "int", _asking(QUANTITY, "sign", lambda number: number.sign)),
        Function("isInteger", True, ("dyn",), "bool", _asking(QUANTITY, "isInteger", _is_integer)),
        Function("asInteger", True, ("dyn",), "int", _asking(QUANTITY, "asInteger", _as_integer)),
        Function("asApproximateFloat", True, ("dyn",), "double", _asking(QUANTITY, "asApproximateFloat", _as_float)),
        Function("add", True, ("dyn", "dyn"), "carrier", _combining("add", 1)),
        Function("sub", True, ("dyn", "dyn"), "carrier", _combining("sub", -1)),
        Function("semver", False, ("string",), "carrier", _semver),
        Function("semver", False, ("string", "bool"), "carrier", _semver),
        Function("isSemver", False, ("string",), "bool", _can(_semver)),
        Function("isSemver", False, ("string", "bool"), "bool", _can(_semver)),
        Function("major", True, ("dyn",), "int", _asking(VERSION, "major", lambda version: version.major)),
        Function("minor", True, ("dyn",), "int", _asking(VERSION, "minor", lambda version: version.minor)),
        Function("patch", True, ("dyn",), "int", _asking(VERSION, "patch", lambda version: version.patch)),
        Function("compareTo", True, ("dyn", "dyn"), "int", _comparing("compareTo", lambda order: order)),
        Function("isGreaterThan", True, ("dyn", "dyn"), "bool", _comparing("isGreaterThan", lambda order: order > 0)),
        Function("isLessThan", True, ("dyn", "dyn"), "bool", _comparing("isLessThan", lambda order: order < 0)),
        Function("Matches", False, ("string", "string"), "bool", _matches),
        Function("Matches", True, ("string", "string"), "bool", _matches),
        Function("Replace", True, ("string", "string", "string"), "string", _replace),
        Function("Replace", True, ("string", "string", "string", "int"), "string", _replace),
        Function("find", True, ("string", "string"), "string", _find),
        Function("findAll", True, ("string", "string"), "strings", _find_all),
        Function("findAll", True, ("string", "string", "int"), "strings", _find_all),
        Function("includes", True, ("dyn", "dyn"), "bool", _includes),
        Function("CharAt", True, ("string", "int"), "string", char_at),
        Function("Substring", True, ("string", "int"), "string", part_of),
        Function("Substring", True, ("string", "int", "int"), "string", part_of),
        *_of_lists(),
        Function("sets.contains", False, ("list", "list"), "bool", _contains),
        Function("sets.equivalent", False, ("list", "list"), "bool", lambda a, b: _contains(a, b) and _contains(b, a)),
        Function("sets.intersects", False, ("list", "list"), "bool", lambda a, b: any(each in a for each in b)),
    ]


def _of_lists() -> list[Function]:
    return [
        Function("IndexOf", True, ("string", "string"), "int", text_index_of),
        Function("IndexOf", True, ("string", "string", "int"), "int", text_index_of),
        Function("IndexOf", True, ("list", "dyn"), "int", index_of),
        Function("LastIndexOf", True, ("string", "string"), "int", text_last_index_of),
        Function("LastIndexOf", True, ("string", "string", "int"), "int", text_last_index_of),
        Function("LastIndexOf", True, ("list", "dyn"), "int", last_index_of),
        Function("isSorted", True, ("list",), "bool", is_sorted),
        Function("sum", True, ("list",), "dyn", total),
        Function("min", True, ("list",), "dyn", extreme("min", min)),
        Function("max", True, ("list",), "dyn", extreme("max", max)),
        Function("slice", True, ("list", "int", "int"), "list", slice_of),
        Function("flatten", True, ("list",), "list", flatten),
        Function("flatten", True, ("list", "int"), "list", flatten),
        Function("distinct", True, ("list",), "list", distinct),
        Function("reverse", True, ("list",), "list", lambda listed: listed[::-1]),
        Function("sort", True, ("list",), "list", sort),
        Function("lists.Range", False, ("int",), "list", count_up),
    ]


def _quantity(text: str) -> Carrier:
    return of_quantity(Quantity.parse(text))


def _semver(text: str, normalises: bool = False) -> Carrier:
    return of_version(values.parse_version(values.normalise_version(text) if normalises else text))


def _can(read: Callable[..., Carrier]) -> Callable[..., bool]:
    """Return a function that says whether a quantity or version can be read."""

    def ask(*written: Any) -> bool:
        try:
            read(*written)
        except (QuantityError, VersionError):
            return False
        return True

    return ask


def _comparing(name: str, answer: Callable[[int], Any]) -> Callable[[Any, Any], Any]:
    """Return a function of the order of two quantities or two versions."""

    def compare(value: Any, other: Any) -> Any:
        if kind_of(value) == kind_of(other) == QUANTITY:
            return answer(quantity_in(value).compare(quantity_in(other)))
        if kind_of(value) == kind_of(other) == VERSION:
            return answer(version_in(value).compare(version_in(other)))
        raise NoOverloadError(name, value, other)

    return compare


def _combining(name: str, sign: int) -> Callable[[Any, Any], Carrier]:
    """Return a function that adds a quantity or an integer to a quantity, or takes it away."""

    def combine(value: Any, other: Any) -> Carrier:
        if kind_of(value) != QUANTITY or kind_of(other) not in (QUANTITY, "int"):
            raise NoOverloadError(name, value, other)
        change = Quantity.of(other) if isinstance(other, int) else quantity_in(other)
        return of_quantity(quantity_in(value) + (change if sign > 0 else -change))

    return combine


def _asking(kind: str, name: str, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of one quantity or version."""
    read: Callable[[Any], Any] = quantity_in if kind == QUANTITY else version_in

    def ask(value: Any) -> Any:
        if kind_of(value) != kind:
            raise NoOverloadError(name, value)
        return answer(read(value))

    return ask


def _is_integer(number: Quantity) -> bool:
    return Quantity.of(number.value) == number


def _as_integer(number: Quantity) -> int:
    if not _is_integer(number):
        raise ValueError("cannot convert value to integer")
    return number.value


def _as_float(number: Quantity) -> float:
    return float(number.value) if _is_integer(number) else number.milli_value / 1000


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    found = text.count(old) if most < 0 else min(text.count(old), most)
    if len(text) + found * len(new) > _LONGEST:
        raise ValueError(COST_EXCEEDED)
    return text.replace(old, new, most)


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    _check_cost(text, pattern)
    return patterns.find_all(pattern, text, most)


def _check_cost(text: str, pattern: str) -> None:
    patterns.check(pattern)
    if patterns.cost(pattern, text) > _MOST_PATTERN_COST:
        raise ValueError(COST_EXCEEDED)


def _matches(text: str, pattern: str) -> bool:
    _check_cost(text, pattern)
    return patterns.matches(pattern, text)


def _contains(listed: list[Any], wanted: list[Any]) -> bool:
    return all(each in listed for each in wanted)


def _includes(value: Any, wanted: Any) -> bool:
    """Say whether a list has a value, or a single value is it; as 1.36 does, which does not look through long lists."""
    if not isinstance(value, list):
        return is_equal(value, wanted)
    if any(is_equal(each, wanted) for each in value[:_MOST_INCLUDED]):
        return True
    if len(value) > _MOST_INCLUDED:
        raise ValueError(f"'includes' function cannot be applied to lists longer than {_MOST_INCLUDED} values")
    return False


def _includes_at_length(value: Any, wanted: Any) -> bool:
    return any(is_equal(each, wanted) for each in (value if isinstance(value, list) else [value]))


#: Says whether a list of any length has a value.
INCLUDES: Final = Function("includes", True, ("dyn", "dyn"), "bool", _includes_at_length)


def index_of(listed: Any, wanted: Any) -> int:
    return next((at for at, each in enumerate(listed) if is_equal(each, wanted)), -1)


def last_index_of(listed: list[Any], wanted: Any) -> int:
    return next((at for at in reversed(range(len(listed))) if is_equal(listed[at], wanted)), -1)


def text_index_of(text: str, wanted: str, start: int = 0) -> int:
    if not wanted:
        return start
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    return text.find(wanted, start)


def text_last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    """Return where a text has another one last, at `start` at the latest; -1 if it has not."""
    if not wanted:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(wanted)
    if start < 0:
        raise ValueError(f"index out of range: {start}")
    return text.rfind(wanted, 0, start + len(wanted)) if start < len(text) else -1


def char_at(text: str, index: int) -> str:
    """Return one character, "" right behind the last."""
    _check_index(text, index)
    return text[index : index + 1]


def part_of(text: str, start: int, end: int | None = None) -> str:
    """Return a text from one character on, up to another."""
    if end is not None and start > end:
        raise ValueError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(text, start)
    if end is not None:
        _check_index(text, end)
    return text[start:end]


def _check_index(text: str, index: int) -> None:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")


def count_up(count: int) -> list[int]:
    if count > _MOST_COST:
        raise ValueError(COST_EXCEEDED)
    return list(range(count))


def slice_of(listed: list[Any], start: int, end: int) -> list[Any]:
    what = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise ValueError(f"{what}, negative indexes not supported")
    if start > end:
        raise ValueError(f"{what}, start index must be less than or equal to end index")
    if end > len(listed):
        raise ValueError(f"{what}, list is length {len(listed)}")
    return listed[start:end]


def flatten(listed: list[Any], depth: int = 1) -> list[Any]:
    """Return a list with the lists in it taken apart, so many levels deep."""
    if depth < 0:
        raise ValueError("level must be non-negative")
    flat: list[Any] = []
    for each in listed:
        flat += flatten(each, depth - 1) if isinstance(each, list) and depth else [each]
    return flat


def distinct(listed: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in listed:
        if index_of(found, each) < 0:
            found.append(each)
    return found


def sort(listed: list[Any]) -> list[Any]:
    if not listed:
        return []
    kinds = {kind_of(each) for each in listed}
    if kind_of(listed[0]) not in _ORDERED:
        raise ValueError("list elements must be comparable")
    if len(kinds) > 1:
        raise ValueError("list elements must have the same type")
    return sorted(listed)


def is_sorted(listed: list[Any]) -> bool:
    return all(_in_order(a, b) for a, b in pairwise(listed))


def total(listed: list[Any]) -> Any:
    if any(kind_of(each) not in ("int", "double") for each in listed):
        raise TypeError(NO_OVERLOAD)
    return sum(listed)


def extreme(name: str, choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Return the function that finds the least or greatest of a list."""

    def find(listed: list[Any]) -> Any:
        if not listed:
            raise ValueError(f"{name} called on empty list")
        if any(kind_of(each) not in _ORDERED for each in listed):
            raise TypeError(NO_OVERLOAD)
        return choose(listed)

    return find


def _in_order(one: Any, other: Any) -> bool:
    if kind_of(one) not in _ORDERED or kind_of(one) != kind_of(other):
        raise TypeError(NO_OVERLOAD)
    return bool(one <= other)
