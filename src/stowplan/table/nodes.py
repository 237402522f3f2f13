"""`Nodes`: what a plugin is given of the cluster. All rows, a few of them, or rows as they would be.

Every accessor returns one read-only value per row and notes that it was read. A plugin must look only at what it is
given: the same row gives the same answer alone, among others, and in a hypothetical table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod
from stowplan.model.requests import Requests
from stowplan.table.columns import Coded, CodedColumn, Codes, Column, CountColumn, Counted, Mask, Rows, Scores
from stowplan.table.counts import Held, Holding, changes_of
from stowplan.table.domain_sums import DomainSums, LiveSums, Summed, WeightedSums
from stowplan.table.facts import Images
from stowplan.table.feasible import FeasibleRows
from stowplan.table.hypothetical import Moves
from stowplan.table.journal import Journal
from stowplan.table.resources import Derived, DerivedRule, Matrix
from stowplan.table.shape import PodShape
from stowplan.table.table import Table
from stowplan.table.terms import CarriedTerm, PodTerms, TermKind


@dataclass(slots=True, eq=False, repr=False)
class Nodes:
    """Rows of the table as a plugin sees them."""

    _table: Table
    rows: Rows | None = None
    _moves: Moves | None = None
    _gathered: dict[object, NDArray[Any]] = field(default_factory=dict)
    _amounts: list[tuple[list[int], list[int]]] | None = None
    _asked: Mask | None = None
    feasible_rows: Mask | None = None
    feasible_journal: Journal | None = None
    _feasible_counts: FeasibleRows = field(default_factory=FeasibleRows)
    #: Marked when the answers are wanted for a pod with other requests.
    requests_journal: Journal | None = None

    def __len__(self) -> int:
        if self.rows is not None:
            return len(self.rows)
        self._note(self._table.layout)
        return len(self._table)

    def take(self, rows: Rows) -> Nodes:
        """Return some of the rows (numbers of the table's rows), with nothing else changed."""
        taken = Nodes(self._table, rows)
        taken.requests_journal, taken.feasible_journal = self.requests_journal, self.feasible_journal
        return taken

    def suppose(self, rows: Rows, added: Sequence[Sequence[PodShape]], removed: Sequence[Sequence[PodShape]]) -> Nodes:
        """Return hypothetical rows: row i as it would be with `added[i]` placed on it and `removed[i]` gone."""
        return self.take(rows).after(Moves.of(added, removed))

    def after(self, moves: Moves) -> Nodes:
        """Return these rows as they would be after `moves`, which has as many rows."""
        # What was gathered is as it is; moves are added to it.
        moved = Nodes(self._table, self.rows, moves, self._gathered)
        moved.requests_journal = self.requests_journal
        return moved

    def shape_of(self, pod: Pod) -> PodShape:
        """Return the shape under which a pod is supposed to come or go."""
        shape = self._table.shape_of(pod)
        self._table.amounts_of(shape)
        return shape

    @property
    def is_hypothetical(self) -> bool:
        """Whether the rows are as they would be, not as they are."""
        return self._moves is not None

    @property
    def asked(self) -> Mask | None:
        """Which rows still matter; the wrapper of per-node plugins asks about no others."""
        if self.feasible_journal is not None:
            self._note(self.feasible_journal)
        return self._asked

    @asked.setter
    def asked(self, asked: Mask | None) -> None:
        self._asked = asked

    # Identity

    @property
    def all_rows(self) -> Rows:
        """The table's row number of every row given."""
        return np.arange(len(self)) if self.rows is None else self.rows

    def node(self, position: int) -> Node:
        """Return the Node object at a position; for per-node plugins and messages, not for array code."""
        self._note(self._table.node_journal)
        return self._table.nodes[position if self.rows is None else self.rows[position]]

    @property
    def cluster_size(self) -> int:
        """How many nodes the cluster has, however few of them are given."""
        self._note(self._table.size_journal)
        return len(self._table)

    def with_names(self, names: frozenset[str]) -> Mask:
        """Say which rows are nodes of these names."""
        mask = np.zeros(len(self._table), dtype=bool)
        mask[[self._table.row_of[name] for name in names if name in self._table.row_of]] = True
        self._note(self._table.layout)
        return mask if self.rows is None else mask[self.rows]

    # Resources

    @property
    def allocatable(self) -> Matrix:
        """What each node has to give. # (resources, nodes)"""
        resources = self._table.resources
        self._note(resources.allocatable_journal)
        return self._matrix("allocatable", resources.allocatable)

    @property
    def requested(self) -> Matrix:
        """What the pods of each node take. # (resources, nodes)"""
        resources = self._table.resources
        self._note(resources.requested_journal)
        matrix = self._matrix("requested", resources.requested)
        if self._moves is None:
            return matrix
        return matrix + self._moves.sum_requested(len(matrix))

    def free(self, resource: int) -> NDArray[np.int64]:
        """Return what is left of one resource on each node: cheaper than all amounts, where some rows are given."""
        self._note_amounts()
        resources = self._table.resources
        has, taken = resources.allocatable[resource], resources.requested[resource]
        if self.rows is None:
            free: NDArray[np.int64] = has - taken
        else:
            free = has[self.rows] - taken[self.rows]
        return free if self._moves is None else free - self._moves.sum_requested(len(resources.requested))[resource]

    def amounts(self) -> list[tuple[list[int], list[int]]]:
        """Return what each node has and what is taken of it as plain integers: for a few rows, faster than arrays."""
        if self._amounts is None:
            self._amounts = list(zip(self.allocatable.T.tolist(), self.requested.T.tolist(), strict=True))
        else:
            self._note_amounts()
        return self._amounts

    def derived(self, rule: DerivedRule) -> Derived | None:
        """Return what a rule derives of the amounts of each node; None if they are not as they are."""
        if self._moves is not None:
            return None
        self._note_amounts()
        derived = self._table.derived.find(rule)
        return derived if self.rows is None else derived.take(self.rows)

    def _note_amounts(self) -> None:
        self._note(self._table.resources.allocatable_journal)
        self._note(self._table.resources.requested_journal)

    def resource(self, name: str) -> int:
        """Return the row of a resource in `allocatable` and `requested`; a row of zeros if nobody has or takes it."""
        self._note(self._table.resources.names_journal)
        return self._table.resources.find(name)

    def incoming(self, pod: Pod) -> Requests:
        """Return what a node must have free for `pod`; the same for all nodes."""
        self._note_requests()
        return self._table.incoming(pod)

    def accounted(self, pod: Pod) -> Requests:
        """Return what `pod` would weigh on its node."""
        self._note_requests()
        return self._table.accounted(pod)

    def _note_requests(self) -> None:
        if self.requests_journal is not None:
            self._note(self.requests_journal)

    def _matrix(self, key: str, matrix: Matrix) -> Matrix:
        if self.rows is None:
            return matrix
        gathered = self._gathered.get(key)
        if gathered is None:
            gathered = self._gathered[key] = matrix[:, self.rows]
            gathered.flags.writeable = False
        return gathered

    # Facts

    def label(self, key: str) -> Coded:
        """Return the values of a label."""
        return self._coded(self._labels(key))

    def population(self, key: str) -> Scores:
        """Return how many nodes of the whole cluster have each value of a label, by code; at the end, none of them."""
        # The same array as long as no node gets another value.
        labels = self._labels(key)
        self._note(labels.journal)
        return labels.population()

    def rows_with(self, key: str, code: int) -> Rows:
        """Return the numbers of all rows of the table that have a code of a label, or none (-1)."""
        labels = self._labels(key)
        self._note(labels.journal)
        return labels.rows_with(code)

    def rows_with_each(self, key: str, codes: Codes) -> Rows:
        """Return the numbers of all rows of the table that have each of some codes of a label, code after code."""
        labels = self._labels(key)
        self._note(labels.journal)
        return labels.rows_with_each(codes)

    def _labels(self, key: str) -> CodedColumn:
        return self._table.facts.coded(("label", key), lambda node: node.metadata.labels.get(key))

    @property
    def taints(self) -> Coded:
        """The distinct sets of taints: each meaning is a tuple of `Taint`."""
        return self._coded(self._table.facts.coded("taints", _taints))

    def fact(self, key: Hashable, read: Callable[[Node], Any], dtype: DTypeLike = np.int64) -> NDArray[Any]:
        """Return a fact of your own: `read` runs once per node and again when the node changes."""
        return self._values(self._table.facts.fact(key, read, dtype))

    def column(self, name: str) -> NDArray[Any]:
        """Return a column that a plugin declared in its `columns`; raise if it could not be read off some node."""
        values = self._values(self._table.facts.declared(name))
        unread = np.flatnonzero(np.isnan(values))
        if unread.size:
            raise self._table.facts.why_unread(name, self.node(int(unread[0])))
        return values

    def coded(self, key: Hashable, read: Callable[[Node], Hashable | None]) -> Coded:
        """Return a fact that is not a number, as codes."""
        return self._coded(self._table.facts.coded(key, read))

    @property
    def images(self) -> Images:
        """Sizes and spread of the images over the whole cluster."""
        self._note(self._table.images.journal)
        return self._table.images

    def _coded(self, column: CodedColumn) -> Coded:
        return Coded(self._values(column), column.meanings, column.code_of)

    # Pods

    def count(self, counted: Counted) -> Scores:
        """Return how many pods of each node a rule counts (as `Counted.amount` adds up)."""
        counts = self._values(self._table.counts.count(counted))
        return counts if self._moves is None else counts + self._moves.sum_counted(counted)

    def sums(self, key: str, counted: Counted | CarriedTerm) -> DomainSums:
        """Return what a rule counts, or how many carry a term, in each domain of a label over the whole cluster.

        They are live; what is noted is whether there are any at all, and who looks further (`read_sums`,
        `has_any_near`) notes more. Nothing supposed is in them.
        """
        labels, column = self._labels(key), self._count_column(counted)
        self._note(labels.journal)
        sums = column.sums_by(key, labels)
        self._note(sums.existence)
        return sums

    def weighted_sums(self, parts: Sequence[tuple[int, DomainSums]]) -> WeightedSums:
        """Return sums over the domains of one label, each with its weight, added up."""
        return self._table.weighted_sums.find(parts)

    def read_sums(self, sums: LiveSums) -> Summed:
        """Return sums by code of the label's value; the last entry, which code -1 finds, is 0."""
        for log in sums.logs:
            self._note(log)
        return sums.read()

    def has_any_near(self, key: str, sums: DomainSums, change: Scores | None) -> Mask:
        """Say which rows have pods that were added up in their domain of the label, given what is supposed of them."""
        # What one pod more or less comes to depends on how many there are.
        self._note(sums.presence if change is None else sums.log)
        codes = self.label(key).codes
        found = sums.by_code.take(codes)
        return found > 0 if change is None else found + change * (codes >= 0) > 0

    def total(self, counted: Counted | CarriedTerm) -> int:
        """Return what a rule counts, or how many carry a term, in the whole cluster, nothing supposed."""
        column = self._count_column(counted)
        self._note(column.journal)
        return column.total

    def _count_column(self, counted: Counted | CarriedTerm) -> CountColumn:
        return counted.column if isinstance(counted, CarriedTerm) else self._table.counts.count(counted)

    def change_of(self, counted: Counted) -> Scores | None:
        """Return by how much each hypothetical row exceeds the real one under a rule; None when nothing is supposed."""
        return None if self._moves is None else self._moves.sum_counted(counted)

    def gone(self) -> list[list[Pod]] | None:
        """Return the pods supposed to be gone from each hypothetical row; None when nothing is supposed."""
        return None if self._moves is None else self._moves.gone()

    def holding(self, held: Held) -> Holding:
        """Return what the pods of all nodes hold under a rule, however few are given; nothing supposed is in it."""
        holding = self._table.holdings.find(held)
        self._note(holding.journal)
        return holding

    def change_of_holding(self, held: Held) -> dict[int, Counter[Hashable]]:
        """Return, by position, by how many pods more or less than in fact each thing is held on hypothetical rows."""
        return {} if self._moves is None else changes_of(self._moves, held)

    def terms(self, kind: TermKind, labels: Mapping[str, str]) -> list[CarriedTerm]:
        """Return the distinct terms carried by pods that may be about a pod with these labels; see `carriers(term)`."""
        self._note(self._table.terms.journal)
        return self._table.terms.about(kind, labels)

    def all_terms(self, kind: TermKind) -> list[CarriedTerm]:
        """Return every term of a kind that some known pod carries."""
        self._note(self._table.terms.journal)
        return [carried for carried in self._table.terms.all() if carried.kind == kind]

    def terms_of(self, pod: Pod) -> PodTerms:
        """Return the affinity terms of a pod, compiled once for all pods like it."""
        return self._table.shape_of(pod).own_terms

    def carriers(self, term: CarriedTerm) -> Scores:
        """Return how many pods of each node carry a term."""
        counts = self._values(term.column)
        return counts if self._moves is None else counts + self._moves.sum_carriers(term)

    def change_of_carriers(self, term: CarriedTerm) -> Scores | None:
        """Return how many carriers more each hypothetical row has than the real one; None when nothing is supposed."""
        return None if self._moves is None else self._moves.sum_carriers(term)

    # The rows that passed the filters (in pre_score)

    @property
    def feasible(self) -> Mask:
        """Which rows passed all filters; only `pre_score` is given this."""
        if self.feasible_rows is None or self.feasible_journal is None:
            raise AttributeError("nodes.feasible is known in pre_score only: filters have not finished before it")
        self._note(self.feasible_journal)
        feasible = self.feasible_rows.view()
        feasible.flags.writeable = False
        return feasible

    def fit_feasible(self, fresh: Rows | None) -> None:
        """Take over that nodes came or went."""
        self._feasible_counts.fit(len(self._table), fresh)

    def put_feasible(self, feasible: Mask) -> Rows | None:
        """Take over which rows are feasible now; return those that have become or ceased to be, None the first time."""
        self.feasible_rows = self.asked = feasible
        return self._feasible_counts.refresh(feasible)

    def feasible_population(self, key: str) -> Scores:
        """Return how many feasible rows have each value of a label, by code; at the end, how many have none."""
        labels = self._labels(key)
        self._note(labels.journal)
        if self.feasible_journal is not None:
            self._note(self.feasible_journal)
        return self._feasible_counts.by_label(labels)

    def _values(self, column: Column) -> NDArray[Any]:
        self._note(column.journal)
        if self.rows is None:
            return column.view
        gathered = self._gathered.get(column)
        if gathered is None:
            gathered = self._gathered[column] = column.view[self.rows]
            gathered.flags.writeable = False
        return gathered

    def _note(self, journal: Journal) -> None:
        self._table.reads.note(journal)


def _taints(node: Node) -> tuple[Taint, ...]:
    # When a taint was added differs from node to node and decides nothing.
    return tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in node.spec.taints)
