"""How the parts of an object are merged: field by field, list item by list item, or only as a whole.

A strategic merge patch and a server-side apply ask the same question of a field with different defaults and, now and
then, different answers. A `Shape` has both: `merge_keys` says them for the built-in kinds, a schema for custom ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class ListKind(Enum):
    """Who may own what of a list in a server-side apply."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Strategy(Enum):
    """What a strategic merge patch does with a field that both sides have."""

    USUAL = ""
    MERGE = "merge"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Shape:
    """How one value is merged; whatever is not told is an ordinary map, an atomic list or a scalar."""

    #: Of a struct or map: the fields that are not merged in the usual way, or lead to such.
    fields: Mapping[str, Shape] = field(default_factory=dict)
    #: Of a list: how each of its items is merged.
    items: Shape | None = None
    list_kind: ListKind = ListKind.ATOMIC
    #: Of a list of maps: what tells its items apart in a server-side apply.
    keys: tuple[str, ...] = ()
    #: What a key is that an item leaves out.
    key_defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Of a map: one manager owns it all.
    is_atomic: bool = False
    #: Of a map: its members are not declared, so each is owned beside what it contains.
    is_free: bool = False
    strategy: Strategy = Strategy.USUAL
    #: Of a list of maps: what tells its items apart in a strategic merge patch.
    merge_key: str = ""

    def at(self, name: str) -> Shape:
        """The shape of a field."""
        found = self.fields.get(name)
        if found is not None:
            return found
        return FREE if self.is_free else PLAIN

    @property
    def of_items(self) -> Shape:
        return self.items or (FREE if self.is_free else PLAIN)


PLAIN = Shape()
#: Only as a whole, in a server-side apply; a strategic merge patch goes into it.
WHOLE = Shape(is_atomic=True)
#: Nothing is known about it, as in a custom resource without a schema.
FREE = Shape(is_free=True)
