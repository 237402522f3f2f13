"""The cluster as columns: one row per node, changed by events, read by plugins through `table.nodes.Nodes`.

`cache.cache.Cache` is the only caller of the methods that change it, and only between scheduling cycles. Rows are
dense: when a node goes, the last row moves into its place. A row that becomes another node's, or nobody's, is marked in
`layout` and in the journal of every column, so that answers kept by row are given again for that row alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable
from weakref import WeakValueDictionary

import msgspec
import numpy as np

from stowplan.model import requests
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.requests import Requests
from stowplan.table.columns import Column, Rows
from stowplan.table.counts import Counts, Holdings
from stowplan.table.domain_sums import WeightedSumsBook
from stowplan.table.facts import Facts, Images
from stowplan.table.journal import Journal, Reads
from stowplan.table.resources import DerivedColumns, Matrix, Resources
from stowplan.table.shape import PodShape, names_of_claims, signature
from stowplan.table.terms import TermBook, terms_of

FIRST_CAPACITY = 64


class Table:
    """Rows, columns and what is needed to keep them true."""

    def __init__(self, rules: requests.RequestRules = requests.USUAL) -> None:
        """Make an empty table; `rules` say how pods are weighed."""
        self.rules = rules
        self._own = msgspec.structs.replace(rules, device_claims=False)
        self.reads = Reads()
        self.layout = Journal()
        #: How many nodes there are; who reads that is concerned on every row.
        self.size_journal = Journal()
        self.node_journal = Journal()
        self.nodes: list[Node] = []
        self.row_of: dict[str, int] = {}
        self.resources = Resources(FIRST_CAPACITY)
        self.derived = DerivedColumns(self.resources)
        self.images = Images()
        self.terms = TermBook()
        self.shapes_on: list[dict[PodShape, int]] = []
        self._capacity = FIRST_CAPACITY
        self._shapes: WeakValueDictionary[Hashable, PodShape] = WeakValueDictionary()
        self.facts = Facts(self.nodes, FIRST_CAPACITY)
        self.counts = Counts(self._shapes, FIRST_CAPACITY)
        self.holdings = Holdings(self.nodes, self.row_of, self.shapes_on)
        self.weighted_sums = WeightedSumsBook()
        self.tree = NodeTree()
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
            # Not twice as many: where there are thousands of resources, a row takes as many numbers.
            self._capacity += self._capacity // 4
        self._relayout()
        self._write_node(row, None, node)
        self._mark(row)
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
        self.tree.remove(name)
        if row != last:
            self._move_row(last, row)
        for column in self._columns():
            column.clear(last)
        self.resources.clear(last)
        self.nodes.pop()
        self.shapes_on.pop()
        self._relayout()
        for each in {row, last}:
            self._mark(each)

    def restore_node(self, node: Node, row: int) -> None:
        """Take back `remove_node`: the node has its row again, and who has it now, the last one."""
        last = self.add_node(node)
        if row != last:
            self._move_row(row, last)
            self.nodes[row], self.shapes_on[row] = node, {}
            self.row_of[node.metadata.name] = row
            for column in self._columns():
                column.clear(row)
            self.resources.clear(row)
            self._write_node(row, node, node)
            for each in (row, last):
                self._mark(each)

    def names(self) -> list[str]:
        """Return the names of all nodes by row; the list stays as it is when the table changes."""
        if self._names is None:
            self._names = [node.metadata.name for node in self.nodes]
        return self._names

    def order(self) -> Rows:
        """Return the rows in the order upstream walks nodes; each attempt asks: upstream settles it then."""
        if self._order is None:
            rows = (self.row_of[name] for name in self.tree.settle())
            self._order = np.fromiter(rows, dtype=np.intp, count=len(self.nodes))
        return self._order

    def put_back_order(self, saved: SavedTree) -> None:
        """Have upstream walk the nodes in an order that was saved."""
        self.tree.restore(saved)
        self._order = None

    def _write_node(self, row: int, old: Node | None, node: Node) -> None:
        self.images.replace(old, node)
        self.tree.put(node)
        self.resources.write_node(row, node)
        self.facts.write(row, node)

    def _move_row(self, source: int, target: int) -> None:
        self.nodes[target] = self.nodes[source]
        self.row_of[self.nodes[target].metadata.name] = target
        self.shapes_on[target] = self.shapes_on[source]
        for shape in self.shapes_on[target]:
            shape.rows[target] = shape.rows.pop(source)
        self.resources.move(source, target)
        self.holdings.move(source, target)
        for column in self._columns():
            column.move(source, target)

    def _relayout(self) -> None:
        rows = len(self.nodes)
        self.resources.fit(self._capacity, rows)
        self.facts.fit(self._capacity)
        self.counts.fit(self._capacity, rows)
        self.terms.fit(self._capacity, rows)
        self.size_journal.mark_all()
        self._order = None
        self._names = None

    def _mark(self, row: int) -> None:
        """Tell all readers that a row has become another node's, or nobody's."""
        self.layout.mark(row)
        self.node_journal.mark(row)
        self.resources.allocatable_journal.mark(row)
        self.resources.requested_journal.mark(row)
        self.holdings.mark(row)
        for column in self._columns():
            column.journal.mark(row)

    def _columns(self) -> list[Column]:
        carried = [term.column for term in self.terms.all()]
        return [*self.facts.columns.values(), *self.counts.columns, *carried]

    # Pods

    def shape_of(self, pod: Pod) -> PodShape:
        """Return the shape that `pod` shares with all pods like it that have the same claims."""
        last = self._last_shape() if self._last_pod is pod else None
        if last is not None:
            return last
        key = signature(pod)
        names = names_of_claims(pod) if pod.spec.volumes else ()
        shape = self._shapes.get((key, names) if names else key)
        if shape is None:
            shape = self._shapes[(key, names) if names else key] = PodShape(key, pod)
            placed = self._placed(pod)
            if self.resources.knows(placed):
                shape.amounts = self.resources.vector(placed)
            shape.own_terms = terms_of(pod)
            shape.terms = self.terms.carried(shape.own_terms, self._capacity, len(self.nodes))
        self._last_pod, self._last_shape = pod, weakref.ref(shape)
        return shape

    def shapes(self) -> list[PodShape]:
        """Return the shapes of all pods that are known."""
        return list(self._shapes.values())

    def amounts_of(self, shape: PodShape) -> Matrix:
        """Return what a pod of this shape adds to its node; from now on the resources it names have a row."""
        if shape.amounts is None:
            shape.amounts = self.resources.vector(self._placed(shape.pod))
        return shape.amounts

    def incoming(self, pod: Pod) -> Requests:
        return self._weigh(pod)[1]

    def accounted(self, pod: Pod) -> Requests:
        return self._weigh(pod)[2]

    def _placed(self, pod: Pod) -> Requests:
        """Return what `pod` weighs on its node with what its devices take there; scores leave that out."""
        has_claims = self.rules.device_claims and pod.status.node_allocatable_resource_claim_statuses
        return requests.accounted(pod, self.rules) if has_claims else self.accounted(pod)

    def _weigh(self, pod: Pod) -> tuple[Pod, Requests, Requests]:
        """Weigh a pod once for all who ask during its attempt."""
        if self._weighed is None or self._weighed[0] is not pod:
            incoming = requests.incoming(pod, self.rules)
            is_other = pod.status.may_hold_other
            self._weighed = (pod, incoming, requests.accounted(pod, self._own) if is_other else incoming)
        return self._weighed

    def add_pod(self, row: int, shape: PodShape) -> None:
        """Count one pod of this shape on a row."""
        self.resources.add(row, shape.amounts if shape.amounts is not None else self.amounts_of(shape))
        shape.rows[row] = self.shapes_on[row][shape] = shape.rows.get(row, 0) + 1
        if self.counts.columns:
            for column, amount in self.counts.deltas(shape):
                column.add(row, amount)
        if self.holdings.by_rule:
            self.holdings.add(row, shape, 1)
        if shape.terms:
            self._count_terms(row, shape, 1)

    def remove_pod(self, row: int, shape: PodShape) -> None:
        """Take back `add_pod`."""
        self.resources.add(row, self.amounts_of(shape), np.subtract)
        self._discount(row, shape)
        for column, amount in self.counts.deltas(shape):
            column.add(row, -amount)
        self.holdings.add(row, shape, -1)
        self._count_terms(row, shape, -1)

    def reshape_pod(self, row: int, old: PodShape, new: PodShape) -> None:
        """Count a pod of a row by its new shape. What counts the same for both does not move.

        Binding adds labels to a pod, and its kubelet reports on it: both give it another shape, and hardly ever does
        anybody count it otherwise. Answers that are kept must not pay for that.
        """
        before, after = self.amounts_of(old), self.amounts_of(new)
        if before.tobytes() != after.tobytes():
            self.resources.add(row, before, np.subtract)
            self.resources.add(row, after)
        self._discount(row, old)
        new.rows[row] = self.shapes_on[row][new] = new.rows.get(row, 0) + 1
        self.counts.exchange(row, old, new)
        self.holdings.exchange(row, old, new)
        if old.terms != new.terms:
            self._count_terms(row, old, -1)
            self._count_terms(row, new, 1)

    def _discount(self, row: int, shape: PodShape) -> None:
        left = shape.rows[row] - 1
        if left:
            shape.rows[row] = self.shapes_on[row][shape] = left
        else:
            del shape.rows[row], self.shapes_on[row][shape]

    def _count_terms(self, row: int, shape: PodShape, amount: int) -> None:
        for term in shape.terms:
            was_used = term.column.total > 0
            term.column.add(row, amount)
            if was_used != (term.column.total > 0):
                self.terms.journal.mark_all()


_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


#: Zones with their nodes, nodes with their zones, and the walk.
SavedTree = tuple[dict[str, dict[str, None]], dict[str, str], list[str]]


class NodeTree:
    """Node names by zone, zones in the order they were first seen, and the walk over them that was settled last."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}
        self._walk: list[str] = []

    def put(self, node: Node) -> None:
        """Add a node, or move it to its new zone."""
        zone, name = zone_key(node), node.metadata.name
        if self._zone_of.get(name) != zone:
            self.remove(name)
            self._zones.setdefault(zone, {})[name] = None
            self._zone_of[name] = zone

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]

    def saved(self) -> SavedTree:
        """Return what `restore` takes: zones and nodes come back at the end, but had another turn before."""
        return {zone: dict(names) for zone, names in self._zones.items()}, dict(self._zone_of), self._walk

    def restore(self, saved: SavedTree) -> None:
        """Have everything be as it was saved."""
        self._zones, self._zone_of, self._walk = saved

    def settle(self) -> list[str]:
        """Return the walk. It is made anew if others are there than last time; who only changed zone keeps its turn."""
        if self._zone_of.keys() != set(self._walk):
            self._walk = list(self.names())
        return self._walk

    def names(self) -> Iterable[str]:
        """Yield the names round by round: the first of every zone, then the second of every zone that has one, ..."""
        rounds = [iter(zone) for zone in self._zones.values()]
        while rounds:
            remaining = []
            for zone in rounds:
                name = next(zone, None)
                if name is not None:
                    yield name
                    remaining.append(zone)
            rounds = remaining


def zone_key(node: Node) -> str:
    """Return upstream's key of a node's zone; empty when the node has neither region nor zone."""
    labels = node.metadata.labels
    region, zone = next((labels[key] for key in _REGION if key in labels), ""), zone_of(node)
    return f"{region}:\x00:{zone}" if region or zone else ""


def zone_of(node: Node) -> str:
    """Return the zone that the labels of a node name, the old label before the new one as upstream; "" for none."""
    labels = node.metadata.labels
    return next((labels[key] for key in _ZONE if key in labels), "")
