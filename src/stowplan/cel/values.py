"""Quantities and versions inside CEL expressions; what can be done with them is in `functions.py`.

The CEL library has no types of ours, so they travel as maps of one entry, spelled the same if they are equal. Maps can
be compared for equality, and nothing else, which is just what these types allow. Versions are semantic ones, as far as
selectors compare them: read, normalised and ordered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from stowplan.model.quantity import Quantity
from stowplan.model.remembering import remember

QUANTITY: Final = "kubernetes.Quantity"
VERSION: Final = "kubernetes.Semver"
IP: Final = "net.IP"
CIDR: Final = "net.CIDR"
URL: Final = "kubernetes.URL"
_CARRIED: Final = (QUANTITY, VERSION, IP, CIDR, URL)
NO_OVERLOAD: Final = "no such overload"
_ONE: Final = Quantity.of(1)

Carrier = Mapping[str, str]


class NoOverloadError(TypeError):
    """A function that does not take what it was given."""

    def __init__(self, function: str, *arguments: object) -> None:
        kinds = ", ".join(map(kind_of, arguments))
        super().__init__(f"no such overload: {function}({kinds})")


def of_quantity(quantity: Quantity) -> Carrier:
    # Adding and taking away makes it decimal, so that equal amounts have one spelling.
    return {QUANTITY: (_ONE + quantity - _ONE).canonical}


def of_version(version: Version) -> Carrier:
    return {VERSION: version.text}


def kind_of(value: object) -> str:
    """Return what CEL calls the type of a value."""
    if isinstance(value, Mapping):
        return next((kind for kind in _CARRIED if kind in value), "map")
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
    return Quantity.parse(carrier[QUANTITY])


def version_in(carrier: Carrier) -> Version:
    return parse_version(carrier[VERSION])


_NUMBER: Final = r"(0|[1-9][0-9]*)"
_PATTERN: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_PARTS: Final = ("major", "minor", "patch")


class VersionError(ValueError):
    """A text that is no semantic version; the words are upstream's."""


class Version(NamedTuple):
    """A version without its build metadata, which does not count in comparisons."""

    major: int
    minor: int
    patch: int
    #: Each identifier as a sort key; a release sorts after all of its pre-releases.
    order: tuple[tuple[int, int, str], ...]
    text: str

    def compare(self, other: Version) -> int:
        """-1, 0 or 1 as this version comes before, is the same as or comes after the other."""
        own, theirs = self[:4], other[:4]
        return (own > theirs) - (own < theirs)


@remember(2**20)
def parse_version(text: str) -> Version:
    """Read a version. Raise VersionError."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise VersionError(_fault(text))
    major, minor, patch, pre_release = match.groups()
    identifiers = pre_release.split(".") if pre_release else ()
    order = tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in identifiers) or ((2, 0, ""),)
    suffix = f"-{pre_release}" if pre_release else ""
    return Version(int(major), int(minor), int(patch), order, f"{major}.{minor}.{patch}{suffix}")


def normalise_version(text: str) -> str:
    """Make a version of what looks like one: no leading "v", no leading zeros, and three numbers."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [re.sub("^0+(?=[0-9])", "", part) for part in parts]
    if len(parts) < 3:
        if "-" in parts[-1] or "+" in parts[-1]:
            raise VersionError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _fault(text: str) -> str:
    numbers = re.split(r"[-+]", text, maxsplit=1)[0].split(".")
    if len(numbers) < 3:
        return "No Major.Minor.Patch elements found"
    for part, number in zip(_PARTS, (numbers[0], numbers[1], ".".join(numbers[2:])), strict=True):
        if not re.fullmatch("[0-9]*", number):
            return f'Invalid character(s) found in {part} number "{number}"'
        if len(number) > 1 and number.startswith("0"):
            return f'{part.capitalize()} number must not contain leading zeroes "{number}"'
    return f'Invalid version "{text}"'
