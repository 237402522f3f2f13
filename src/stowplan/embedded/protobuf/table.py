"""The numbers of the fields of every built-in kind, read from the lists in `types/`.

Each line there is a message: `Capabilities: 1 add []string, 2 drop []string`. A type behind `[]` is a list, one behind
`{}` a map by text. One behind `*` may be absent, so that what is sent is meant even if it is empty; anything else is
always sent, and is left out here if it is empty. A field named `-` has its own fields where it stands itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).with_name("types")
_ENTRY: Final = re.compile(r"^(\w+):", re.MULTILINE)
_INLINE: Final = "-"
#: Groups whose messages are in a package of another name.
_PACKAGES: Final = {"": "core"}


@dataclass(frozen=True, slots=True)
class Field:
    """What a number stands for."""

    #: "" if the message has no name of its own in JSON.
    name: str
    #: A message such as `core/v1.Container`, or one of the simple types that `reading` knows.
    type: str
    is_list: bool = False
    is_map: bool = False
    #: Whether it is kept if empty.
    is_optional: bool = False


Message = Mapping[int, Field]


def message_of(api_version: str, kind: str) -> str | None:
    """The message of a kind, such as `apps/v1.Deployment`; None if it is not listed."""
    group, _, version = api_version.rpartition("/")
    name = f"{_PACKAGES.get(group, group.partition('.')[0])}/{version}.{kind}"
    return name if name in messages() else None


@cache
def messages() -> Mapping[str, Message]:
    """Every message by its name."""
    return {
        name: message
        for path in sorted(_FOLDER.glob("*.txt"))
        for name, message in _read(path.stem.replace("-", "/", 1), path.read_text(encoding="utf-8"))
    }


def _read(package: str, text: str) -> list[tuple[str, Message]]:
    _, *parts = _ENTRY.split(text)
    return [
        (f"{package}.{name}", dict(_field(package, *entry.split()) for entry in listed.split(",") if entry.strip()))
        for name, listed in zip(parts[::2], parts[1::2], strict=True)
    ]


def _field(package: str, number: str, name: str, spelled: str) -> tuple[int, Field]:
    type_name = spelled.lstrip("*[]{}")
    # A message of another package is written with its package.
    is_local = type_name[0].isupper() and type_name not in SPECIAL
    return int(number), Field(
        "" if name == _INLINE else name,
        f"{package}.{type_name}" if is_local else type_name,
        spelled.startswith("[]"),
        spelled.startswith("{}"),
        spelled.startswith("*"),
    )


#: Messages that are not objects in JSON.
SPECIAL: Final = frozenset(("Duration", "Fields", "IntOrString", "Items", "MicroTime", "Quantity", "Raw", "Time"))
