"""The count columns: how many pods of each node a rule counts, kept up to date as pods come and go.

A shape remembers which columns it adds to, and how much, so a pod costs as much as the columns it matches, not as all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from stowplan.model.namespace import Namespace
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector
from stowplan.table.columns import CountColumn, Counted, Uses
from stowplan.table.shape import PodShape
from stowplan.table.terms import Term


class Counts:
    """Count columns by rule, over the shapes of the pods that are placed."""

    def __init__(self, shapes: Mapping[bytes, PodShape], capacity: int) -> None:
        #: In the order in which they were built; `PodShape.deltas_upto` counts in it.
        self.columns: list[CountColumn] = []
        self._by_rule: dict[Counted, CountColumn] = {}
        self._generation = 1
        self._shapes = shapes
        self._size = (capacity, 0)
        self._uses = Uses()

    def fit(self, capacity: int, rows: int) -> None:
        """Make room for `capacity` rows and show the first `rows` of them."""
        self._size = (capacity, rows)
        for column in self.columns:
            column.fit(capacity, rows)

    def count(self, counted: Counted) -> CountColumn:
        """Return the column of a rule, building it from the placed pods the first time it is asked for."""
        column = self._by_rule.get(counted)
        if column is None:
            column = self._build(counted)
        return self._uses.note(column)

    def deltas(self, shape: PodShape) -> list[tuple[CountColumn, int]]:
        """Return the columns that a pod of this shape adds to, and how much."""
        upto = (self._generation, len(self.columns))
        if shape.deltas_upto != upto:
            if shape.deltas_upto[0] != self._generation:
                shape.deltas, shape.deltas_upto = [], (self._generation, 0)
            fresh = self.columns[shape.deltas_upto[1] :]
            amounts = ((column, column.counted.amount(shape.pod)) for column in fresh)
            shape.deltas += [(column, amount) for column, amount in amounts if amount]
            shape.deltas_upto = upto
        return shape.deltas

    def _build(self, counted: Counted) -> CountColumn:
        self._drop_unused()
        column = self._by_rule[counted] = CountColumn(counted, self._size[0])
        column.fit(*self._size)
        self.columns.append(column)
        for shape in list(self._shapes.values()):
            amount = counted.amount(shape.pod) if shape.rows else 0
            if amount:
                for row, pods in shape.rows.items():
                    column.add(row, amount * pods)
        return column

    def _drop_unused(self) -> None:
        unused = self._uses.least(self._by_rule)
        if unused:
            for counted in unused:
                # Whoever keeps an answer built on it must ask again, and will get a column that is kept up to date.
                self._by_rule.pop(counted).journal.mark_all()
            self.columns = list(self._by_rule.values())
            self._generation += 1


#: In which namespaces (None: in all) pods with which labels are selected.
Selection = tuple[frozenset[str] | None, Selector]


@dataclass(frozen=True, slots=True)
class MatchedPods:
    """Counts a pod that every one of the selections selects."""

    selections: tuple[Selection, ...]

    def amount(self, pod: Pod) -> int:
        return int(self.matches(pod))

    def matches(self, pod: Pod) -> bool:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        return all(
            (namespaces is None or namespace in namespaces) and selector.matches(labels)
            for namespaces, selector in self.selections
        )


def selection(term: Term, list_namespaces: Callable[[], Iterable[Namespace]]) -> Selection:
    """Resolve the namespaces of a term among those known; one that holds without labels takes them all.

    kube-scheduler 1.36 asks the selector about a pod's namespace as well, and as if that had no labels: one that only
    says what must not be there (NotIn, DoesNotExist) takes every namespace, whatever its labels, like an empty one.
    """
    wanted = term.namespace_selector
    if wanted.matches({}):
        return None, term.selector
    if wanted.is_nothing:
        return term.namespaces, term.selector
    selected = (namespace.name for namespace in list_namespaces() if wanted.matches(namespace.labels))
    return term.namespaces.union(selected), term.selector
