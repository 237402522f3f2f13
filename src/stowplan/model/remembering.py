"""Remembers answers, up to so many characters of what was asked.

A bound on their number would be none on memory: whoever sends objects may write names, expressions and specs of a
megabyte, another one each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import wraps
from typing import Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

#: What an answer takes beside the characters, about.
ENTRY: Final = 200


def remember(most_characters: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function of texts look up what it was asked lately; it is given all of them by position."""
    half = most_characters // 2

    def decorate(ask: Callable[P, T]) -> Callable[P, T]:
        # Forgotten by halves, for to note the order of every look-up would cost more than most answers.
        recent: dict[tuple[Sized, ...], T] = {}
        earlier: dict[tuple[Sized, ...], T] = {}
        size = 0

        @wraps(ask)
        def answer(*asked: Sized) -> T:
            nonlocal recent, earlier, size
            if asked in recent:
                return recent[asked]
            found = earlier[asked] if asked in earlier else cast("Callable[..., T]", ask)(*asked)
            length = ENTRY + sum(map(len, asked))
            if length > half:
                return found
            if size + length > half:
                earlier, recent, size = recent, {}, 0
            recent[asked] = found
            size += length
            return found

        return cast("Callable[P, T]", answer)

    return decorate
