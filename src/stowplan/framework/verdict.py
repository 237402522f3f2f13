"""What plugins say about nodes, as data: rejections, and the verdict of a whole attempt with upstream's words.

A `Verdict` answers "which node was rejected by whom, and why" by row; `fit_error` is the sentence that users see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from stowplan.framework import html_text
from stowplan.table.columns import Mask


class Code(Enum):
    """How a plugin says no. Preemption may help `UNSCHEDULABLE`, never `UNRESOLVABLE`; `ERROR` is a fault."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    PENDING = "Pending"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Rejection:
    """One plugin's no, about a pod or about a pod on a node. The framework fills in `plugin`."""

    reasons: tuple[str, ...]
    code: Code = Code.UNSCHEDULABLE
    plugin: str = ""


class WordedError(Exception):
    """A plugin cannot answer, for a reason that upstream has words for: users are told these, and not who raised it."""


Words = NDArray[np.int32]


class Vocabulary:
    """The distinct rejections of one evaluation, numbered from 1; 0 means "not rejected"."""

    def __init__(self) -> None:
        self._number_of: dict[Rejection, int] = {}
        self.rejections: list[Rejection | None] = [None]

    def number(self, rejection: Rejection) -> int:
        known = self._number_of.get(rejection)
        if known is None:
            known = self._number_of[rejection] = len(self.rejections)
            self.rejections.append(rejection)
        return known

    def __getitem__(self, number: int) -> Rejection:
        rejection = self.rejections[number]
        if rejection is None:
            raise KeyError("word 0 is no rejection")
        return rejection


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the filters decided about every row, or PreFilter about the pod as a whole."""

    words: Words
    vocabulary: Vocabulary
    names: Sequence[str]
    evaluated: Mask | None = None
    pre_filter: Rejection | None = None
    narrowed_to: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()
    skipped: frozenset[str] = field(default_factory=frozenset)
    #: The plugins that PreFilter got to before it was over.
    prepared: frozenset[str] = frozenset()
    #: What extenders said of nodes that nobody else knows; upstream counts it.
    strangers: tuple[Rejection, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Verdict({self.fit_error()!r})" if not self.feasible.any() else f"Verdict({self.feasible.sum()} feasible)"
        )

    def _repr_html_(self) -> str:
        said = np.bincount(self.words, minlength=len(self.vocabulary.rejections)).tolist()
        rows = [
            (rejection.plugin, ", ".join(rejection.reasons), nodes)
            for rejection, nodes in zip(self.vocabulary.rejections, said, strict=True)
            if rejection is not None and nodes
        ]
        if self.pre_filter is not None:
            rows = [(self.pre_filter.plugin, ", ".join(self.pre_filter.reasons), len(self.names))]
        elif self.evaluated is not None and not self.evaluated.all():
            absent = int(np.count_nonzero(~self.evaluated))
            rows.append((", ".join(sorted(self.narrowed_by)), "node(s) didn't satisfy plugin(s)", absent))
        rows += [(rejection.plugin, ", ".join(rejection.reasons), 1) for rejection in self.strangers]
        title = html_text.line(f"{np.count_nonzero(self.feasible)} of {len(self.names)} nodes are feasible")
        return title + html_text.table(("plugin", "reason", "nodes"), rows, len(rows)) if rows else title

    @property
    def feasible(self) -> Mask:
        """Which rows nobody rejected."""
        if self.pre_filter is not None:
            return np.zeros(len(self.words), dtype=bool)
        passed: Mask = self.words == 0
        return passed if self.evaluated is None else passed & self.evaluated

    def within(self, rows: Mask) -> Verdict:
        """Return what was decided about some of the rows, as if there were no others."""
        names = [self.names[row] for row in np.flatnonzero(rows).tolist()]
        evaluated = None if self.evaluated is None else self.evaluated[rows]
        return replace(self, words=self.words[rows], names=names, evaluated=evaluated)

    def after_nominated(self, row: int, word: int) -> Verdict:
        """Return the verdict of an attempt that asked about one row before it turned to those that PreFilter left.

        `word` is what was said of a row that is not among these. Who refuses the row is told as one of those who
        narrowed, as upstream does.
        """
        words, evaluated = self.words, self.evaluated
        if word and evaluated is not None:
            words, evaluated = words.copy(), evaluated.copy()
            words[row], evaluated[row] = word, True
        said = self.vocabulary.rejections[int(words[row])]
        by = self.narrowed_by if said is None or said.plugin in self.narrowed_by else (*self.narrowed_by, said.plugin)
        return replace(self, words=words, evaluated=evaluated, narrowed_by=by)

    def rejection(self, row: int) -> Rejection | None:
        """Return the first rejection of a row, None if it is feasible or was not evaluated."""
        return self.vocabulary.rejections[int(self.words[row])]

    @property
    def rejected(self) -> dict[str, Rejection]:
        """Every evaluated node that was rejected, with its first rejection."""
        rows = np.flatnonzero(self.words).tolist()
        return {self.names[row]: self.vocabulary[int(self.words[row])] for row in rows}

    def unschedulable_plugins(self) -> frozenset[str]:
        """Return the plugins that rejected the pod or a node; an event they wait for brings the pod back."""
        found = frozenset(rejection.plugin for rejection in self.said() if rejection.plugin)
        # Whoever refused the pod for good is the only one; that no node is left is the word of all who narrowed.
        refused = self.pre_filter
        is_refused_by_one = refused is not None and refused.plugin and refused.code is not Code.UNSCHEDULABLE
        return found if is_refused_by_one else found | frozenset(self.narrowed_by)

    def said(self) -> list[Rejection]:
        """Return the rejection of the pod as a whole, or those of nodes, each once."""
        if self.pre_filter is not None:
            return [self.pre_filter]
        # The vocabulary is older than this verdict, and may have words that nobody says any more.
        used = np.flatnonzero(np.bincount(self.words)).tolist()
        return [self.vocabulary[number] for number in used if number]

    def fit_error(self) -> str:
        """Return the sentence of the FailedScheduling event, before PostFilter adds its own."""
        if self.pre_filter is not None:
            return fit_error(len(self.names), ", ".join(self.pre_filter.reasons))
        return fit_error(len(self.names), counted(self._reason_counts()))

    def _reason_counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for number, rows in enumerate(np.bincount(self.words).tolist()):
            if number and rows:
                for reason in self.vocabulary[number].reasons:
                    counts[reason] += rows
        counts.update(reason for rejection in self.strangers for reason in rejection.reasons)
        absent = 0 if self.evaluated is None else int(np.count_nonzero(~self.evaluated))
        if absent:
            counts[f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(self.narrowed_by))}]"] += absent
        return counts


def fit_error(nodes: int, reasons: str) -> str:
    """Return upstream's sentence about a pod that none of so many nodes can take, for reasons if any were given."""
    head = f"0/{nodes} nodes are available:"
    return f"{head} {reasons}." if reasons else head


def counted(reasons: Counter[str]) -> str:
    """Spell reasons with how often each was given, in the order of the texts."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
