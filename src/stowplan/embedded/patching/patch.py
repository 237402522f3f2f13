"""One patch request: who asks for what, its body read, and the values in it put into the usual form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from stowplan.embedded.objects import yaml_worker
from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.objects.resource import Object
from stowplan.model import json_values

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Patch:
    """What to change, and who asks for it."""

    #: As the header says, parameters such as a charset included.
    content_type: str
    body: bytes
    #: Who owns the fields from now on; only an apply must name one.
    field_manager: str = ""
    #: Take fields from other managers instead of refusing; only for an apply. None if the request does not say.
    force: bool | None = None
    #: "" for the object itself, or such as "status".
    subresource: str = ""
    #: When the request came, for `managedFields`; those have no time without it.
    time: datetime | None = None

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip()


@dataclass(frozen=True, slots=True)
class Author:
    """Who changed an object other than by a patch, and how; the fields are those of a patch."""

    manager: str
    subresource: str = ""
    time: datetime | None = None


def read_json(body: bytes) -> Any:
    """Decode the body of a patch in JSON."""
    try:
        return json_values.read(body)
    except (msgspec.DecodeError, ValueError, RecursionError) as fault:
        raise bad_request(f"error decoding patch: {_problem(fault)}") from None


def read_yaml(body: bytes) -> Any:
    """Decode the body of an apply in YAML, of which JSON is the usual part."""
    try:
        return json_values.read(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        return json_values.read(yaml_worker.converted(body))
    except (ValueError, RecursionError) as fault:
        raise bad_request(f"error decoding YAML: {_problem(fault)}") from None


def _problem(fault: Exception) -> str:
    return "nested too deeply" if isinstance(fault, RecursionError) else " ".join(str(fault).split())


def as_object(value: Any, prefix: str = "error decoding patch") -> Object:
    """Take a decoded body for an object; raises StatusError 400 for anything else."""
    if not isinstance(value, dict):
        raise bad_request(f"{prefix}: expected an object, got {describe(value)}")
    return value


def describe(value: Any) -> str:
    """Say what a value is, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def copied(value: Object) -> Object:
    """Copy an object deeply."""
    return json_values.read_object(msgspec.json.encode(value))


def without_nulls(value: Any) -> Any:
    """Leave out the members of objects that are null: for a built-in kind they are the same as absent."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value


def tidied(obj: Object) -> Object:
    """Leave out what metadata does not carry when it is empty."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        for name in ("annotations", "finalizers", "labels", "ownerReferences"):
            if metadata.get(name) in ({}, []):
                del metadata[name]
    return obj


def unprocessable(field: str, problem: str) -> StatusError:
    """Refuse a patch that can be read but not be done."""
    message = "the server rejected our request due to an error in our request"
    return StatusError(
        422, "Invalid", message, {"causes": [{"reason": "FieldValueInvalid", "message": problem, "field": field}]}
    )
