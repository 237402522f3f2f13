"""The nodes as columns, for many to read: what is text is kept, and made anew for the rows that have changed alone.

Amounts are in the table as they are, and are read off it. Devices are counted beside them, in `devices.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

import numpy as np

from stowplan.cache.cache import Cache
from stowplan.model.node import Node
from stowplan.observe.resource_usage import status_of
from stowplan.table.columns import Rows
from stowplan.table.journal import Journal
from stowplan.table.resources import FIXED
from stowplan.web.answers import AmountColumns, NodeGroups, NodesAnswer, RowsAnswer
from stowplan.web.devices import DEVICES, DeviceColumns

#: Shown before the others, if there are any of them.
FIRST: Final = ("cpu", "memory", "pods", "ephemeral-storage")
#: One pod may name tens of thousands.
MOST_RESOURCES: Final = 24
#: Labels that nodes were grouped by lately: more than there can be people who watch.
_MOST_LABELS: Final = 64

T = TypeVar("T")


class LabelColumn:
    """The value of one label of each node, as codes; `revision` grows when a node gets another."""

    def __init__(self, key: str, nodes: Iterable[Node]) -> None:
        self.key = key
        self.values: list[str] = []
        self.codes: list[int] = []
        self.revision = 0
        self._code_of: dict[str, int] = {}
        self.read(nodes)

    def read(self, nodes: Iterable[Node]) -> None:
        """Read all nodes anew."""
        self.values, self._code_of = [], {}
        self.codes = [self._code(node) for node in nodes]
        self.revision += 1

    def write(self, row: int, node: Node) -> None:
        code = self._code(node)
        if self.codes[row] != code:
            self.codes[row] = code
            self.revision += 1

    def answer(self) -> NodeGroups:
        return NodeGroups(self.key, self.values, self.codes)

    def _code(self, node: Node) -> int:
        value = node.metadata.labels.get(self.key)
        if value is None:
            return -1
        code = self._code_of.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code


class NodeColumns:
    """What is told of all nodes, and of those that have changed."""

    def __init__(self, cache: Cache) -> None:
        self._table = cache.table
        self._devices = DeviceColumns(cache)
        self._status: list[str] = []
        self._unschedulable: list[bool] = []
        self._labels: dict[str, LabelColumn] = {}
        self._as_of = -1
        #: The rows whose status or devices have changed, as far as anybody has looked.
        self.journal = Journal()

    @property
    def revision(self) -> int:
        """Grows with every change of a node, also before anybody has asked what it is."""
        table, resources = self._table, self._table.resources
        journals = (table.node_journal, resources.allocatable_journal, resources.requested_journal)
        return sum(journal.position for journal in journals) + self._devices.revision

    @property
    def layout(self) -> tuple[int, ...]:
        """What has moved if all columns have to be told anew, whatever nodes are grouped by."""
        resources = self._table.resources
        return (
            self._table.size_journal.position,
            self._table.layout.position,
            resources.names_journal.position,
            resources.allocatable_journal.position,
            self._devices.layout,
        )

    def resources(self) -> dict[str, int]:
        """Return the resources that are told of, with their rows in the table."""
        resources = self._table.resources
        known = resources.index_of
        found = {name: known[name] for name in FIRST}
        for name, row in known.items():
            if len(found) >= MOST_RESOURCES:
                break
            if name not in FIXED and (resources.allocatable[row].any() or resources.requested[row].any()):
                found[name] = row
        return found

    def resource_names(self) -> list[str]:
        return [*self.resources(), *((DEVICES,) if self._devices.has_any else ())]

    def answer(self, label: str = "") -> NodesAnswer:
        """Return all columns, with the nodes grouped by a label if there is one."""
        self.bring_up()
        table, resources = self._table, self._table.resources
        columns = {
            name: AmountColumns(resources.allocatable[row].tolist(), resources.requested[row].tolist())
            for name, row in self.resources().items()
        }
        if self._devices.has_any:
            columns[DEVICES] = AmountColumns(*self._devices.columns())
        group = self._label(label).answer() if label else None
        return NodesAnswer(self.revision, table.names(), self._status, self._unschedulable, group, columns)

    def rows(self, rows: Rows) -> RowsAnswer:
        """Return what may have changed of some rows."""
        listed, resources = rows.tolist(), self._table.resources
        requested = {name: resources.requested[row][rows].tolist() for name, row in self.resources().items()}
        if self._devices.has_any:
            taken = self._devices.columns()[1]
            requested[DEVICES] = [taken[row] for row in listed]
        status = [self._status[row] for row in listed]
        unschedulable = [self._unschedulable[row] for row in listed]
        return RowsAnswer(self.revision, listed, requested, status, unschedulable)

    def devices_of(self, node: str) -> tuple[int, int]:
        """Return how many devices a node has, and how many of them are taken."""
        self.bring_up()
        return self._devices.of(node)

    def grouped(self, label: str) -> int:
        """Return what grows when a node gets another value of a label."""
        return self._label(label).revision if label else 0

    def bring_up(self) -> None:
        """Take over what changed of nodes and devices, and mark the rows in question."""
        table = self._table
        self._devices.bring_up(self.journal)
        position, self._as_of = self._as_of, table.node_journal.position
        if position == self._as_of:
            return
        rows = table.node_journal.since(position) if position >= 0 else None
        if rows is None:
            self._read_all()
        else:
            self._read(np.unique(rows).tolist())

    def _read_all(self) -> None:
        nodes = self._table.nodes
        self._status = [status_of(node) for node in nodes]
        self._unschedulable = [node.spec.unschedulable for node in nodes]
        for label in self._labels.values():
            label.read(nodes)
        self.journal.mark_all()

    def _read(self, rows: list[int]) -> None:
        """Read some nodes; what is new is among them."""
        nodes = self._table.nodes
        _fit(self._status, len(nodes), "")
        _fit(self._unschedulable, len(nodes), False)
        for label in self._labels.values():
            _fit(label.codes, len(nodes), -1)
        for row in rows:
            if row >= len(nodes):
                continue
            node = nodes[row]
            status = status_of(node)
            if status != self._status[row]:
                self._status[row], self._unschedulable[row] = status, node.spec.unschedulable
                self.journal.mark(row)
            for label in self._labels.values():
                label.write(row, node)

    def _label(self, key: str) -> LabelColumn:
        found = self._labels.pop(key, None)
        if found is None:
            found = LabelColumn(key, self._table.nodes)
            if len(self._labels) >= _MOST_LABELS:
                del self._labels[next(iter(self._labels))]
        # The last one is the one that was asked for last.
        self._labels[key] = found
        return found


def _fit(column: list[T], rows: int, nothing: T) -> None:
    """Have a column be as long as there are nodes."""
    del column[rows:]
    column += [nothing] * (rows - len(column))
