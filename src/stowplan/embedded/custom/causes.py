"""The usual complaints about one field, in upstream's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from stowplan.embedded.errors import Cause


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


def unsupported(field: str, value: Any, supported: Iterable[Any]) -> Cause:
    listed = ", ".join(f'"{each}"' for each in supported)
    return Cause("FieldValueNotSupported", field, f"Unsupported value: {spelled(value)}: supported values: {listed}")


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {spelled(value)}")


def too_long(field: str, most: int) -> Cause:
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {most} bytes")


def too_many(field: str, count: int, most: int) -> Cause:
    return Cause("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} items")


def spelled(value: Any) -> str:
    """Spell a value as the API's messages do: JSON."""
    return msgspec.json.encode(value).decode()
