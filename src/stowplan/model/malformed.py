"""How an object that cannot be read is named to the user: which one, which field, what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WHERE = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")


class MalformedObject(ValueError):  # noqa: N818 - it reads as what it is: "except MalformedObject"
    """An object with a field of the wrong type or form. The text names kind, object and field, and what to do."""


def title(content: Any, kind: str = "") -> str:
    """Kind, namespace and name, as far as they can be read."""
    if not isinstance(content, Mapping):
        return kind or "object"
    declared = content.get("kind")
    kind = kind or (declared if isinstance(declared, str) else "") or "object"
    name, namespace = metadata_text(content, "name"), metadata_text(content, "namespace")
    return f"{kind} {namespace + '/' if namespace else ''}{name or '(unnamed)'}"


def metadata_text(content: Mapping[Any, Any], field: str) -> str:
    """A text of the metadata, "" if it is missing or no text."""
    metadata = content.get("metadata")
    value = metadata.get(field) if isinstance(metadata, Mapping) else None
    return value if isinstance(value, str) else ""


def problem(fault: Exception) -> str:
    """The fault as `path: what is wrong`."""
    if isinstance(fault, RecursionError):
        return "nested too deeply"
    text = str(fault)
    where = _WHERE.search(text)
    if where is None:
        return text
    return f"{where[1]}: {text[: where.start()]}" if where[1] else text[: where.start()]
