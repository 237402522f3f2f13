"""What the admission chain asks of this package: custom resources and their definitions on the way in."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.custom import definition_validation, object_validation, structure
from stowplan.embedded.custom.causes import bounded, invalid
from stowplan.embedded.custom.definitions import DEFINITIONS
from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.objects.errors import Cause, StatusError, bad_request
from stowplan.embedded.objects.resource import Object, Resource

_FEW_BYTES: Final = 1024
#: Bytes of an object times bytes of choices: below it takes a few hundredths of a second.
_FEW_COMPARISONS: Final = 500_000
_BLOCKING: Final = frozenset(
    (
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
_NOT_ASKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def takes_long(resource: Resource, body: bytes, size: int) -> bool:
    """Say whether an object takes longer than its size tells.

    A definition takes milliseconds for each of its rules; the rules, defaults and choices of one make much of little:
    each value may be held against each choice.
    """
    if isinstance(resource, CustomResource):
        return (resource.has_rules and size > _FEW_BYTES) or size * resource.costly_bytes > _FEW_COMPARISONS
    return resource.qualified == DEFINITIONS and size > _FEW_BYTES and structure.RULES.encode() in body


def unknown_fields(resource: Resource, obj: Object) -> list[str]:
    """Name the fields that the schema of a custom resource does not know, such as `spec.replicaz`."""
    if (resource.is_custom or resource.qualified == DEFINITIONS) and structure.is_too_deep(obj):
        raise bad_request(f"the object is nested more than {structure.MOST_LEVELS} levels deep; flatten it")
    return structure.unknown_fields(resource.schema, obj) if isinstance(resource, CustomResource) else []


def complete(resource: Resource, obj: Object) -> None:
    """Take out of a custom resource what its schema does not know, and fill in its defaults."""
    if isinstance(resource, CustomResource):
        structure.prune(resource.schema, obj)
        if not structure.fill_in(resource.schema, obj):
            what = f"the defaults of its definition add more to the object than {structure.MOST_FILLED_BYTES} bytes"
            raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {what}")


def problems(resource: Resource, obj: Object, before: Object | None = None) -> list[Cause]:
    """Say what is wrong with a definition, or with an object by the schema of its definition."""
    if isinstance(resource, CustomResource):
        return _object_problems(resource, obj, before)
    return definition_validation.faults(obj) if resource.qualified == DEFINITIONS else []


def warnings(resource: Resource, obj: Object) -> list[str]:
    """Say what of a definition is stored, but is not acted on."""
    return definition_validation.warnings(obj) if resource.qualified == DEFINITIONS else []


def _object_problems(resource: CustomResource, obj: Object, before: Object | None) -> list[Cause]:
    found = object_validation.problems(resource.schema, obj, before)
    # Lists that were wrong before may be wrong still.
    if before is None or next(object_validation.repetitions(resource.schema, before), None) is None:
        found += bounded(object_validation.repetitions(resource.schema, obj))
    if not resource.has_rules:
        return found
    if any(cause.reason in _BLOCKING for cause in found):
        return [*found, invalid("", None, _NOT_ASKED)]
    from stowplan.embedded.custom import rule_check

    return [*found, *rule_check.problems(resource.schema, obj, before)]
