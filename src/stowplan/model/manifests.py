"""YAML manifests: several documents in a file, lists of objects, and scalars read as the API server would.

A key that is there twice in one mapping is refused, as strict decoding has it: which one was meant is anybody's guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from stowplan.model.malformed import MalformedObject

# Far beyond any API object, far below what the stack holds.
_MAX_DEPTH = 500
# Aliases that would grow a document beyond this many values are an attack or a mistake.
_MAX_VALUES = 1_000_000
_MERGE = "tag:yaml.org,2002:merge"


class _RepeatedKeyError(Exception):
    """A key that a mapping has twice; the text says where."""


def read(text: str | bytes, *, repeats_keys: bool = False) -> Iterator[Any]:
    """The content of every object in every document; empty documents are skipped, lists expanded.

    Where keys may be repeated, the last one counts: what comes over the wire is taken like that.
    """
    for document in _documents(text, _loader(repeats_keys)):
        yield from _expand(document)


def _documents(text: str | bytes, loader: Any) -> list[Any]:
    # Imported here: YAML is for people's files, and the live scheduler never reads it.
    import yaml

    try:
        decoded = text if isinstance(text, str) else text.decode()
        _check_depth(decoded)
        documents = [document for document in yaml.load_all(decoded, Loader=loader) if document is not None]
        if "*" in decoded and sum(_count_values(document, {}) for document in documents) > _MAX_VALUES:
            raise ValueError(f"its aliases stand for more than {_MAX_VALUES} values")
        return documents
    except _RepeatedKeyError as fault:
        raise MalformedObject(str(fault)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        problem = "nested too deeply" if isinstance(fault, RecursionError) else " ".join(str(fault).split())
        raise MalformedObject(f"not a YAML document: {problem}; check indentation and quoting there") from None


def _check_depth(text: str) -> None:
    """Refuse documents that would take the C loader down: it recurses without a limit of its own."""
    import yaml

    # Nesting cannot be deeper than brackets plus columns; most manifests are cleared by that alone.
    if text.count("[") + text.count("{") + max(map(len, text.splitlines()), default=0) <= _MAX_DEPTH:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_loader(False)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise RecursionError


def _count_values(value: Any, counted: dict[int, int]) -> int:
    """How many values a document has with its aliases written out; each shared part is walked once."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in counted:
        # A part that contains itself has no end: let it count as too much.
        counted[id(value)] = _MAX_VALUES
        members = value.values() if isinstance(value, dict) else value
        counted[id(value)] = 1 + sum(_count_values(member, counted) for member in members)
    return counted[id(value)]


def _expand(document: Any) -> Iterator[Any]:
    """The items of a list, named after it if they do not say what they are; anything else as it is."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(document.get("items"), list):
        yield document
        return
    heading = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for item in document["items"]:
        yield {**heading, **item} if isinstance(item, Mapping) else item


def _flatten_checked(loader: Any, node: Any) -> None:
    """Draw in what `<<` names, which counts less than what is written out; look for repeated keys before that."""
    seen: set[str] = set()
    for key, _ in node.value if id(node) not in loader.__dict__.setdefault("checked", set()) else ():
        if key.id != "scalar" or key.tag == _MERGE:
            continue
        if key.value in seen:
            line = key.start_mark.line + 1
            raise _RepeatedKeyError(f'line {line}: key "{key.value}" already set in map; write it once')
        seen.add(key.value)
    # It may be drawn in by several, and has more keys by then.
    loader.checked.add(id(node))
    super(type(loader), loader).flatten_mapping(node)


@lru_cache(maxsize=2)
def _loader(repeats_keys: bool) -> Any:
    """The C loader where there is one, without YAML's dates: a label `2024-01-01` is text to Kubernetes."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("ManifestLoader", (base,), {} if repeats_keys else {"flatten_mapping": _flatten_checked})
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return loader
