"""The columns of facts: what is read off nodes, built when first asked for and kept up to date; and their images.

Pods may name any label or image, so columns that nobody has asked for lately are dropped when there are too many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from stowplan.model.node import Node
from stowplan.table.columns import CodedColumn, FactColumn, Uses
from stowplan.table.journal import Journal


class Facts:
    """Fact columns by key, over the rows of a list of nodes that the table keeps."""

    def __init__(self, nodes: list[Node], capacity: int) -> None:
        self.columns: dict[Hashable, FactColumn] = {}
        self._nodes = nodes
        self._capacity = capacity
        self._declared: dict[str, Callable[[Node], Any]] = {}
        # The columns that plugins from elsewhere read by functions of their own.
        self._of_others: set[Hashable] = set()
        self._uses = Uses()

    def fit(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self.columns.values():
            column.fit(capacity, len(self._nodes))

    def write(self, row: int, node: Node) -> None:
        """Read every fact off a node that came or changed."""
        for column in self.columns.values():
            column.write(row, node)

    def fact(self, key: Hashable, read: Callable[[Node], Any], dtype: DTypeLike) -> FactColumn:
        """Return the column of a fact, building it from all nodes the first time its key is asked for."""
        column = self.columns.get(key)
        if column is None:
            column = self._built(key, FactColumn(read, dtype, self._capacity))
            self._note_origin(key, read)
        return self._uses.note(column)

    def coded(self, key: Hashable, read: Callable[[Node], Hashable | None]) -> CodedColumn:
        """Return the column of a fact that is not a number, as codes."""
        column = self.columns.get(key)
        if column is None:
            column = self._built(key, CodedColumn(read, self._capacity))
            self._note_origin(key, read)
        if not isinstance(column, CodedColumn):
            raise TypeError(f"column {key!r} holds numbers, not codes; use another key")
        return self._uses.note(column)

    def declare(self, name: str, read: Callable[[Node], Any]) -> None:
        """Take a column of numbers that a plugin declares; a node it cannot be read off has no number there (NaN)."""
        add_declared(self._declared, name, read)
        self.columns.pop(("declared", name), None)

    def redeclare(self, declared: Mapping[str, Callable[[Node], Any]]) -> None:
        """Take other plugins' columns in place of all that were declared; what others read for themselves goes, too."""
        for key in (*(("declared", name) for name in self._declared), *self._of_others):
            self.columns.pop(key, None)
        self._declared = dict(declared)
        self._of_others.clear()

    def declared(self, name: str) -> FactColumn:
        """Return the column that a plugin declared under a name."""
        if name not in self._declared:
            known = ", ".join(sorted(self._declared)) or "none"
            raise KeyError(f"column {name!r} is not declared by any enabled plugin; declared: {known}")
        return self.fact(("declared", name), partial(_number, self._declared[name]), np.float64)

    def why_unread(self, name: str, node: Node) -> ValueError:
        """Say why a node has no number in a column that a plugin declared, and where in the plugin that came about."""
        problem = f"column {name!r} has no number for node {node.name!r}"
        remedy = "let its function return one for every node"
        try:
            float(self._declared[name](node))
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {error}"
            return ValueError(f"{problem}: {why}; {remedy}").with_traceback(error.__traceback__)
        return ValueError(f"{problem}; {remedy}")

    def _note_origin(self, key: Hashable, read: Callable[[Node], Any]) -> None:
        read = read.func if isinstance(read, partial) else read
        if not str(getattr(read, "__module__", "")).startswith("stowplan."):
            self._of_others.add(key)

    def _built(self, key: Hashable, column: FactColumn) -> FactColumn:
        self._uses.make_room(self.columns)
        for row, node in enumerate(self._nodes):
            column.write(row, node)
        column.fit(self._capacity, len(self._nodes))
        self.columns[key] = column
        return column


def add_declared(declared: dict[str, Callable[[Node], Any]], name: str, read: Callable[[Node], Any]) -> None:
    """Add a column to those that are declared; raise ValueError if another plugin declares one of its name."""
    known = declared.get(name)
    if known is not None and _origin(known) != _origin(read):
        raise ValueError(f"column {name!r} is declared twice, by {_origin(known)} and {_origin(read)}; rename one")
    declared[name] = read


def _number(read: Callable[[Node], Any], node: Node) -> float:
    """Read a number off a node with a function that is not ours, and may fail."""
    try:
        return float(read(node))
    except (Exception, SystemExit):
        return math.nan


def _origin(read: Callable[[Node], Any]) -> str:
    return f"{getattr(read, '__module__', '?')}.{getattr(read, '__qualname__', '?')}"


class Images:
    """Image name to (size in bytes, nodes that hold it)."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._size: dict[str, int] = {}
        self._holders: dict[str, int] = {}

    def size(self, name: str) -> int:
        return self._size.get(name, 0)

    def holders(self, name: str) -> int:
        return self._holders.get(name, 0)

    def all_holders(self) -> dict[str, int]:
        return dict(self._holders)

    def sizes_of(self, node: Node) -> dict[str, int]:
        """Return the sizes that the images of a node count with: those that were reported first."""
        return {name: self._size[name] for name in image_names(node)}

    def restore_sizes(self, sizes: dict[str, int]) -> None:
        """Have images that are there count with sizes that they had."""
        if any(self._size.get(name) != size for name, size in sizes.items()):
            self._size.update(sizes)
            self.journal.mark_all()

    def replace(self, old: Node | None, new: Node | None) -> None:
        """Account for a node that came (`old` None), changed, or went (`new` None)."""
        before, after = image_names(old), image_names(new)
        if before == after:
            return
        for name in before:
            self._release(name)
        for name in after:
            self._size.setdefault(name, after[name])
            self._holders[name] = self._holders.get(name, 0) + 1
        self.journal.mark_all()

    def _release(self, name: str) -> None:
        self._holders[name] -= 1
        if not self._holders[name]:
            del self._holders[name], self._size[name]


def image_names(node: Node | None) -> dict[str, int]:
    """Return every name of every image on a node, with the first size the node reports for it."""
    if node is None:
        return {}
    sizes: dict[str, int] = {}
    for image in node.status.images:
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
