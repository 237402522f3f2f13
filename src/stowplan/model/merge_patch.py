"""JSON merge patch (RFC 7386): objects are merged, null removes, everything else is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowplan.model import decode


def merged(target: Any, patch: Any) -> Any:
    """Lay a patch over a value; neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def patched(found: Any, patch: Mapping[str, Any]) -> Any:
    """Lay a patch over an object; raise MalformedObject if what comes out is none."""
    return decode.convert(type(found), merged(decode.to_builtins(found), patch))
