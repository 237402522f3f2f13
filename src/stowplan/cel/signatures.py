"""What the functions of quantities, versions and addresses take: to the CEL library all of these are maps.

So the library lets them have anything, and what is wrong would show on a device only; Kubernetes says so before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.cel.expressions import Expr, fields_of
from stowplan.cel.values import CIDR, IP, QUANTITY, URL, VERSION

#: Of the type of something of which nobody knows what it is.
UNKNOWN: Final = ""

_CARRIER: Final = "map(string, string)"
_MADE_BY: Final = {
    **dict.fromkeys(("quantity", "add", "sub"), QUANTITY),
    **dict.fromkeys(("cidr", "masked"), CIDR),
    "ip": IP,
    "semver": VERSION,
    "url": URL,
}
_CAPACITY: Final = "device.capacity"
_PRIMITIVES: Final = ("", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN: Final = ("", "any", "timestamp", "duration")
_DYN, _NULL, _PRIMITIVE, _KNOWN, _LIST, _MAP, _TYPE = 1, 2, 3, 5, 6, 7, 11

_OF_IP: Final = (
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
)
_OF_URL: Final = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery")
_ORDERING: Final = ("compareTo", "isGreaterThan", "isLessThan")
_TAKEN: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    **dict.fromkeys(_ORDERING, ((QUANTITY, QUANTITY), (VERSION, VERSION))),
    **dict.fromkeys(("add", "sub"), ((QUANTITY, QUANTITY), (QUANTITY, "int"))),
    **dict.fromkeys(("sign", "isInteger", "asInteger", "asApproximateFloat"), ((QUANTITY,),)),
    **dict.fromkeys(("major", "minor", "patch"), ((VERSION,),)),
    **dict.fromkeys(_OF_IP, ((IP,),)),
    **dict.fromkeys(_OF_URL, ((URL,),)),
    **dict.fromkeys(("masked", "prefixLength"), ((CIDR,),)),
    "containsIP": ((CIDR, "string"), (CIDR, IP)),
    "containsCIDR": ((CIDR, "string"), (CIDR, CIDR)),
}
#: The only one that is not written `value.name(...)`.
_GLOBAL: Final = "sign"


def misused(parsed: Expr, unknown: str) -> Iterator[tuple[int, str]]:
    """Yield where a function is given what it does not take; `unknown` is what an unknown type is called."""
    for node in parsed.walk():
        taken = _TAKEN.get(node.does)
        if taken is None:
            continue
        given = [type_of(part, unknown) for part in node.parts]
        if not any(_fits(given, parameters, unknown) for parameters in taken):
            applied = f"({', '.join(given)})" if node.does == _GLOBAL else f"{given[0]}.({', '.join(given[1:])})"
            yield node.position, f"found no matching overload for '{node.does}' applied to '{applied}'"


def type_of(part: Expr, unknown: str) -> str:
    """Return the name of the type of a part; UNKNOWN of a map that may be one or be something else."""
    if part.is_dynamic and part.does != "dyn":
        return unknown
    printed = _printed(part.type)
    if _CARRIER not in printed:
        return printed
    return made(part) if printed == _CARRIER else UNKNOWN


def made(part: Expr) -> str:
    """Return which of the types that are maps here a part is of; UNKNOWN if it does not say."""
    if part.does in ("select", "_[_]") and any(each.name == _CAPACITY for each in part.walk()):
        return QUANTITY
    return _MADE_BY.get(part.does, UNKNOWN)


def _fits(given: list[str], parameters: tuple[str, ...], unknown: str) -> bool:
    if len(given) != len(parameters):
        return False
    return all(one in (wanted, unknown, "dyn", UNKNOWN) for one, wanted in zip(given, parameters, strict=True))


def _printed(message: bytes) -> str:
    """Return the name of a type, of which only the number of the field says what kind it is."""
    for kind, value in fields_of(message):
        if kind == _DYN:
            return "dyn"
        if kind == _NULL:
            return "null"
        if isinstance(value, int):
            names = _PRIMITIVES if kind == _PRIMITIVE else _WELL_KNOWN
            return names[value] if kind in (_PRIMITIVE, _KNOWN) and value < len(names) else "dyn"
        if kind in (_LIST, _MAP, _TYPE):
            of = "" if kind == _TYPE and not value else ", ".join(_parameters(kind, value))
            return {_LIST: "list", _MAP: "map", _TYPE: "type"}[kind] + f"({of})"
    return "dyn"


def _parameters(kind: int, message: bytes) -> list[str]:
    if kind == _TYPE:
        return [_printed(message)]
    return [_printed(bytes(value)) for _, value in fields_of(message)]
