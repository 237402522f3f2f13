"""Whether an object has the fields and types of its kind, decided before anything else looks at it.

What fits passes quickly: msgspec checks it against structs made from the types of the release (`types`), so that an
ordinary pod costs a few microseconds. What does not is walked field by field (`reading`), which brings it into the form
that the API always answers in, or says what is wrong.
"""

from __future__ import annotations

from functools import cache, lru_cache
from types import GenericAlias
from typing import Annotated, Any, Final

import msgspec

from stowplan.embedded.admission.shapes import reading
from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.objects.releases import RELEASE
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema
from stowplan.model.meta import Int32, Int64
from stowplan.model.quantity import Quantity, QuantityError

__all__ = ["read", "strict_error"]


def read(resource: Resource, obj: Object) -> list[str]:
    """Bring an object into its usual form, in place. Return the paths of fields that its kind does not have.

    Such fields are dropped, and so are nulls, and lists and maps with nothing in them; quantities and times are written
    in the canonical way. Raise StatusError 400 for a value of the wrong type. Of a custom object only the metadata is
    looked at.
    """
    schema = release.of_kind(resource)
    if schema is None:
        return _read_metadata(resource, obj)
    if _fits(schema, obj, resource.release):
        return []
    return reading.read(resource, obj, schema)


def strict_error(resource: Resource, problems: list[str]) -> StatusError:
    """Refuse an object for fields that its kind does not have, or that are given twice."""
    return bad_request(f"{reading.heading(resource)}: strict decoding error: {', '.join(problems)}")


def _read_metadata(resource: Resource, obj: Object) -> list[str]:
    metadata, schema = obj.get("metadata"), release.object_meta()
    if metadata is None or _fits(schema, metadata, RELEASE):
        return []
    return [f"metadata.{path}" for path in reading.read(resource, metadata, schema)]


def _fits(schema: Schema, obj: Any, of: str) -> bool:
    """Whether the object, whose type is of a release, can stay as it is."""
    try:
        msgspec.convert(obj, _struct(schema.name, of), dec_hook=_read_canonical)
    except msgspec.ValidationError:
        return False
    return True


@cache
def _struct(name: str, of: str) -> type[msgspec.Struct]:
    schema = release.type_named(name, of)
    members = [
        (f"field_{number}", _type(member, of), msgspec.field(default=None, name=field))
        for number, (field, member) in enumerate(schema.fields.items())
    ]
    return msgspec.defstruct(schema.struct_name, members, forbid_unknown_fields=True, gc=False)


def _type(schema: Schema, of: str) -> Any:
    if schema.form is JsonForm.STRUCT:
        return _struct(schema.name, of)
    if schema.items is None:
        return _TYPES[schema.form]
    items = _type(schema.items, of)
    many = GenericAlias(list, items) if schema.form is JsonForm.LIST else GenericAlias(dict, (str, items))
    return Annotated[many, _NOT_EMPTY] if schema.is_omitted_empty else many


def _read_canonical(_: type, value: Any) -> Quantity:
    """Take a quantity that is written in the one usual way; which one it is does not matter here."""
    if isinstance(value, str) and (_is_canonical(value) if len(value) <= _SHORT else _is_canonical.__wrapped__(value)):
        return _SOME
    raise ValueError("not a canonical quantity")


@lru_cache(maxsize=4096)
def _is_canonical(text: str) -> bool:
    try:
        return str(Quantity.parse(text)) == text
    except QuantityError:
        return False


#: So long a quantity may be to be remembered.
_SHORT: Final = 64
_SOME: Final = Quantity.zero()
# `$` would let a line break at the end pass.
_TIME: Final = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")]
_MICRO_TIME: Final = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")]
_NOT_EMPTY: Final = msgspec.Meta(min_length=1)
_BASE64_END: Final = r"[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]="
_BASE64: Final = Annotated[str, msgspec.Meta(pattern=rf"^([A-Za-z0-9+/]{{4}})*({_BASE64_END})?\Z")]
_TYPES: Final[dict[JsonForm, Any]] = {
    JsonForm.TEXT: str,
    JsonForm.BYTES: _BASE64,
    JsonForm.INT32: Int32,
    JsonForm.INT64: Int64,
    JsonForm.NUMBER: float,
    JsonForm.FLAG: bool,
    JsonForm.QUANTITY: Quantity,
    JsonForm.TIME: _TIME,
    JsonForm.MICRO_TIME: _MICRO_TIME,
    JsonForm.INT_OR_TEXT: Int32 | str,
    JsonForm.ANY: Any,
}
