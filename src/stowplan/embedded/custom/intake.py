"""What admission asks of this package: custom resources and their definitions on the way in."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.custom import checking, faults, structure
from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.errors import Cause
from stowplan.embedded.resource import Object, Resource

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


def unknown_fields(resource: Resource, obj: Object) -> list[str]:
    """Name the fields that the schema of a custom resource does not know, such as `spec.replicaz`."""
    return structure.unknown_fields(resource.schema, obj) if isinstance(resource, CustomResource) else []


def complete(resource: Resource, obj: Object) -> None:
    """Take out of a custom resource what its schema does not know, and fill in its defaults."""
    if isinstance(resource, CustomResource):
        structure.prune(resource.schema, obj)
        structure.fill_in(resource.schema, obj)


def problems(resource: Resource, obj: Object) -> list[Cause]:
    """Say what is wrong with a definition, or with an object by the schema of its definition."""
    if isinstance(resource, CustomResource):
        return checking.problems(resource.schema, obj)
    return faults.faults(obj) if resource.qualified == _DEFINITIONS else []
