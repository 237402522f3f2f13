"""A resource that a definition added: a `Resource` that also knows its schema and its columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from stowplan.embedded.objects.json_path import JsonPath
from stowplan.embedded.objects.resource import Object, Resource


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column that a definition wants `kubectl get` to show."""

    name: str
    type: str
    path: JsonPath
    format: str = ""
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom resource keeps what the scale subresource shows; keys from the object on."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    label_selector: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomResource(Resource):
    """One served version of a definition."""

    #: The `openAPIV3Schema`.
    schema: Object = field(default_factory=dict, compare=False)
    #: Whether the schema has rules in CEL on any level.
    has_rules: bool = field(default=False, compare=False)
    #: How much JSON of the schema costs more than objects say: defaults and choices.
    costly_bytes: int = field(default=0, compare=False)
    printer_columns: tuple[PrinterColumn, ...] = field(default=(), compare=False)
    scale: ScalePaths | None = field(default=None, compare=False)
    #: The warning that clients of this version are given, if it is deprecated.
    deprecation: str = field(default="", compare=False)


def schema_of(resource: Resource) -> Object | None:
    """The schema of a custom resource, or nothing for any other resource."""
    return resource.schema if isinstance(resource, CustomResource) else None
