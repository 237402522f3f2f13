"""How a supposition is taken back: what it takes to undo each change, in the order in which they were made.

Whoever owns state that a supposition may change has an `undo`, None as long as nothing is supposed, and adds to it what
takes a change back. Steps are taken back in reverse order, so each finds everything as it left it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

K = TypeVar("K")
L = TypeVar("L")

_ABSENT: Final = object()


class UndoLog:
    """The steps that take back what was changed since it was begun; suppositions within others share it."""

    __slots__ = ("_is_rolling_back", "_steps")

    def __init__(self) -> None:
        self._steps: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._is_rolling_back = False

    @property
    def position(self) -> int:
        """How many steps there are: where a supposition begins, and where taking it back ends."""
        return len(self._steps)

    def add(self, step: Callable[..., object], *details: Any) -> None:
        """Note how a change that is made now is taken back; what taking back changes is no change."""
        if not self._is_rolling_back:
            self._steps.append((step, details))

    def keep(self, mapping: dict[K, Any], key: K) -> None:
        """Note what a mapping has for a key, before that is changed; of a mapping within, what it has, in order."""
        before = mapping.get(key, _ABSENT)
        self.add(_put_back, mapping, key, before.copy() if isinstance(before, dict) else before)

    def keep_within(self, mapping: dict[K, dict[L, Any]], key: K, inner_key: L) -> None:
        """Note what a mapping within a mapping has for a key, before another value is put there."""
        self.add(_put_back_within, mapping, key, inner_key, mapping.get(key, {}).get(inner_key, _ABSENT))

    def roll_back(self, position: int) -> None:
        """Take back all that came after a position. A step that fails does not keep the others from being taken."""
        failed: list[Exception] = []
        self._is_rolling_back = True
        try:
            while len(self._steps) > position:
                step, details = self._steps.pop()
                try:
                    step(*details)
                except Exception as error:
                    failed.append(error)
        finally:
            self._is_rolling_back = False
        if failed:
            raise ExceptionGroup("what was supposed could not be taken back", failed)


def _put_back(mapping: dict[K, Any], key: K, before: Any) -> None:
    if before is _ABSENT:
        mapping.pop(key, None)
    else:
        mapping[key] = before


def _put_back_within(mapping: dict[K, dict[L, Any]], key: K, inner_key: L, before: Any) -> None:
    # Looked up anew: taking back what came later may have put another mapping there.
    inner = mapping.setdefault(key, {})
    _put_back(inner, inner_key, before)
    if not inner:
        del mapping[key]
