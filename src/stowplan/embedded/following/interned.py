"""One copy of equal values: pods of one template share their labels and tolerations."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

_LIMIT = 20_000


class Interned:
    """Remembers values up to a limit, then starts anew."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Hashable] = {}
        self._mappings: dict[Hashable, dict[str, str]] = {}

    def value(self, value: T) -> T:
        """Return the first value equal to this one."""
        if len(self._values) >= _LIMIT:
            self._values.clear()
        return self._values.setdefault(value, value)  # type: ignore[return-value]

    def mapping(self, mapping: dict[str, str]) -> dict[str, str]:
        """Return the first mapping equal to this one; nobody changes it."""
        if len(self._mappings) >= _LIMIT:
            self._mappings.clear()
        return self._mappings.setdefault(frozenset(mapping.items()), mapping)
