"""Collects what is wrong with the fields of an object, in upstream's words; refusing is left to the caller."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from stowplan.embedded.objects.errors import MOST_CAUSES, Cause
from stowplan.model.label_syntax import quoted

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


class Problems:
    """Complaints about fields, in the order in which they were found; feature gates that are on allow more."""

    __slots__ = ("causes", "gates")

    def __init__(self, gates: frozenset[str] = frozenset()) -> None:
        self.causes: list[Cause] = []
        self.gates = gates

    def required(self, path: str, detail: str = "") -> None:
        self._add("FieldValueRequired", path, "Required value", detail)

    def invalid(self, path: str, value: Any, detail: str = "") -> None:
        self._add("FieldValueInvalid", path, f"Invalid value: {shown(value)}", detail)

    def unsupported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        listed = ", ".join(map(quoted, supported))
        self._add("FieldValueNotSupported", path, f"Unsupported value: {shown(value)}", f"supported values: {listed}")

    def forbidden(self, path: str, detail: str) -> None:
        self._add("FieldValueForbidden", path, "Forbidden", detail)

    def duplicate(self, path: str, value: Any, detail: str = "") -> None:
        self._add("FieldValueDuplicate", path, f"Duplicate value: {shown(value)}", detail)

    def not_found(self, path: str, value: Any) -> None:
        self._add("FieldValueNotFound", path, f"Not found: {shown(value)}", "")

    def too_long(self, path: str, most_bytes: int) -> None:
        self._add("FieldValueTooLong", path, "Too long", f"may not be more than {most_bytes} bytes")

    def too_many(self, path: str, number: int, most: int) -> None:
        self._add("FieldValueTooMany", path, f"Too many: {number}", f"must have at most {most} items")

    def each(self, path: str, value: Any, details: Iterable[str]) -> None:
        """Say several things about one value."""
        for detail in details:
            self.invalid(path, value, detail)

    def check_not_negative(self, path: str, number: int | None) -> None:
        if number is not None and number < 0:
            self.invalid(path, number, NOT_NEGATIVE)

    def check_one_of(self, path: str, value: str | None, supported: Iterable[str]) -> None:
        """Refuse a value outside a fixed list; a missing one is not looked at."""
        if value is not None and value not in supported:
            self.unsupported(path, value, supported)

    def check_needed_one_of(self, path: str, value: str | None, supported: Iterable[str]) -> None:
        """Refuse a value that is missing or outside a fixed list."""
        if not value:
            self.required(path)
        else:
            self.check_one_of(path, value, supported)

    def check_name(self, path: str, name: str, rule: Callable[[str], Iterable[str]]) -> None:
        """Refuse a name that is missing or against a rule."""
        if not name:
            self.required(path)
        else:
            self.each(path, name, rule(name))

    def check_unchanged(self, path: str, value: Any, before: Any) -> None:
        if value != before:
            self.invalid(path, value, IMMUTABLE)

    def _add(self, reason: str, path: str, complaint: str, detail: str) -> None:
        # More are not told, and there may be millions.
        if len(self.causes) >= MOST_CAUSES:
            return
        self.causes.append(Cause(reason, path, f"{complaint}: {detail}" if detail else complaint))


def shown(value: Any) -> str:
    """A value as upstream writes it in a complaint."""
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
