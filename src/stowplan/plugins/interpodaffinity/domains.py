"""What pods add up to in each topology domain: all nodes that share the value of a label; and which pods count.

Sums are taken over the whole cluster once; a row then looks up the sum of its own domain. A hypothetical row is a world
of its own: what is supposed of it changes the sum of its domain for that row alone. `PodsByNode` takes every node for a
domain of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stowplan.model.kinds import Namespace
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector
from stowplan.table.columns import NO_ROWS, Rows, Scores, Summed
from stowplan.table.nodes import Nodes
from stowplan.table.terms import AffinityTerm, CarriedTerm

#: In which namespaces (None: in all) pods with which labels are selected.
PodSelection = tuple[frozenset[str] | None, Selector]


@dataclass(frozen=True, slots=True)
class MatchedPods:
    """Counts a pod that every one of the selections selects."""

    selections: tuple[PodSelection, ...]

    def amount(self, pod: Pod) -> int:
        return int(self.matches(pod))

    def matches(self, pod: Pod) -> bool:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        for namespaces, selector in self.selections:
            if (namespaces is not None and namespace not in namespaces) or not selector.matches(labels):
                return False
        return True


#: Pods that are counted: those that a rule matches, or those that carry a term.
CountedPods = MatchedPods | CarriedTerm
#: A topology key, the weight of each pod there, and which pods.
Weighted = tuple[str, int, CountedPods]


class PodsByDomain:
    """The weighted sums of some pods over the domains of one topology key."""

    __slots__ = ("_trail", "key", "outline", "parts", "sums")

    def __init__(self, nodes: Nodes, key: str, parts: list[tuple[int, CountedPods]]) -> None:
        self.key = key
        self.parts = parts
        #: By code of the label's value; the last entry, which code -1 finds, is for nodes without the label.
        self.sums, self._trail = _sums(nodes, key, parts)
        #: What two of them must have in common to be compared domain by domain.
        self.outline = (key, len(self.sums))

    def total(self, nodes: Nodes) -> int:
        """Return the sum over all domains."""
        return int(self.sums.sum())

    def may_refuse(self, nodes: Nodes) -> bool:
        """Say whether there are any of the pods where the label is."""
        return bool(self.sums.any())

    def at_rows(self, nodes: Nodes) -> Scores:
        """Return the sum of each row's domain; 0 for a row without the label."""
        codes = nodes.label(self.key).codes
        sums: Scores = self.sums.take(codes)
        for weight, counted in self.parts:
            change = change_of(nodes, counted)
            if change is None:
                break
            sums += weight * change * (codes >= 0)
        return sums

    def where_others_are(self, before: Any, nodes: Nodes) -> Rows:
        """Return the rows in whose domain there are pods where there were none before, or the other way round.

        `before` has the same outline.
        """
        if self.sums is before.sums:
            return NO_ROWS
        now, then = self.sums, before.sums
        others = [code for code in self._changed(before) if (now.item(code) > 0) != (then.item(code) > 0)]
        return nodes.rows_with(self.key, others) if others else NO_ROWS

    def _changed(self, before: PodsByDomain) -> Iterable[int]:
        """Return the codes whose sum may be another than before: the sums say so themselves, if there is one kind."""
        now, then = self._trail, before._trail
        if now is not None and then is not None and now.journal is then.journal:
            marks = now.journal.since(min(now.position, then.position))
            if marks is not None:
                return set(marks)
        changed: list[int] = np.flatnonzero(self.sums[:-1] != before.sums[:-1]).tolist()
        return changed

    def has_pods(self, nodes: Nodes) -> bool:
        """Say whether any of the pods is on a node with the label, even if the weights add up to nothing."""
        if self.sums.any():
            return True
        has_label = nodes.label(self.key).codes >= 0
        return any(_count(nodes, counted)[has_label].any() for _, counted in self.parts)


class PodsByNode:
    """The pods of each node that has a label, whatever other nodes have the same value of it."""

    __slots__ = ("key", "outline", "parts")

    def __init__(self, key: str, parts: list[tuple[int, CountedPods]]) -> None:
        self.key = key
        self.parts = parts
        #: No sums by domain have no entry, so they are compared with their like only.
        self.outline = (key, 0)

    def total(self, nodes: Nodes) -> int:
        """Return how many there are in all, also on nodes without the label."""
        return int(sum(_count(nodes, counted).sum() for _, counted in self.parts))

    def may_refuse(self, nodes: Nodes) -> bool:
        """Say that there may be some: it is found out on the node itself."""
        return True

    def at_rows(self, nodes: Nodes) -> Scores:
        """Return how many there are on each row; 0 for a row without the label."""
        found = sum((_count(nodes, counted) for _, counted in self.parts), np.zeros(len(nodes), dtype=np.int64))
        return found * (nodes.label(self.key).codes >= 0)

    def where_others_are(self, before: Any, nodes: Nodes) -> Rows:
        """Return the rows where there are pods of other kinds than before.

        Pods that came or went meanwhile are of no concern: the filter reads who is there.
        """
        if self.parts == before.parts:
            return NO_ROWS
        return np.flatnonzero((self.at_rows(nodes) > 0) != (before.at_rows(nodes) > 0))


Domains = PodsByDomain | PodsByNode


def by_key(nodes: Nodes, weighted: list[Weighted]) -> tuple[PodsByDomain, ...]:
    """Add up the pods by topology key: one `PodsByDomain` for each."""
    return tuple([PodsByDomain(nodes, *one) for one in _parts(weighted)]) if weighted else ()


def by_key_or_node(nodes: Nodes, weighted: list[Weighted], node_key: str) -> tuple[Domains, ...]:
    """Add up the pods by topology key, those of one key (none if it is empty) node by node."""
    if not weighted:
        return ()
    return tuple([PodsByNode(*one) if one[0] == node_key else PodsByDomain(nodes, *one) for one in _parts(weighted)])


def _parts(weighted: list[Weighted]) -> Iterable[tuple[str, list[tuple[int, CountedPods]]]]:
    parts: dict[str, list[tuple[int, CountedPods]]] = {}
    for key, weight, counted in weighted:
        parts.setdefault(key, []).append((weight, counted))
    return parts.items()


def change_of(nodes: Nodes, counted: CountedPods) -> Scores | None:
    """Return by how much each hypothetical row differs from the real one; None when nothing is supposed."""
    return nodes.change_of_carriers(counted) if isinstance(counted, CarriedTerm) else nodes.change_of(counted)


def _sums(nodes: Nodes, key: str, parts: list[tuple[int, CountedPods]]) -> tuple[Scores, Summed | None]:
    """Return the weighted sums, and the counts themselves if they are that."""
    # The journal of terms tells when one comes into use, so the column of one that is not need not be read.
    used = [part for part in parts if not isinstance(part[1], CarriedTerm) or part[1].is_used]
    if not used:
        return np.zeros(len(nodes.label(key).meanings) + 1, dtype=np.int64), None
    (weight, counted), *others = used
    summed = nodes.sums(key, counted)
    if weight == 1 and not others:
        return summed.by_code, summed
    sums = summed.by_code * weight
    for weight, counted in others:
        sums = sums + nodes.sums(key, counted).by_code * weight
    return sums, None


def _count(nodes: Nodes, counted: CountedPods) -> Scores:
    return nodes.carriers(counted) if isinstance(counted, CarriedTerm) else nodes.count(counted)


def selection(term: AffinityTerm, list_namespaces: Callable[[], Iterable[Namespace]], *, by_name: bool) -> PodSelection:
    """Resolve the namespaces of a term among those known; an empty selector takes them all.

    `by_name`: those that were found are all that count. kube-scheduler 1.36 asks the selector about a pod's namespace
    as well, and as if that had no labels: one that only says what must not be there (NotIn, DoesNotExist) takes every
    namespace, whatever its labels, like an empty one.
    """
    wanted = term.namespace_selector
    if wanted.is_nothing:
        return term.namespaces, term.selector
    if wanted.is_everything or (not by_name and wanted.matches({})):
        return None, term.selector
    selected = (namespace.name for namespace in list_namespaces() if wanted.matches(namespace.labels))
    return term.namespaces.union(selected), term.selector
