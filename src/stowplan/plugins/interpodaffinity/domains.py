"""What pods add up to in each topology domain: all nodes that share the value of a label; and which pods count.

Sums are taken over the whole cluster; a row then looks up the sum of its own domain. Filters want to know whether there
is a pod at all (`PodsByDomain`, and `PodsByNode`, which takes every node for a domain of its own), scores what their
weights add up to (`WeightsByDomain`). A hypothetical row is a world of its own: what is supposed of it changes the sum
of its domain for that row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from stowplan.model.kinds import Namespace
from stowplan.model.pod import Pod
from stowplan.model.selectors import Label, Selector
from stowplan.table.columns import Mask, Scores
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

    def needed_labels(self) -> list[tuple[Label, ...]]:
        return [labels for _, selector in self.selections for labels in selector.needed_labels()]

    def matches(self, pod: Pod) -> bool:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        for namespaces, selector in self.selections:
            if (namespaces is not None and namespace not in namespaces) or not selector.matches(labels):
                return False
        return True


#: Pods that are counted: those that a rule matches, or those that carry a term.
CountedPods = MatchedPods | CarriedTerm


class PodsByDomain:
    """Where some pods are, by the domains of one topology key: live, whatever pods come and go."""

    __slots__ = ("_counted", "_sums", "key", "outline")

    def __init__(self, nodes: Nodes, key: str, counted: list[CountedPods]) -> None:
        self.key = key
        self._counted = counted
        self._sums = [nodes.sums(key, one) for one in counted]
        #: Those that have it in common have the same answers, at any time.
        self.outline = (key, [(sums, sums.settled_at) for sums in self._sums])

    def total(self, nodes: Nodes) -> int:
        """Return how many there are in all domains."""
        return sum([sums.total for sums in self._sums])

    def may_refuse(self, nodes: Nodes) -> bool:
        """Say whether there are any."""
        return self.total(nodes) > 0

    def has_any(self, nodes: Nodes) -> Mask:
        """Say which rows have any of the pods in their domain."""
        pairs = zip(self._counted, self._sums, strict=True)
        near = [nodes.has_any_near(self.key, sums, change_of(nodes, counted)) for counted, sums in pairs]
        return np.logical_or.reduce(near) if len(near) > 1 else near[0]

    def has_any_at(self, row: int, nodes: Nodes) -> bool:
        """Say it of one of all rows."""
        return any(sums.at(row) > 0 for sums in self._sums)


class PodsByNode:
    """Which nodes that have a label have some pods, whatever other nodes have the same value of it."""

    __slots__ = ("_counted", "key", "outline")

    def __init__(self, key: str, counted: list[CountedPods]) -> None:
        self.key = key
        self._counted = counted
        self.outline = (key, counted)

    def total(self, nodes: Nodes) -> int:
        """Return how many there are in all, also on nodes without the label."""
        return sum([nodes.total(counted) for counted in self._counted])

    def may_refuse(self, nodes: Nodes) -> bool:
        """Say that there may be some: it is found out on the node itself."""
        return True

    def has_any(self, nodes: Nodes) -> Mask:
        """Say which rows have the label and any of the pods."""
        found = np.logical_or.reduce([_count(nodes, counted) > 0 for counted in self._counted])
        has_any: Mask = found & (nodes.label(self.key).codes >= 0)
        return has_any

    def has_any_at(self, row: int, nodes: Nodes) -> bool:
        """Say it of one of all rows."""
        is_there = any(_count(nodes, counted).item(row) for counted in self._counted)
        return is_there and nodes.label(self.key).codes.item(row) >= 0


Domains = PodsByDomain | PodsByNode


def by_key_or_node(nodes: Nodes, pods: list[tuple[str, CountedPods]], node_key: str) -> tuple[Domains, ...]:
    """Look at pods by topology key, at those of one key (none if it is empty) node by node."""
    by_key: dict[str, list[CountedPods]] = {}
    for key, counted in pods:
        by_key.setdefault(key, []).append(counted)
    each = by_key.items()
    return tuple([PodsByNode(*one) if one[0] == node_key else PodsByDomain(nodes, *one) for one in each])


#: A topology key, the weight of each pod there, and which pods.
Weighted = tuple[str, int, CountedPods]


class WeightsByDomain:
    """What the weights of some pods add up to in the domains of one topology key: live, whatever pods come and go."""

    __slots__ = ("_parts", "has_pods", "key", "sums")

    def __init__(self, nodes: Nodes, key: str, parts: list[tuple[int, CountedPods]]) -> None:
        self.key = key
        self._parts = parts
        weighed = [(weight, nodes.sums(key, counted)) for weight, counted in parts]
        #: Even if the weights add up to nothing.
        self.has_pods = any(sums.total for _, sums in weighed)
        #: By code of the label's value.
        self.sums = weighed[0][1] if len(parts) == 1 == parts[0][0] else nodes.weighted_sums(weighed)

    def at_rows(self, nodes: Nodes) -> Scores:
        """Return the sum of each row's domain; 0 for a row without the label."""
        codes = nodes.label(self.key).codes
        sums: Scores = nodes.read_sums(self.sums).by_code.take(codes)
        for weight, counted in self._parts:
            change = change_of(nodes, counted)
            if change is None:
                break
            sums += weight * change * (codes >= 0)
        return sums


def by_key(nodes: Nodes, weighted: list[Weighted]) -> tuple[WeightsByDomain, ...]:
    """Add up the weights of pods by topology key."""
    parts: dict[str, list[tuple[int, CountedPods]]] = {}
    for key, weight, counted in weighted:
        parts.setdefault(key, []).append((weight, counted))
    return tuple([WeightsByDomain(nodes, *one) for one in parts.items()])


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
