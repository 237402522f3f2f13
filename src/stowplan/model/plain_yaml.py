"""YAML without anchors, tags, merges and repeated keys, which is how programs write it, read twice as fast.

The events of the parser are put together directly; what a plain scalar stands for is decided by the loader itself, once
for every text. Whatever is not plain is left to the loader, and so is whatever is wrong: it says where.
"""

from __future__ import annotations

from typing import Any, Final

#: No content yet: a document may well be null.
_NOTHING: Final = object()


def read(text: str, loader: Any, max_depth: int) -> list[Any] | None:
    """Return the documents of a text, those that are empty as None; None if it is not plain."""
    import yaml

    if "<<" in text or "\t" in text:
        return None
    reader = _PlainReader(loader, max_depth)
    try:
        for event in yaml.parse(text, Loader=loader):
            if not reader.take(event):
                return None
    except (yaml.YAMLError, ValueError, TypeError):
        return None
    return reader.documents


class _PlainReader:
    """Puts events together. Of every collection that is open it has the content and, in a mapping, the key at hand."""

    def __init__(self, loader: Any, max_depth: int) -> None:
        import yaml

        self._max_depth = max_depth
        self._resolving = loader("")
        self._scalar, self._make_node = yaml.ScalarEvent, yaml.ScalarNode
        self._mapping, self._sequence = yaml.MappingStartEvent, yaml.SequenceStartEvent
        self._ends = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
        self._alias = yaml.AliasEvent
        #: What plain scalars stand for.
        self._known: dict[str, Any] = {}
        self._open: list[Any] = []
        self._keys: list[Any] = []
        self.documents: list[Any] = []

    def take(self, event: Any) -> bool:
        """Take an event; say whether it is plain."""
        kind = type(event)
        if kind is self._scalar:
            if event.anchor is not None or event.tag is not None:
                return False
            return self._put(self._value(event.value) if event.implicit[0] else event.value)
        if kind is self._mapping or kind is self._sequence:
            if event.anchor is not None or event.tag is not None or len(self._open) >= self._max_depth:
                return False
            return self._begin({} if kind is self._mapping else [])
        if kind in self._ends:
            self._open.pop()
            self._keys.pop()
        return kind is not self._alias

    def _begin(self, content: Any) -> bool:
        if not self._put(content, is_collection=True):
            return False
        self._open.append(content)
        self._keys.append(_NOTHING)
        return True

    def _put(self, value: Any, *, is_collection: bool = False) -> bool:
        """Put a value where it belongs: into the document, the list or the mapping that is open."""
        if not self._open:
            self.documents.append(value)
            return True
        content = self._open[-1]
        if type(content) is list:
            content.append(value)
            return True
        key = self._keys[-1]
        if key is _NOTHING:
            # The loader says what it makes of a key that is no text.
            if is_collection or type(value) is not str or value in content:
                return False
            self._keys[-1] = value
            return True
        content[key] = value
        self._keys[-1] = _NOTHING
        return True

    def _value(self, text: str) -> Any:
        if text not in self._known:
            tag = self._resolving.resolve(self._make_node, text, (True, False))
            self._known[text] = self._resolving.construct_object(self._make_node(tag, text))
        return self._known[text]
