"""YAML text as JSON values, read the way Kubernetes components read it.

Keys are sorted, of repeated keys the last one counts, only the first document is read, and only the plain types of
JSON come out: a date stays a string.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from stowplan.config.document import Json, JsonObject, Number, number_text
from stowplan.config.errors import ConfigError
from stowplan.model import go_numbers

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
_BOOLS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS = ("", "~", "null", "Null", "NULL")
_NO_NUMBERS = (".nan", ".inf", "+.inf", "-.inf")
_SPELLINGS = ("nan", "NaN", "NAN", "inf", "Inf", "INF")
_GROUPING = re.compile("(?<=[0-9])_(?=[0-9])")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# An alias may repeat a large part of the text; past this many values something is wrong.
_MOST_VALUES = 200_000

# What PyYAML says, by its beginning, and what libyaml says for it.
_PROBLEMS = (
    ("expected the node content", "did not find expected node content"),
    ("found character '\\t' that cannot start any token", "found a tab character that violates indentation"),
    ("found character", "found character that cannot start any token"),
    ("mapping values are not allowed here", "mapping values are not allowed in this context"),
    ("expected ',' or ']'", "did not find expected ',' or ']'"),
    ("expected ',' or '}'", "did not find expected ',' or '}'"),
    ("expected '<document start>'", "did not find expected <document start>"),
    ("sequence entries are not allowed here", "block sequence entries are not allowed in this context"),
    ("found undefined alias", "unknown anchor"),
)


def parse(text: str) -> tuple[Json, tuple[str, ...]]:
    """Read the first document of a text; give it with the faults that only a strict reader minds."""
    try:
        loader = _Loader(text)
        node = loader.get_node() if loader.check_node() else None
    except yaml.YAMLError as error:
        raise ConfigError("decode", _describe(error)) from None
    except ValueError as error:
        raise ConfigError("decode", f"yaml: {error}") from None
    reader = _YamlReader()
    root = None if node is None else reader.value(node)
    faults = (
        ("yaml: unmarshal errors:" + "".join(f"\n  {each}" for each in reader.repeated),) if reader.repeated else ()
    )
    return root, faults


def _describe(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return f"yaml: {error}"
    said = error.problem or "the text cannot be read"
    problem = next((ours for theirs, ours in _PROBLEMS if said.startswith(theirs)), said)
    if said.startswith("expected <block end>"):
        in_mapping = "mapping" in (error.context or "")
        problem = "did not find expected key" if in_mapping else "did not find expected '-' indicator"
    if error.problem_mark is None or error.problem_mark.line == 0:
        return f"yaml: {problem}"
    # The scanner counts lines from 1, the parser from 0.
    line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    return f"yaml: line {line}: {problem}"


class _Loader(yaml.SafeLoader):
    """Leaves the type of plain text open: PyYAML's rules for it are not those of Kubernetes components."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TAG + "str"
        return _TAG + ("seq" if kind is yaml.SequenceNode else "map")


class _YamlReader:
    """Turns the nodes of one document into values, and notes repeated keys on the way."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: yaml.Node) -> Json:
        self._count += 1
        if self._count > _MOST_VALUES:
            raise ConfigError("decode", "yaml: document contains excessive aliasing")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._open:
            raise ConfigError("decode", f"yaml: line {node.start_mark.line + 1}: anchor value contains itself")
        self._open.add(id(node))
        try:
            return self._collection(node)
        finally:
            self._open.discard(id(node))

    def _collection(self, node: yaml.Node) -> Json:
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each) for each in node.value]
        members: dict[str, Json] = {}
        for name, value in self._members(node):
            if name in members:
                self.repeated.append(f'line {value.start_mark.line + 1}: key "{name}" already set in map')
            members[name] = self.value(value)
        for merged in _merged(node):
            for name, value in self._members(merged):
                members.setdefault(name, self.value(value))
        return JsonObject(tuple(sorted(members.items())))

    def _members(self, node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
        for key, value in node.value:
            if not _is_merge(key):
                yield _key(key), value


def _merged(node: yaml.Node) -> Iterator[yaml.MappingNode]:
    """Give the mappings that `<<` draws in."""
    for key, value in node.value:
        if _is_merge(key):
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(source, yaml.MappingNode) for source in sources):
                raise ConfigError("decode", "yaml: map merge requires map or sequence of maps as the value")
            yield from sources


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.tag == _PLAIN and key.value == "<<"


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError("decode", f"yaml: line {node.start_mark.line + 1}: invalid map key: it must be a scalar")
    match _scalar(node):
        case str(text) | Number(text):
            return text
        case bool(truth):
            return "true" if truth else "false"
        case _:
            return "null"


def _scalar(node: yaml.ScalarNode) -> Json:
    text: str = node.value
    if node.tag == _TAG + "binary":
        return _binary(text)
    guessing = (_PLAIN, _TAG + "null", _TAG + "bool", _TAG + "int", _TAG + "float")
    return _resolve(text) if node.tag in guessing else text


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise ConfigError("decode", "yaml: !!binary value contains invalid base64 data") from None


def _resolve(text: str) -> Json:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text.lower() in _NO_NUMBERS and text[-3:] in _SPELLINGS:
        # There is no such number in JSON, wherever it stands.
        return Number(number_text(float(text.replace(".", ""))))
    # Where a point comes first, only single ones between digits are left out.
    digits = _GROUPING.sub("", text) if text.startswith(".") else text.replace("_", "")
    number: float | None = _int(digits)
    if number is None and _FLOAT.fullmatch(digits):
        number = float(digits)
    # One that is too large for any number is text.
    return text if number is None or number in (math.inf, -math.inf) else Number(number_text(number))


def _int(text: str) -> int | None:
    """Return a whole number of at most 64 bits."""
    value = go_numbers.whole(text)
    if value is None:
        return None
    most = 2**63 if text[0] in "+-" else 2**64
    return value if -(2**63) <= value < most else None
