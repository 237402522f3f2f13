"""The usual complaints about one field, in upstream's words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from stowplan.embedded.objects.errors import MOST_CAUSES, Cause

#: Values and choices are spelled out in complaints, and may be as long as an object.
_MOST_CHARACTERS: Final = 1024 * 1024
_MOST_CHOICES: Final = 100


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, problem: str) -> Cause:
    return Cause("FieldValueInvalid", field, f"Invalid value: {spelled(value)}: {problem}")


def invalid(field: str, value: Any, problem: str) -> Cause:
    """Complain like `invalid_value`; upstream calls the object as a whole <nil>."""
    return invalid_value(field or "<nil>", value, problem)


def forbidden(field: str, problem: str) -> Cause:
    return Cause("FieldValueForbidden", field, f"Forbidden: {problem}")


def wrong_type(field: str, value: Any, wanted: str) -> Cause:
    """Complain of a value whose type, or format, is not the wanted one; `value` is the type's name or the text."""
    shown = field or "."
    message = f"Invalid value: {spelled(value)}: {shown} in body must be of type {wanted}: {spelled(value)}"
    return Cause("FieldValueTypeInvalid", field, message)


def unsupported(field: str, value: Any, supported: Sequence[Any]) -> Cause:
    listed = ", ".join(f'"{each}"' for each in supported[:_MOST_CHOICES])
    if len(supported) > _MOST_CHOICES:
        listed += f", and {len(supported) - _MOST_CHOICES} more"
    return Cause("FieldValueNotSupported", field, f"Unsupported value: {spelled(value)}: supported values: {listed}")


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {spelled(value)}")


def too_long(field: str, most: int) -> Cause:
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {most} bytes")


def too_many(field: str, count: int, most: int) -> Cause:
    return Cause("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} items")


def bounded(found: Iterable[Cause]) -> list[Cause]:
    """List complaints as far as a caller is told of them; the rest is not even looked for."""
    listed: list[Cause] = []
    characters = 0
    for cause in islice(found, MOST_CAUSES):
        listed.append(cause)
        characters += len(cause.field) + len(cause.message)
        if characters > _MOST_CHARACTERS:
            return [*listed, invalid_value("", "", "validation stopped: too much is wrong with the object to name it")]
    return listed


def spelled(value: Any) -> str:
    """Spell a value as the API's messages do: JSON."""
    return msgspec.json.encode(value).decode()
