"""Which of many things each node can reach: the first by rank, found by look-up instead of one mask per thing.

Thousands of volumes that each live on one node, or of reports of free space that are each about one, differ in the
value of one label. They are put in order by that value once, and found by the value that a row has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stowplan.model import selectors
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm
from stowplan.model.selectors import Requirement
from stowplan.table import node_match
from stowplan.table.columns import MISSING, Mask
from stowplan.table.nodes import Nodes

#: The rank of one thing by row.
Ranks = NDArray[np.int64]

#: The rank where there is none; larger than any.
NOTHING: Final = 2**63 - 1

_EQUALITY: Final = (selectors.IN, selectors.EQUALS, selectors.DOUBLE_EQUALS)


class Reach:
    """Things by rank, each with the selector that a node must meet; None is met by all."""

    def __init__(self, wanted: Sequence[CompiledNodeSelector | None]) -> None:
        variety = _variety(filter(None, wanted))
        sorts: dict[tuple[str, CompiledNodeSelector | None], list[tuple[str, int]]] = {}
        for rank, selector in enumerate(wanted):
            key, values, rest = _split(selector, variety)
            sorts.setdefault((key, rest), []).extend((value, rank) for value in values)
        self._bundles = [_Bundle(key, rest, pairs) for (key, rest), pairs in sorts.items()]

    def first(self, nodes: Nodes, among: Mask, taken: Sequence[Ranks] = ()) -> Ranks:
        """Return, for every row, the first of some things that it can reach and that is not taken there already."""
        found = nothing(len(nodes))
        for bundle in self._bundles:
            bundle.lower(found, nodes, among, taken)
        return found


def nothing(rows: int) -> Ranks:
    """Return that no row reaches anything."""
    return np.full(rows, NOTHING)


class _Bundle:
    """Things that differ in the value of one label: by value, those that a node with it reaches if it meets the rest.

    Without a key there is one value, which every node has.
    """

    __slots__ = ("_by_code", "_code_of", "_key", "_number_of", "_numbers", "_ranks", "_rest")

    def __init__(self, key: str, rest: CompiledNodeSelector | None, pairs: Iterable[tuple[str, int]]) -> None:
        self._key = key
        self._rest = rest
        ordered = sorted(pairs)
        self._number_of = {value: number for number, value in enumerate(dict.fromkeys(value for value, _ in ordered))}
        self._numbers = np.array([self._number_of[value] for value, _ in ordered], dtype=np.int64)
        self._ranks = np.array([rank for _, rank in ordered], dtype=np.int64)
        # The number of each code of the label, as long as the codes mean the same.
        self._code_of: Mapping[str, int] = {}
        self._by_code = np.full(1, MISSING)

    def lower(self, found: Ranks, nodes: Nodes, among: Mask, taken: Sequence[Ranks]) -> None:
        """Put in the ranks that are lower than what has been found."""
        is_in = among[self._ranks]
        ranks = self._ranks[is_in]
        if not len(ranks):
            return
        # One more than there are numbers: the last is that of rows that have none of the values.
        counts = np.bincount(self._numbers[is_in], minlength=len(self._number_of) + 1)
        numbers = self._numbers_of(nodes)
        counts_by_row, starts_by_row = counts.take(numbers), (np.cumsum(counts) - counts).take(numbers)
        if self._rest is not None:
            counts_by_row = np.where(node_match.selected(self._rest, nodes), counts_by_row, 0)
        # Of one more than are taken, one is free.
        for step in range(min(len(taken) + 1, int(counts_by_row.max(initial=0)))):
            candidates = np.where(counts_by_row > step, ranks.take(starts_by_row + step, mode="clip"), NOTHING)
            for others in taken:
                candidates[candidates == others] = NOTHING
            np.minimum(found, candidates, out=found)

    def _numbers_of(self, nodes: Nodes) -> Ranks:
        if not self._key:
            return np.zeros(len(nodes), dtype=np.int64)
        label = nodes.label(self._key)
        if label.code_of is not self._code_of or len(label.meanings) + 1 != len(self._by_code):
            self._by_code = np.full(len(label.meanings) + 1, MISSING)
            for value, number in self._number_of.items():
                code = label.code_of.get(value)
                if code is not None:
                    self._by_code[code] = number
            self._code_of = label.code_of
        return self._by_code.take(label.codes)


def _variety(wanted: Iterable[CompiledNodeSelector]) -> Counter[str]:
    """Count the distinct values by which the things that ask for certain values of a label differ."""
    values = {
        (requirement.key, value) for each in wanted for requirement in _by_value(each) for value in requirement.values
    }
    return Counter(key for key, _ in values)


def _split(
    selector: CompiledNodeSelector | None, variety: Counter[str]
) -> tuple[str, tuple[str, ...], CompiledNodeSelector | None]:
    """Return a label, the values of it of which a node must have one, and what else it must be like."""
    by_value = _by_value(selector) if selector is not None else []
    if selector is None or not by_value:
        return "", ("",), selector
    telling = max(by_value, key=lambda requirement: variety[requirement.key])
    rest = tuple(requirement for requirement in selector.terms[0].labels if requirement is not telling)
    values = tuple(dict.fromkeys(telling.values))
    return telling.key, values, CompiledNodeSelector((CompiledTerm(labels=rest),)) if rest else None


def _by_value(selector: CompiledNodeSelector) -> list[Requirement]:
    if len(selector.terms) != 1:
        return []
    return [requirement for requirement in selector.terms[0].labels if requirement.operator in _EQUALITY]
