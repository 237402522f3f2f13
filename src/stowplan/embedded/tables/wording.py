"""Turns lists, labels and selectors into the text of one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


def labels(pairs: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={pairs[key]}" for key in sorted(pairs)) or NONE


def selector(obj: Any) -> str:
    """Spell a LabelSelector as one would type it."""
    return selector_text(obj) or NONE


def selector_text(obj: Any) -> str:
    terms = [(key, f"{key}={value}") for key, value in reading.mapping(obj, "matchLabels").items()]
    terms += [(reading.text(each, "key"), _expression(each)) for each in reading.entries(obj, "matchExpressions")]
    return ",".join(term for _, term in sorted(terms, key=lambda term: term[0]))


def _expression(expression: Object) -> str:
    key = reading.text(expression, "key")
    values = ",".join(sorted(reading.texts(expression, "values")))
    match reading.text(expression, "operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return key


def names(containers: Sequence[Object]) -> str:
    return ",".join(reading.text(each, "name") for each in containers)


def images(containers: Sequence[Object]) -> str:
    return ",".join(reading.text(each, "image") for each in containers)


def first_few(parts: Sequence[str], most: int, absent: str, separator: str = ",") -> str:
    """Show the first few of a list, and how many more there are."""
    shown = separator.join(parts[:most])
    if len(parts) > most:
        return f"{shown} + {len(parts) - most} more..."
    return shown or absent
