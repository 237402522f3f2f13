"""YAML manifests: several documents in a file, lists of objects, and scalars read as the API server would.

A key that is there twice in one mapping is refused, as strict decoding has it: which one was meant is anybody's guess.
How much a text stands for is found out before any of it is built, for a few bytes of aliases of aliases stand for
gigabytes. The events of the parser are enough to know that: each anchor's content is added up once, and each alias
counts as much as what it stands for. A merge key (`<<`) counts like any alias, which bounds the keys that mappings copy
from each other, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn

from stowplan.model import plain_yaml
from stowplan.model.json_values import MalformedObject

#: Far beyond any API object, far below what the stack holds.
MAX_DEPTH: Final = 500
#: What the aliases of a file may stand for; a hundred thousand objects that share a template are within it.
MAX_BYTES: Final = 16 * 1024 * 1024
#: Every value takes some memory, however short it is.
_VALUE_BYTES: Final = 16
_MERGE_KEY: Final = "<<"
_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"
# Without YAML's numbers to the base of 60: `22:22` is a text to Kubernetes, and a long one takes minutes to multiply.
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)


def read(text: str | bytes, *, repeats_keys: bool = False, most_bytes: int = MAX_BYTES) -> Iterator[Any]:
    """The content of every object in every document; empty documents are skipped, lists expanded.

    Where keys may be repeated, the last one counts: what comes over the wire is taken like that. Aliases may stand for
    `most_bytes` at most.
    """
    document = _json(text)
    if document is not None:
        yield from _expand(document)
        return
    for document in _documents(text, _loader(repeats_keys), most_bytes):
        yield from _expand(document)


def _json(text: str | bytes) -> Any:
    """Read a text that is one object in JSON, twenty times as fast as by way of YAML; None if it is anything else.

    What is wrong with it, or could be read in another way, is left to YAML, which says where that is.
    """
    if text[:1] != (b"{" if isinstance(text, bytes) else "{"):
        return None
    try:
        found = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return None if _is_too_deep(found) else found


def _is_too_deep(document: Any) -> bool:
    level = [document]
    for _ in range(MAX_DEPTH):
        inside = (value for one in level for value in (one.values() if isinstance(one, dict) else one))
        level = [value for value in inside if isinstance(value, dict | list)]
        if not level:
            return False
    return True


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _documents(text: str | bytes, loader: Any, most_bytes: int) -> list[Any]:
    # Imported here: YAML is for people's files, and the live scheduler never reads it.
    import yaml

    try:
        decoded = text if isinstance(text, str) else text.decode()
        plain = plain_yaml.read(decoded, loader, MAX_DEPTH)
        if plain is not None:
            return [document for document in plain if document is not None]
        _check_size(decoded, loader, most_bytes)
        return [document for document in yaml.load_all(decoded, Loader=loader) if document is not None]
    except MalformedObject:
        raise
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as fault:
        # A tag may name a type that its text is not one of, and the constructors of the library do not look.
        problem = "nested too deeply" if isinstance(fault, RecursionError) else described(fault)
        raise MalformedObject(f"not a YAML document: {problem}; check indentation and quoting there") from None


def described(fault: Exception) -> str:
    """Say in one line what is wrong with a text; which one it is, only the caller knows."""
    # What Python says to programs about long numbers is of no use to who wrote one.
    told = str(fault).partition("; use sys.")[0]
    return " ".join(told.split()).replace('in "<unicode string>", line', "at line")


def _expand(document: Any) -> Iterator[Any]:
    """The items of a list, named after it if they do not say what they are; anything else as it is."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(document.get("items"), list):
        yield document
        return
    heading = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for item in document["items"]:
        yield {**heading, **item} if isinstance(item, Mapping) else item


def _construct_checked(loader: Any, node: Any) -> Any:
    """Make a document of its nodes; none was looked at before, though those of the last one may have had their ids."""
    loader.checked = set()
    return super(type(loader), loader).construct_document(node)


def _flatten_checked(loader: Any, node: Any) -> None:
    """Draw in what `<<` names, which counts less than what is written out; look for repeated keys before that."""
    _make_keys_texts(loader, node)
    seen: set[str] = set()
    for key, _ in node.value if id(node) not in loader.checked else ():
        if key.id != "scalar" or key.tag == _MERGE:
            continue
        if key.value in seen:
            line = key.start_mark.line + 1
            raise MalformedObject(f'line {line}: key "{key.value}" already set in map; write it once')
        seen.add(key.value)
    # It may be drawn in by several, and has more keys by then.
    loader.checked.add(id(node))
    super(type(loader), loader).flatten_mapping(node)


def _flatten(loader: Any, node: Any) -> None:
    """Draw in what `<<` names, with texts for keys."""
    _make_keys_texts(loader, node)
    super(type(loader), loader).flatten_mapping(node)


def _make_keys_texts(loader: Any, node: Any) -> None:
    """Let a key that YAML takes for a number or a truth value be the text of it, as in JSON: `no` is "false"."""
    for place, (key, value) in enumerate(node.value):
        if key.id != "scalar" or key.tag in (_TEXT, _MERGE):
            continue
        found = loader.construct_object(key)
        if not isinstance(found, str | bool | int | float):
            what = "null" if found is None else f"of type {type(found).__name__}"
            line = key.start_mark.line + 1
            raise MalformedObject(f"line {line}: a key is {what}; put it in quotes if it is meant as a text")
        text = found if isinstance(found, str) else json.dumps(found)
        node.value[place] = (type(key)(_TEXT, text, key.start_mark, key.end_mark), value)


@lru_cache(maxsize=2)
def _loader(repeats_keys: bool) -> Any:
    """The C loader where there is one, without YAML's dates: a label `2024-01-01` is text to Kubernetes."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    strict = {"construct_document": _construct_checked, "flatten_mapping": _flatten_checked}
    loader: Any = type("ManifestLoader", (base,), {"flatten_mapping": _flatten} if repeats_keys else strict)
    patterns = {"tag:yaml.org,2002:int": _INT, "tag:yaml.org,2002:float": _FLOAT}
    loader.yaml_implicit_resolvers = {
        first: [(tag, patterns.get(tag, pattern)) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return loader


def _check_size(text: str, loader: Any, most_bytes: int) -> None:
    """Raise RecursionError for a text that nests too deeply, MalformedObject if its aliases make it too large."""
    import yaml

    # The C loader recurses without a limit of its own. Nesting cannot be deeper than brackets plus columns; most
    # manifests are cleared by that alone.
    may_grow = ("*" in text and "&" in text) or _MERGE_KEY in text
    if not may_grow and text.count("[") + text.count("{") + max(map(len, text.splitlines()), default=0) <= MAX_DEPTH:
        return
    tally = _Tally(most_bytes)
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.NodeEvent):
            tally.add(event, yaml)
        elif isinstance(event, yaml.CollectionEndEvent):
            tally.close()


@dataclass(slots=True)
class _Part:
    """A collection that is open."""

    anchor: str | None
    is_merged: bool
    size: int = _VALUE_BYTES


class _Tally:
    """Bytes of the collections that are open, and of the anchors that are complete."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._repeated_bytes = 0
        self._known: dict[str, int] = {}
        # The outermost is the stream of documents.
        self._open = [_Part(None, is_merged=False)]
        self._is_merging = False

    def add(self, event: Any, yaml: Any) -> None:
        is_merged, self._is_merging = self._is_merging, False
        if isinstance(event, yaml.AliasEvent):
            # An anchor that is not there is the parser's to complain about.
            size = self._known.get(event.anchor, 0)
            self._repeat(size)
            self._open[-1].size += size
        elif isinstance(event, yaml.ScalarEvent):
            self._is_merging = event.value == _MERGE_KEY
            size = len(event.value) + _VALUE_BYTES
            self._open[-1].size += size
            if event.anchor is not None:
                self._known[event.anchor] = size
        else:
            self._begin(_Part(event.anchor, is_merged=is_merged))

    def _begin(self, part: _Part) -> None:
        if part.anchor is not None:
            # It is not complete: an alias of it inside would have no end.
            self._known[part.anchor] = self._most_bytes + 1
        self._open.append(part)
        if len(self._open) > MAX_DEPTH:
            raise RecursionError

    def close(self) -> None:
        part = self._open.pop()
        self._is_merging = False
        self._open[-1].size += part.size
        if part.anchor is not None:
            self._known[part.anchor] = part.size
        if part.is_merged:
            # Its keys are copied to whoever draws it in.
            self._repeat(part.size)

    def _repeat(self, size: int) -> None:
        self._repeated_bytes += size
        if self._repeated_bytes > self._most_bytes:
            problem = f"its aliases stand for more than {self._most_bytes} bytes"
            raise MalformedObject(f"not a YAML document: {problem}; write out what they stand for")
