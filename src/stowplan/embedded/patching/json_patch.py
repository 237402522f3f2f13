"""JSON patch (RFC 6902): a list of operations, done one after the other, all or none.

Two things are as lenient as the API server is: `replace` may name a member that an object does not have, and a negative
index counts from the end of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.patching.patch import describe, unprocessable
from stowplan.model import json_values

_MAX_OPERATIONS: Final = 10_000
# Copies of copies grow without end; a request may not be larger either.
_MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,9}")


class _ImpossibleError(Exception):
    """An operation cannot be done to this document."""


@dataclass(slots=True)
class _Work:
    """The document while operations are done to it."""

    document: Any
    copied_bytes: int = 0


def patched(document: Any, operations: Any) -> Any:
    """Do operations to a document, which they change; raises StatusError 400, 413 or 422."""
    work = _Work(document)
    for operation in _checked(operations):
        kind = operation.get("op")
        try:
            do = _OPERATIONS.get(kind) if isinstance(kind, str) else None
            if do is None:
                raise _ImpossibleError(f"Unexpected kind: {kind or 'unknown'}")
            do(work, operation)
        except _ImpossibleError as fault:
            raise unprocessable(operation.get("path", "patch"), str(fault)) from None
    return work.document


def _checked(operations: Any) -> list[dict[str, Any]]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise bad_request(f"error decoding patch: expected an array of operations, got {describe(operations)}")
    if len(operations) > _MAX_OPERATIONS:
        problem = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity is too large: {problem}")
    for position, operation in enumerate(operations):
        if not isinstance(operation, dict):
            raise bad_request(f"error decoding patch: operation {position} is {describe(operation)}, not an object")
        for name in ("op", "path", "from"):
            if not isinstance(operation.get(name, ""), str):
                found = describe(operation[name])
                raise bad_request(f"error decoding patch: {name} of operation {position} is {found}, not a string")
    return operations


def _add(work: _Work, operation: dict[str, Any]) -> None:
    path, value = _given(operation, "path"), _given(operation, "value")
    if path == "":
        work.document = value
    else:
        _put(work.document, path, value, "add")


def _remove(work: _Work, operation: dict[str, Any]) -> None:
    _take(work.document, _given(operation, "path"), "remove")


def _replace(work: _Work, operation: dict[str, Any]) -> None:
    path, value = _given(operation, "path"), _given(operation, "value")
    if path == "":
        work.document = value
        return
    parent, token = _parent(work.document, path, "replace")
    if isinstance(parent, dict):
        parent[token] = value
    else:
        parent[_within(len(parent), token, path, "replace")] = value


def _move(work: _Work, operation: dict[str, Any]) -> None:
    source = _given(operation, "from")
    value = _take(work.document, source, "move")
    _put(work.document, _given(operation, "path"), value, "move")


def _copy(work: _Work, operation: dict[str, Any]) -> None:
    encoded = msgspec.json.encode(_get(work.document, _given(operation, "from"), "copy"))
    work.copied_bytes += len(encoded)
    if work.copied_bytes > _MAX_COPIED_BYTES:
        raise _ImpossibleError(
            "Unable to complete the copy, the accumulated size increase of copy is "
            f"{work.copied_bytes}, exceeding the limit {_MAX_COPIED_BYTES}"
        )
    _put(work.document, _given(operation, "path"), json_values.read(encoded), "copy")


def _test(work: _Work, operation: dict[str, Any]) -> None:
    path = _given(operation, "path")
    expected = operation.get("value")
    if path:
        parent, token = _parent(work.document, path, "test")
        found = parent.get(token) if isinstance(parent, dict) else parent[_within(len(parent), token, path, "test")]
    else:
        found = work.document
    # Encoded, for to Python true is 1 and 1 is 1.0.
    if msgspec.json.encode(found, order="sorted") != msgspec.json.encode(expected, order="sorted"):
        raise _ImpossibleError(f"testing value {path} failed: test failed")


_OPERATIONS: Final[dict[str, Callable[[_Work, dict[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _given(operation: dict[str, Any], name: str) -> Any:
    if name not in operation:
        raise _ImpossibleError(f"{operation['op']} operation failed to decode {name}: missing value")
    return operation[name]


def _parent(document: Any, path: str, operation: str) -> tuple[Any, str]:
    """The object or list that a path ends in, and its last token."""
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")]
    at = document if len(tokens) > 1 and not tokens[0] else None
    for token in tokens[1:-1]:
        at = _step(at, token)
    if not isinstance(at, dict | list):
        raise _ImpossibleError(f'{operation} operation does not apply: doc is missing path: "{path}": missing value')
    return at, tokens[-1]


def _step(at: Any, token: str) -> Any:
    if isinstance(at, dict):
        return at.get(token)
    index = _index(token) if isinstance(at, list) else None
    return at[index] if index is not None and -len(at) <= index < len(at) else None


def _get(document: Any, path: str, operation: str) -> Any:
    parent, token = _parent(document, path, operation)
    if isinstance(parent, list):
        return parent[_within(len(parent), token, path, operation)]
    if token not in parent:
        raise _ImpossibleError(f'{operation} operation does not apply: doc is missing path: "{path}": missing value')
    return parent[token]


def _take(document: Any, path: str, operation: str) -> Any:
    parent, token = _parent(document, path, operation)
    if isinstance(parent, list):
        return parent.pop(_within(len(parent), token, path, operation))
    if token not in parent:
        problem = f"Unable to remove nonexistent key: {token}: missing value"
        raise _ImpossibleError(f"error in {operation} for path: '{path}': {problem}")
    return parent.pop(token)


def _put(document: Any, path: str, value: Any, operation: str) -> None:
    parent, token = _parent(document, path, operation)
    if isinstance(parent, dict):
        parent[token] = value
        return
    size = len(parent) + 1
    index = size - 1 if token == "-" else _within(size, token, path, operation)
    parent.insert(index if index >= 0 else index + size, value)


def _within(size: int, token: str, path: str, operation: str) -> int:
    """Read the index of one of so many places; a negative one counts from the end."""
    index = _index(token)
    if index is None:
        problem = f"value was not a proper array index: '{token}'"
    elif not -size <= index < size:
        problem = f"Unable to access invalid index: {index}: invalid index referenced"
    else:
        return index
    raise _ImpossibleError(f"error in {operation} for path: '{path}': {problem}")


def _index(token: str) -> int | None:
    return int(token) if _INDEX.fullmatch(token) else None
