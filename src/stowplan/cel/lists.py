"""The functions of lists that Kubernetes adds to CEL, beside those that its own library for lists has.

`sortBy` is missing, and loops over two variables are: both are rewritten by the parser in Kubernetes, which the CEL
library does not let us do.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from stowplan.cel.values import NO_OVERLOAD, is_equal, kind_of

# What evaluating a selector may cost; a list costs as much as it is long.
_MOST_COST: Final = 1_000_000
_ORDERED: Final = ("bool", "int", "double", "string", "bytes")


def index_of(listed: Any, wanted: Any) -> int:
    """Return where something is in a list first; -1 if it is not."""
    return next((at for at, each in enumerate(listed) if is_equal(each, wanted)), -1)


def last_index_of(listed: list[Any], wanted: Any) -> int:
    """Return where something is in a list last; -1 if it is not."""
    return next((at for at in reversed(range(len(listed))) if is_equal(listed[at], wanted)), -1)


def text_index_of(text: str, wanted: str, start: int = 0) -> int:
    """Return where a text has another one first; -1 if it has not."""
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


def count_up(count: int) -> list[int]:
    """Return the numbers below `count`."""
    if count > _MOST_COST:
        raise ValueError("operation cancelled: actual cost limit exceeded")
    return list(range(count))


def slice_of(listed: list[Any], start: int, end: int) -> list[Any]:
    """Return a part of a list."""
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
    """Return a list without what it has twice."""
    found: list[Any] = []
    for each in listed:
        if index_of(found, each) < 0:
            found.append(each)
    return found


def sort(listed: list[Any]) -> list[Any]:
    """Return a list in order."""
    if not listed:
        return []
    kinds = {kind_of(each) for each in listed}
    if kind_of(listed[0]) not in _ORDERED:
        raise ValueError("list elements must be comparable")
    if len(kinds) > 1:
        raise ValueError("list elements must have the same type")
    return sorted(listed)


def is_sorted(listed: list[Any]) -> bool:
    """Say whether a list is in order."""
    return all(_in_order(a, b) for a, b in pairwise(listed))


def total(listed: list[Any]) -> Any:
    """Return the sum of a list."""
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
