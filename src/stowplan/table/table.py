"""The cluster as columns: one row per node, changed by events, read by plugins through `table.nodes.Nodes`.

`cache.Cache` is the only caller of the methods that change it, and only between scheduling cycles. Rows are dense:
when a node goes, the last row moves into its place, and `layout` moves on so that answers kept by row are dropped.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike

from stowplan.model import requests
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.requests import Requests
from stowplan.table.columns import CodedColumn, Column, CountColumn, Counted, FactColumn, Rows
from stowplan.table.images import Images
from stowplan.table.journal import Journal, Reads
from stowplan.table.order import NodeTree
from stowplan.table.resources import Resources
from stowplan.table.shape import PodShape, signature
from stowplan.table.terms import TermBook, terms_of

FIRST_CAPACITY = 64
# Of facts, and of counts: pods may name any label, image or selector.
KEPT_COLUMNS = 4096

C = TypeVar("C", bound=Column)
K = TypeVar("K", bound=Hashable)


class Table:
    """Rows, columns and what is needed to keep them true."""

    def __init__(self) -> None:
        self.reads = Reads()
        self.layout = Journal()
        self.node_journal = Journal()
        self.nodes: list[Node] = []
        self.row_of: dict[str, int] = {}
        self.resources = Resources(FIRST_CAPACITY)
        self.images = Images()
        self.terms = TermBook()
        self.shapes_on: list[dict[PodShape, int]] = []
        self._capacity = FIRST_CAPACITY
        self._facts: dict[Hashable, FactColumn] = {}
        self._counts: dict[Counted, CountColumn] = {}
        self._count_list: list[CountColumn] = []
        self._count_generation = 1
        self._clock = 0
        self._shapes: WeakValueDictionary[bytes, PodShape] = WeakValueDictionary()
        self._declared: dict[str, Callable[[Node], Any]] = {}
        self._tree = NodeTree()
        self._order: Rows | None = None
        self._names: list[str] | None = None
        # The pod at hand is asked about again and again during its attempt.
        self._last_pod: Pod | None = None
        self._last_shape: Callable[[], PodShape | None] = lambda: None
        self._weighed: tuple[Pod, Requests, Requests] | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    # Nodes

    def add_node(self, node: Node) -> int:
        """Give a new node a row and return it."""
        row = len(self.nodes)
        self.nodes.append(node)
        self.shapes_on.append({})
        self.row_of[node.metadata.name] = row
        if row >= self._capacity:
            self._capacity *= 2
        self._relayout()
        self._write_node(row, None, node)
        return row

    def update_node(self, node: Node) -> None:
        """Take over what changed of a node; columns that stay the same are not marked."""
        row = self.row_of[node.metadata.name]
        old, self.nodes[row] = self.nodes[row], node
        if node != old:
            self.node_journal.mark(row)
        self._write_node(row, old, node)

    def remove_node(self, name: str) -> None:
        """Drop a node that has no pods counted any more, moving the last row into its place."""
        row, last = self.row_of.pop(name), len(self.nodes) - 1
        if self.shapes_on[row]:
            raise ValueError(f"node {name!r}: still has pods counted; remove them from the table first")
        self.images.replace(self.nodes[row], None)
        self._tree.remove(name)
        if row != last:
            self._move_row(last, row)
        for column in self._columns():
            column.clear(last)
        self.resources.clear(last)
        self.nodes.pop()
        self.shapes_on.pop()
        self._relayout()

    def names(self) -> list[str]:
        """Return the names of all nodes by row; the list stays as it is when the table changes."""
        if self._names is None:
            self._names = [node.metadata.name for node in self.nodes]
        return self._names

    def order(self) -> Rows:
        """Return the rows in the order upstream walks nodes."""
        if self._order is None:
            rows = (self.row_of[name] for name in self._tree.names())
            self._order = np.fromiter(rows, dtype=np.intp, count=len(self.nodes))
        return self._order

    def _write_node(self, row: int, old: Node | None, node: Node) -> None:
        self.images.replace(old, node)
        if self._tree.put(node):
            self._order = None
        self.resources.write_node(row, node)
        for column in self._facts.values():
            column.write(row, node)

    def _move_row(self, source: int, target: int) -> None:
        self.nodes[target] = self.nodes[source]
        self.row_of[self.nodes[target].metadata.name] = target
        self.shapes_on[target] = self.shapes_on[source]
        for shape in self.shapes_on[target]:
            shape.rows[target] = shape.rows.pop(source)
        self.resources.move(source, target)
        for column in self._columns():
            column.move(source, target)

    def _relayout(self) -> None:
        rows = len(self.nodes)
        self.resources.fit(self._capacity, rows)
        for column in self._columns():
            column.fit(self._capacity, rows)
        self._order = None
        self._names = None
        self.layout.mark_all()

    def _columns(self) -> list[Column]:
        carried = [term.column for term in self.terms.all()]
        return [*self._facts.values(), *self._count_list, *carried]

    # Pods

    def shape_of(self, pod: Pod) -> PodShape:
        """Return the shape that `pod` shares with all pods like it."""
        last = self._last_shape() if self._last_pod is pod else None
        if last is not None:
            return last
        key = signature(pod)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = PodShape(key, pod)
            shape.indices, shape.amounts = self.resources.vector(self.accounted(pod))
            shape.own_terms = terms_of(pod)
            shape.terms = self.terms.carried(shape.own_terms, self._capacity, len(self.nodes))
        self._last_pod, self._last_shape = pod, weakref.ref(shape)
        return shape

    def incoming(self, pod: Pod) -> Requests:
        """Return what a node must have free for `pod`."""
        return self._weigh(pod)[1]

    def accounted(self, pod: Pod) -> Requests:
        """Return what `pod` weighs on its node."""
        return self._weigh(pod)[2]

    def _weigh(self, pod: Pod) -> tuple[Pod, Requests, Requests]:
        """Weigh a pod once for all who ask during its attempt."""
        if self._weighed is None or self._weighed[0] is not pod:
            incoming = requests.incoming(pod)
            is_resized = pod.status.container_statuses or pod.status.init_container_statuses or pod.status.resources
            self._weighed = (pod, incoming, requests.accounted(pod) if is_resized else incoming)
        return self._weighed

    def add_pod(self, row: int, shape: PodShape) -> None:
        """Count one pod of this shape on a row."""
        self.resources.add(row, shape.indices, shape.amounts)
        shape.rows[row] = self.shapes_on[row][shape] = shape.rows.get(row, 0) + 1
        for column, amount in self._deltas(shape):
            column.add(row, amount)
        self._count_terms(row, shape, 1)

    def remove_pod(self, row: int, shape: PodShape) -> None:
        """Take back `add_pod`."""
        self.resources.subtract(row, shape.indices, shape.amounts)
        left = shape.rows[row] - 1
        if left:
            shape.rows[row] = self.shapes_on[row][shape] = left
        else:
            del shape.rows[row], self.shapes_on[row][shape]
        for column, amount in self._deltas(shape):
            column.add(row, -amount)
        self._count_terms(row, shape, -1)

    def _count_terms(self, row: int, shape: PodShape, amount: int) -> None:
        for term in shape.terms:
            was_used = term.column.total > 0
            term.column.add(row, amount)
            if was_used != (term.column.total > 0):
                self.terms.journal.mark_all()

    def _deltas(self, shape: PodShape) -> list[tuple[CountColumn, int]]:
        upto = (self._count_generation, len(self._count_list))
        if shape.deltas_upto != upto:
            if shape.deltas_upto[0] != self._count_generation:
                shape.deltas, shape.deltas_upto = [], (self._count_generation, 0)
            fresh = self._count_list[shape.deltas_upto[1] :]
            amounts = ((column, column.counted.amount(shape.pod)) for column in fresh)
            shape.deltas += [(column, amount) for column, amount in amounts if amount]
            shape.deltas_upto = upto
        return shape.deltas

    # Columns

    def fact(self, key: Hashable, read: Callable[[Node], Any], dtype: DTypeLike) -> FactColumn:
        """Return the column of a fact, building it from all nodes the first time its key is asked for."""
        column = self._facts.get(key)
        if column is None:
            column = self._built(key, FactColumn(read, dtype, self._capacity))
        return self._used(column)

    def declare(self, name: str, read: Callable[[Node], Any]) -> None:
        """Take a column that a plugin declares; its values decide whether it holds whole numbers, numbers or truths."""
        self._declared[name] = read

    def declared(self, name: str) -> FactColumn:
        """Return the column that a plugin declared under a name."""
        if name not in self._declared:
            known = ", ".join(sorted(self._declared)) or "none"
            raise KeyError(f"column {name!r} is not declared by any enabled plugin; declared: {known}")
        return self.fact(("declared", name), self._declared[name], np.float64)

    def coded(self, key: Hashable, read: Callable[[Node], Hashable | None]) -> CodedColumn:
        """Return the column of a fact that is not a number, as codes."""
        column = self._facts.get(key)
        if column is None:
            column = self._built(key, CodedColumn(read, self._capacity))
        if not isinstance(column, CodedColumn):
            raise TypeError(f"column {key!r} holds numbers, not codes; use another key")
        return self._used(column)

    def count(self, counted: Counted) -> CountColumn:
        """Return the count column of a rule, building it from the placed pods the first time it is asked for."""
        column = self._counts.get(counted)
        if column is None:
            self._drop_unused_counts()
            column = self._counts[counted] = CountColumn(counted, self._capacity)
            column.fit(self._capacity, len(self.nodes))
            self._count_list.append(column)
            for shape in list(self._shapes.values()):
                amount = counted.amount(shape.pod) if shape.rows else 0
                if amount:
                    for row, pods in shape.rows.items():
                        column.add(row, amount * pods)
        return self._used(column)

    def fact_columns(self) -> Iterable[tuple[Hashable, FactColumn]]:
        return self._facts.items()

    def count_columns(self) -> Iterable[CountColumn]:
        return list(self._count_list)

    def _built(self, key: Hashable, column: FactColumn) -> FactColumn:
        for unused in self._least_used(self._facts):
            self._facts.pop(unused).journal.mark_all()
        for row, node in enumerate(self.nodes):
            column.write(row, node)
        column.fit(self._capacity, len(self.nodes))
        self._facts[key] = column
        return column

    def _used(self, column: C) -> C:
        self._clock += 1
        column.used_at = self._clock
        return column

    def _drop_unused_counts(self) -> None:
        unused = self._least_used(self._counts)
        if unused:
            for counted in unused:
                # Whoever keeps an answer built on it must ask again, and will get a column that is kept up to date.
                self._counts.pop(counted).journal.mark_all()
            self._count_list = list(self._counts.values())
            self._count_generation += 1

    def _least_used(self, columns: Mapping[K, Column]) -> list[K]:
        """Return the half of the columns that were not asked for lately, once there are too many to keep."""
        if len(columns) < KEPT_COLUMNS:
            return []
        return sorted(columns, key=lambda key: columns[key].used_at)[: KEPT_COLUMNS // 2]
