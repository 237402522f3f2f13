"""How much a YAML text stands for, found out before any of it is built: how deep it nests, what its aliases repeat.

A few bytes of aliases of aliases stand for gigabytes. The events of the parser are enough to know that: each anchor's
content is added up once, and each alias counts as much as what it stands for. A merge key (`<<`) counts like any alias,
which bounds the keys that mappings copy from each other, too.
"""

from __future__ import annotations

from typing import Any, Final

#: Far beyond any API object, far below what the stack holds.
MAX_DEPTH: Final = 500
#: What the aliases of a file may stand for; a hundred thousand objects that share a template are within it.
MAX_BYTES: Final = 16 * 1024 * 1024
#: Every value takes some memory, however short it is.
_VALUE_BYTES: Final = 16
_MERGE: Final = "<<"


class TooMuchError(ValueError):
    """A text that stands for more than is allowed; says for how much."""


def check(text: str, loader: Any, most_bytes: int) -> None:
    """Raise RecursionError for a text that nests too deeply, TooMuchError for one that its aliases make too large."""
    import yaml

    # The C loader recurses without a limit of its own. Nesting cannot be deeper than brackets plus columns; most
    # manifests are cleared by that alone.
    may_grow = ("*" in text and "&" in text) or _MERGE in text
    if not may_grow and text.count("[") + text.count("{") + max(map(len, text.splitlines()), default=0) <= MAX_DEPTH:
        return
    tally = _Tally(most_bytes)
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.NodeEvent):
            tally.add(event, yaml)
        elif isinstance(event, yaml.CollectionEndEvent):
            tally.close()


class _Part:
    """A collection that is open."""

    __slots__ = ("anchor", "is_merged", "size")

    def __init__(self, anchor: str | None, *, is_merged: bool) -> None:
        self.anchor = anchor
        self.is_merged = is_merged
        self.size = _VALUE_BYTES


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
            self._is_merging = event.value == _MERGE
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
            limit = f"{self._most_bytes} bytes"
            raise TooMuchError(f"its aliases stand for more than {limit}; write out what they stand for")
