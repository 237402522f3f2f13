"""All of an object that a template describes, for a server that wants more of it than scheduling reads.

Objects are made from templates as the structs of the model, which have no ports of a service and no source of a secret.
The steps change metadata and some fields of those structs, but nobody makes another `spec` out of one that has such
parts. So the text of a template is found again by the very `spec` that was read from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stowplan.model import decode


class Originals:
    """What templates said, by the `spec` that was read from them."""

    def __init__(self) -> None:
        #: The spec is kept, so that its number is not given to another.
        self._known: dict[int, tuple[Any, Mapping[str, Any]]] = {}

    def note(self, found: Any, content: Any) -> None:
        """Remember what an object was read from."""
        spec = getattr(found, "spec", None)
        if spec is not None and isinstance(content, Mapping) and "spec" in content:
            self._known[id(spec)] = (spec, content)

    def completed(self, found: Any) -> Any:
        """Return an object as dicts and lists, with what the model leaves out of it."""
        content = decode.to_builtins(found)
        known = self._known.get(id(getattr(found, "spec", None)))
        return content if known is None else {**content, "spec": with_rest(content.get("spec"), known[1]["spec"])}


def with_rest(written: Any, original: Any) -> Any:
    """Add to what is written whatever the original has beside it; lists are of the same entries, or have more."""
    if isinstance(written, Mapping) and isinstance(original, Mapping):
        merged = {key: with_rest(value, original[key]) if key in original else value for key, value in written.items()}
        return merged | {key: value for key, value in original.items() if key not in written}
    if _is_list(written) and _is_list(original):
        return [with_rest(*pair) for pair in zip(written, original, strict=False)] + list(written[len(original) :])
    return original if written is None else written


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
