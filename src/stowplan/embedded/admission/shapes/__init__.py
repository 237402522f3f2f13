"""Whether an object has the fields and types of its kind, decided before anything else looks at it.

`types/` lists the fields of every built-in kind. What fits passes quickly (`quick`); what does not is walked field by
field (`reading`), which brings it into the form that the API always answers in, or says what is wrong.
"""

from __future__ import annotations

from stowplan.embedded.admission.shapes import quick, reading, table
from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.objects.resource import Object, Resource

__all__ = ["read", "strict_error"]


def read(resource: Resource, obj: Object) -> list[str]:
    """Bring an object into its usual form, in place. Return the paths of fields that its kind does not have.

    Such fields are dropped, and so are nulls, and lists and maps with nothing in them; quantities and times are written
    in the canonical way. Raise StatusError 400 for a value of the wrong type. Of a custom object only the metadata is
    looked at.
    """
    shape = table.of_kind(resource)
    if shape is None:
        return _read_metadata(resource, obj)
    if quick.fits(shape, obj):
        return []
    return reading.read(resource, obj, shape)


def strict_error(resource: Resource, unknown: list[str]) -> StatusError:
    """Refuse an object for fields that its kind does not have."""
    listed = ", ".join(f'unknown field "{path}"' for path in unknown)
    return bad_request(f"{reading.heading(resource)}: strict decoding error: {listed}")


def _read_metadata(resource: Resource, obj: Object) -> list[str]:
    metadata = obj.get("metadata")
    if metadata is None or quick.fits(table.metadata(), metadata):
        return []
    return [f"metadata.{path}" for path in reading.read(resource, metadata, table.metadata())]
