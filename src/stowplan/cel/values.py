"""Quantities and versions inside CEL expressions; what can be done with them is in `functions.py`.

The CEL library has no types of ours, so both travel as maps of one entry, spelled the same if they are equal. Maps can
be compared for equality, and nothing else, which is just what these types allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stowplan.cel import versions
from stowplan.cel.versions import Version
from stowplan.model.quantity import Quantity

QUANTITY: Final = "kubernetes.Quantity"
VERSION: Final = "kubernetes.Semver"
NO_OVERLOAD: Final = "no such overload"
_ONE: Final = Quantity.of(1)

Carrier = Mapping[str, str]


class NoOverloadError(TypeError):
    """A function that does not take what it was given."""

    def __init__(self, function: str, *arguments: object) -> None:
        kinds = ", ".join(map(kind_of, arguments))
        super().__init__(f"no such overload: {function}({kinds})")


def of_quantity(quantity: Quantity) -> Carrier:
    """Return what stands for a quantity."""
    # Adding and taking away makes it decimal, so that equal amounts have one spelling.
    return {QUANTITY: (_ONE + quantity - _ONE).canonical}


def of_version(version: Version) -> Carrier:
    """Return what stands for a version."""
    return {VERSION: version.text}


def kind_of(value: object) -> str:
    """Return what CEL calls the type of a value."""
    if isinstance(value, Mapping):
        return next((kind for kind in (QUANTITY, VERSION) if kind in value), "map")
    names = {bool: "bool", int: "int", float: "double", str: "string", bytes: "bytes", bytearray: "bytes", list: "list"}
    return names.get(type(value), "dyn")


def is_equal(one: object, other: object) -> bool:
    """Say whether two values are equal in CEL: numbers across their types, other types never."""
    kinds = {kind_of(one), kind_of(other)}
    if len(kinds) > 1 and kinds != {"int", "double"}:
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return one == other


def equals(one: object, other: object) -> bool:
    """Say whether two values are equal, as `==` does: a version on the left asks for one on the right."""
    if kind_of(one) in (VERSION, QUANTITY) and kind_of(other) != kind_of(one):
        raise TypeError(NO_OVERLOAD)
    return is_equal(one, other)


def quantity_in(carrier: Carrier) -> Quantity:
    """Return the quantity that something stands for."""
    return Quantity.parse(carrier[QUANTITY])


def version_in(carrier: Carrier) -> Version:
    """Return the version that something stands for."""
    return versions.parse(carrier[VERSION])
