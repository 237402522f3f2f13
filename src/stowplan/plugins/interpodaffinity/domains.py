"""What pods add up to in each topology domain: all nodes that share the value of a label; and which pods count.

Sums are taken over the whole cluster once; a row then looks up the sum of its own domain. A hypothetical row is a world
of its own: what is supposed of it changes the sum of its domain for that row alone. `PodsByNode` takes every node for a
domain of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from stowplan.model.kinds import Namespace
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector
from stowplan.table.columns import Mask, Scores
from stowplan.table.domain_sums import DomainSums, Summed, WeightedSums
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
    """Some pods by the domains of one topology key, each kind with its weight: live, whatever pods come and go."""

    __slots__ = ("_sums", "_weighted", "key", "outline", "parts")

    def __init__(self, nodes: Nodes, key: str, parts: list[tuple[int, CountedPods]]) -> None:
        self.key = key
        self.parts = parts
        self._sums = [nodes.sums(key, counted) for _, counted in parts]
        self._weighted: DomainSums | WeightedSums | None = self._sums[0] if len(parts) == 1 == parts[0][0] else None
        #: Those that have it in common have the same answers, at any time.
        self.outline = (key, [(sums, sums.settled_at) for sums in self._sums])

    def total(self, nodes: Nodes) -> int:
        """Return how many there are in all domains."""
        return sum([sums.total for sums in self._sums])

    def has_any(self, nodes: Nodes) -> Mask:
        """Say which rows have any of the pods in their domain."""
        near = [
            nodes.has_any_near(self.key, sums, change_of(nodes, counted))
            for (_, counted), sums in zip(self.parts, self._sums, strict=True)
        ]
        return np.logical_or.reduce(near) if len(near) > 1 else near[0]

    def has_any_at(self, row: int, nodes: Nodes) -> bool:
        """Say it of one of all rows."""
        return any([sums.at(row) > 0 for sums in self._sums])

    def summed(self, nodes: Nodes) -> Summed:
        """Return the weighted sums by code of the label's value."""
        if self._weighted is None:
            weights = [weight for weight, _ in self.parts]
            self._weighted = nodes.weighted_sums(list(zip(weights, self._sums, strict=True)))
        return nodes.read_sums(self._weighted)

    def at_rows(self, nodes: Nodes) -> Scores:
        """Return the weighted sum of each row's domain; 0 for a row without the label."""
        codes = nodes.label(self.key).codes
        sums: Scores = self.summed(nodes).by_code.take(codes)
        for weight, counted in self.parts:
            change = change_of(nodes, counted)
            if change is None:
                break
            sums += weight * change * (codes >= 0)
        return sums


class PodsByNode:
    """The pods of each node that has a label, whatever other nodes have the same value of it."""

    __slots__ = ("key", "outline", "parts")

    def __init__(self, key: str, parts: list[tuple[int, CountedPods]]) -> None:
        self.key = key
        self.parts = parts
        self.outline = (key, parts)

    def total(self, nodes: Nodes) -> int:
        """Return how many there are in all, also on nodes without the label."""
        return sum([nodes.total(counted) for _, counted in self.parts])

    def has_any(self, nodes: Nodes) -> Mask:
        """Say which rows have the label and any of the pods."""
        found = np.logical_or.reduce([_count(nodes, counted) > 0 for _, counted in self.parts])
        has_any: Mask = found & (nodes.label(self.key).codes >= 0)
        return has_any

    def has_any_at(self, row: int, nodes: Nodes) -> bool:
        """Say it of one of all rows."""
        found = [_count(nodes, counted).item(row) for _, counted in self.parts]
        return any(found) and nodes.label(self.key).codes.item(row) >= 0


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
