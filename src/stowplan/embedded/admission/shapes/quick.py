"""The quick yes: an object that has only known fields, of the right types, in their usual form.

Checked by msgspec against structs made from the table, so that an ordinary pod costs a few microseconds. A "no" says
nothing more: `reading` finds out.
"""

from __future__ import annotations

from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final

import msgspec

from stowplan.embedded.admission.shapes.table import Form, Shape
from stowplan.model.meta import Int32, Int64
from stowplan.model.quantity import Quantity, QuantityError

# `$` would let a line break at the end pass.
_TIME: Final = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")]
_MICRO_TIME: Final = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")]
_NOT_EMPTY: Final = msgspec.Meta(min_length=1)
_BASE64_END: Final = r"[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]="
_BASE64: Final = Annotated[str, msgspec.Meta(pattern=rf"^([A-Za-z0-9+/]{{4}})*({_BASE64_END})?\Z")]


_TYPES: Final[dict[Form, Any]] = {
    Form.TEXT: str,
    Form.BYTES: _BASE64,
    Form.INT32: Int32,
    Form.INT64: Int64,
    Form.NUMBER: float,
    Form.FLAG: bool,
    Form.QUANTITY: Quantity,
    Form.TIME: _TIME,
    Form.MICRO_TIME: _MICRO_TIME,
    Form.INT_OR_TEXT: Int32 | str,
    Form.ANY: Any,
}


def fits(shape: Shape, obj: Any) -> bool:
    """Whether the object can stay as it is."""
    try:
        msgspec.convert(obj, _struct(shape), dec_hook=_read_canonical)
    except msgspec.ValidationError:
        return False
    return True


@cache
def _struct(shape: Shape) -> type[msgspec.Struct]:
    members = [
        (f"field_{number}", _type(member), msgspec.field(default=None, name=name))
        for number, (name, member) in enumerate(shape.fields.items())
    ]
    return msgspec.defstruct(shape.struct_name, members, forbid_unknown_fields=True, gc=False)


def _type(shape: Shape) -> Any:
    if shape.form is Form.STRUCT:
        return _struct(shape)
    if shape.items is None:
        return _TYPES[shape.form]
    items = _type(shape.items)
    many = GenericAlias(list, items) if shape.form is Form.LIST else GenericAlias(dict, (str, items))
    return Annotated[many, _NOT_EMPTY] if shape.is_left_out_empty else many


def _read_canonical(_: type, value: Any) -> Quantity:
    """Read a quantity that is written in the one usual way."""
    try:
        quantity = Quantity.parse(value)
    except (QuantityError, TypeError):
        quantity = None
    if quantity is None or str(quantity) != value:
        raise ValueError("not a canonical quantity")
    return quantity
