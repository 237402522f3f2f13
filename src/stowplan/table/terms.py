"""The (anti-)affinity terms that pods carry, interned, each with the count of its carriers per node.

A pod that is to be placed meets the terms of those already there: InterPodAffinity looks at the distinct terms that ask
for one of its labels, which are few, never at the pods. `plugins.interpodaffinity.domains` adds up what carries them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from weakref import WeakSet, WeakValueDictionary

from stowplan.model.affinity import Affinity, PodAffinity, PodAffinityTerm
from stowplan.model.label_syntax import aggregate
from stowplan.model.pod import Pod
from stowplan.model.selectors import Label, Selector, SelectorError, compile_label_selector
from stowplan.table.columns import CountColumn
from stowplan.table.journal import Journal

TermKind = Literal["affinity", "anti-affinity", "preferred"]
TermKey = tuple[TermKind, int, "AffinityTerm"]

FEW_BUCKETS = 256


class AffinityTerm:
    """One affinity term as compiled: which pods it is about, and over which topology."""

    __slots__ = ("_hash", "namespace_selector", "namespaces", "selector", "topology_key")

    def __init__(self, term: PodAffinityTerm, namespace: str) -> None:
        self.topology_key = term.topology_key
        self.selector: Selector = compile_label_selector(term.label_selector)
        self.namespace_selector: Selector = compile_label_selector(term.namespace_selector)
        own = not term.namespaces and term.namespace_selector is None
        self.namespaces = frozenset((namespace,)) if own else frozenset(term.namespaces)
        self._hash = hash(self._identity())

    def matches(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """Say whether the term is about `pod`, whose namespace has these labels."""
        is_named = pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return is_named and self.selector.matches(pod.metadata.labels)

    def _identity(self) -> tuple[object, ...]:
        return (self.topology_key, self.namespaces, self.namespace_selector, self.selector)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffinityTerm) and self._identity() == other._identity()


@dataclass(slots=True, weakref_slot=True, eq=False)
class CarriedTerm:
    """A term together with how it is carried; `column` counts, per node, the pods that carry it."""

    kind: TermKind
    weight: int
    term: AffinityTerm
    column: CountColumn

    @property
    def is_used(self) -> bool:
        """Whether a placed pod carries it."""
        return self.column.total > 0


class _CarriedBy:
    """The rule of a carried term's column; it counts nothing, `Table.add_pod` feeds the column by shape."""

    def amount(self, pod: Pod) -> int:
        return 0


class TermBook:
    """All terms that some known pod carries. `journal` moves when a term comes into use or leaves it."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._terms: WeakValueDictionary[TermKey, CarriedTerm] = WeakValueDictionary()
        # By a label that the pods it is about must have, or None: a pod finds the terms about it by its own labels.
        self._about: dict[tuple[TermKind, Label | None], WeakSet[CarriedTerm]] = {}

    def carried(self, written: PodTerms, capacity: int, rows: int) -> tuple[CarriedTerm, ...]:
        """Return the terms that a pod carries, interned."""
        return tuple(self._intern(kind, weight, term, (capacity, rows)) for kind, weight, term in written.terms)

    def about(self, kind: TermKind, labels: Mapping[str, str]) -> list[CarriedTerm]:
        """Return every term of a kind that may be about a pod with these labels, used or only known."""
        found: list[CarriedTerm] = []
        for label in (None, *labels.items()):
            bucket = self._about.get((kind, label))
            if bucket is not None:
                found.extend(bucket)
        return found

    def fit(self, capacity: int, rows: int) -> None:
        for carried in self._terms.values():
            carried.column.fit(capacity, rows)

    def all(self) -> list[CarriedTerm]:
        return list(self._terms.values())

    def _intern(self, kind: TermKind, weight: int, term: AffinityTerm, size: tuple[int, int]) -> CarriedTerm:
        key = (kind, weight, term)
        known = self._terms.get(key)
        if known is None:
            column = CountColumn(_CarriedBy(), size[0])
            column.fit(*size)
            known = self._terms[key] = CarriedTerm(kind, weight, term, column)
            self._index(known)
        return known

    def _index(self, carried: CarriedTerm) -> None:
        if carried.term.selector.is_nothing:
            return
        if len(self._about) > FEW_BUCKETS + 4 * len(self._terms):
            self._about = {key: bucket for key, bucket in self._about.items() if bucket}
        needed: list[tuple[Label | None, ...]] = [*carried.term.selector.needed_labels()] or [(None,)]
        # The rarest label keeps apart best.
        for label in min(needed, key=lambda labels: self._crowding(carried.kind, labels)):
            self._about.setdefault((carried.kind, label), WeakSet()).add(carried)

    def _crowding(self, kind: TermKind, labels: Iterable[Label | None]) -> int:
        return sum(len(self._about.get((kind, label), ())) for label in labels)


class PodTerms(NamedTuple):
    """Every term of a pod as (kind, signed weight, term), and what is wrong with those that do not parse, if any."""

    terms: tuple[TermKey, ...] = ()
    problem: str = ""


NO_TERMS: Final = PodTerms()
NO_AFFINITY: Final = PodAffinity()


def terms_of(pod: Pod) -> PodTerms:
    """Compile the terms of a pod; a selector that does not parse voids the list that it is in, as upstream."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    terms: list[TermKey] = []
    problems: list[str] = []
    for field, kind, weighted in _lists(affinity):
        try:
            terms += [(kind, weight, AffinityTerm(term, pod.namespace)) for weight, term in weighted]
        except SelectorError as error:
            problems.append(f"{field}: {error}")
    return PodTerms(tuple(terms), aggregate(tuple(problems)) if problems else "")


def _lists(affinity: Affinity) -> Iterator[tuple[str, TermKind, list[tuple[int, PodAffinityTerm]]]]:
    """Yield the four lists of terms, by the names that errors use."""
    near, away = affinity.pod_affinity or NO_AFFINITY, affinity.pod_anti_affinity or NO_AFFINITY
    yield "requiredAffinityTerms", "affinity", _required(near)
    yield "requiredAntiAffinityTerms", "anti-affinity", _required(away)
    yield "preferredAffinityTerms", "preferred", _preferred(near, 1)
    yield "preferredAntiAffinityTerms", "preferred", _preferred(away, -1)


def _required(affinity: PodAffinity) -> list[tuple[int, PodAffinityTerm]]:
    return [(1, term) for term in affinity.required_during_scheduling_ignored_during_execution]


def _preferred(affinity: PodAffinity, sign: int) -> list[tuple[int, PodAffinityTerm]]:
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    return [(sign * weighted.weight, weighted.pod_affinity_term) for weighted in preferred]
