"""A type of the API: what its values look like in JSON, what is in them, and how two of them are merged."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any

import msgspec


class JsonForm(StrEnum):
    """What a value looks like in JSON."""

    STRUCT = "object"
    MAP = "map"
    LIST = "array"
    TEXT = "string"
    BYTES = "bytes"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "float64"
    FLAG = "bool"
    QUANTITY = "quantity"
    TIME = "time"
    MICRO_TIME = "microtime"
    INT_OR_TEXT = "intstr"
    ANY = "any"


class ListType(Enum):
    """Who may own what of a list in a server-side apply: `x-kubernetes-list-type`."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class PatchStrategy(Enum):
    """What a strategic merge patch does with a field that both sides have: `x-kubernetes-patch-strategy`.

    `retainKeys` is not here, for a server only does what the directive `$retainKeys` of a patch says.
    """

    USUAL = ""
    MERGE = "merge"
    REPLACE = "replace"


#: The JSON name of a field by its number on the wire; of a struct embedded in this one, the fields by their numbers.
Wire = Mapping[int, "str | Wire"]


class Schema(msgspec.Struct, frozen=True, eq=False):
    """One type, or one field of a struct.

    A strategic merge patch and a server-side apply ask the same question of a field with different defaults and, now
    and then, different answers; here are both. Whatever is not told is an ordinary map, an atomic list or a scalar.
    """

    form: JsonForm = JsonForm.ANY
    #: Of a struct: its name in OpenAPI, such as `io.k8s.api.core.v1.PodSpec`.
    name: str = ""
    #: What Go's errors call it, such as `v1.PodSpec`.
    go_name: str = ""
    #: Of a list or a map: what each of its members is.
    items: Schema | None = None
    #: Of a struct, by JSON name.
    fields: Mapping[str, Schema] = msgspec.field(default_factory=dict)
    #: Of a struct: empty for one that has no binary form.
    wire: Wire = msgspec.field(default_factory=dict)
    #: Of a field: the embedded structs that Go's errors name on the way to it, such as `VolumeSource.`; often none.
    embedded_in: str = ""
    #: Of a field that is a list or a map: whether it is left out where there is nothing in it.
    is_omitted_empty: bool = False
    #: Of a field: whether it may be absent, so that what is sent in binary form is meant even if it is empty.
    is_pointer: bool = False
    #: Of a field: what it is where it is left out; None if that is not declared.
    default: Any = None
    list_type: ListType = ListType.ATOMIC
    #: Of a list of maps: what tells its items apart in a server-side apply.
    keys: tuple[str, ...] = ()
    #: What a key is that an item leaves out.
    key_defaults: Mapping[str, Any] = msgspec.field(default_factory=dict)
    #: Of a map: one manager owns it all in a server-side apply; a strategic merge patch goes into it.
    is_atomic: bool = False
    #: Of a map: its members are not declared, so each is owned beside what it contains.
    is_free: bool = False
    strategy: PatchStrategy = PatchStrategy.USUAL
    #: Of a list of maps: what tells its items apart in a strategic merge patch.
    merge_key: str = ""

    @property
    def struct_name(self) -> str:
        """The name without its package."""
        return self.go_name.rpartition(".")[2]

    def at(self, name: str) -> Schema:
        """The type of a member."""
        found = self.fields.get(name)
        return self.of_items if found is None else found

    @property
    def of_items(self) -> Schema:
        return self.items or (FREE if self.is_free else PLAIN)


PLAIN = Schema()
#: Nothing is known about it, as in a custom resource without a schema.
FREE = Schema(is_free=True)
