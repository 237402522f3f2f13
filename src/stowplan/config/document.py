"""A configuration as JSON values: what was written, before anybody asks what it means.

Numbers keep their spelling and objects their repeated members, because the strict reader in `decode.py` reports both.
`load.py` makes documents of texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from stowplan.config.errors import ConfigError

_NOT_FINITE: Final = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


class Number(NamedTuple):
    """A number as it was written."""

    text: str


class JsonObject(NamedTuple):
    """The members of an object in their order; a name may occur twice."""

    members: tuple[tuple[str, Json], ...]

    def get(self, name: str) -> Json:
        """Give the last member of that name, or None."""
        return dict(self.members).get(name)


Json: TypeAlias = bool | str | Number | JsonObject | list["Json"] | None


class Document(NamedTuple):
    """A parsed text, the text itself, and what a strict reader holds against its YAML."""

    root: Json
    text: str
    yaml_faults: tuple[str, ...] = ()


def from_value(value: object) -> Document:
    """Take a value that was parsed elsewhere: mappings, sequences, strings, numbers, booleans and None."""
    try:
        root = _freeze(value)
        return Document(root, json.dumps(plain(root), separators=(",", ":")))
    except RecursionError:
        raise ConfigError("decode", "the configuration is nested too deeply") from None


def plain(value: Json) -> Any:
    """Turn JSON values into the usual Python ones; of repeated members the last one counts."""
    match value:
        case Number(text):
            return int(text) if text.lstrip("-").isdigit() and len(text) < 400 else float(text)
        case JsonObject(members):
            return {name: plain(each) for name, each in members}
        case list():
            return [plain(each) for each in value]
        case str():
            return sound(value)
        case _:
            return value


def sound(text: str) -> str:
    """Replace half characters, which JSON escapes can spell but nothing else can write."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def name_of(value: Json) -> str:
    """Name the kind of a value as error messages do."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case Number():
            return "number"
        case JsonObject():
            return "object"
        case list():
            return "array"
        case _:
            return "null"


def _freeze(value: object) -> Json:
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return Number(number_text(value))
        case Mapping():
            # Sorted, as a mapping written by the API machinery is: it decides which of two faults comes first.
            by_name = sorted(value.items(), key=lambda member: str(member[0]))
            return JsonObject(tuple((str(name), _freeze(each)) for name, each in by_name))
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [_freeze(each) for each in value]
    raise ConfigError("decode", f"a configuration cannot hold a value of type {type(value).__name__}: {value!r}")


def number_text(number: int | float) -> str:
    """Spell a number as Go's JSON does: with as few digits as tell it apart, and an exponent if it is long."""
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        raise ConfigError("decode", f"json: unsupported value: {_NOT_FINITE[str(number)]}")
    if number and not 1e-6 <= abs(number) < 1e21:
        return repr(number).replace("e-0", "e-")
    return f"{Decimal(repr(number)):f}".removesuffix(".0")
