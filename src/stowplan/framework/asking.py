"""Ask a plugin and take its answer apart: reads recorded, shapes checked, faults named.

An `Answer` is the unit of what is kept: a value, and where the journals stood that the plugin looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stowplan.framework.contract import Filter, Normalize, Reject, Score
from stowplan.framework.verdict import Code, Rejection, Vocabulary, Words
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Scores
from stowplan.table.journal import Journal, Reads
from stowplan.table.nodes import Nodes

NO_ROWS: list[int] = []


class PluginError(Exception):
    """A plugin failed: it raised, or answered with something that is no answer."""

    def __init__(self, plugin: str, point: str, pod: Pod, problem: str) -> None:
        super().__init__(f"plugin {plugin!r} failed in {point} for pod {pod.key!r}: {problem}")
        self.plugin = plugin
        self.point = point


class Answer:
    """What was read to give an answer, and so for which rows it has to be given again."""

    __slots__ = ("reads",)

    def __init__(self) -> None:
        self.reads: dict[Journal, int] = {}

    @property
    def is_current(self) -> bool:
        """Whether nothing that was read has changed."""
        return all(journal.position == position for journal, position in self.reads.items())

    def stale_rows(self) -> list[int] | None:
        """Return the rows whose facts have changed since they were read; None for all rows."""
        stale = NO_ROWS
        for journal, position in self.reads.items():
            if journal.position != position:
                rows = journal.since(position)
                if rows is None:
                    return None
                stale = stale + rows if stale else rows
        return stale

    def absorb(self, reads: dict[Journal, int]) -> None:
        """Take over what a new question read; everything read before is up to date as well."""
        for journal in self.reads:
            self.reads[journal] = journal.position
        self.reads.update(reads)


@contextmanager
def blaming(plugin: str, point: str, pod: Pod) -> Iterator[None]:
    """Turn whatever a plugin raises into a `PluginError` that names it."""
    try:
        yield
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(plugin, point, pod, f"{type(error).__name__}: {error}") from error


def ask_filter(plugin: Filter, question: tuple[Pod, Nodes, Any], vocabulary: Vocabulary) -> Words | None:
    """Return the words of a filter for the rows given; None if it has no objection to any."""
    pod, nodes, state = question
    words: Words | None = None
    for objection in plugin.filter(pod, nodes, state):
        _check_mask(plugin, pod, objection, len(nodes))
        if words is None:
            words = np.zeros(len(nodes), dtype=np.int32)
        for mask, rejection in _split(plugin.name, objection):
            _speak(words, mask, rejection, vocabulary)
    return words


def _check_mask(plugin: Filter, pod: Pod, objection: Reject, rows: int) -> None:
    mask: Any = objection.mask
    if not isinstance(mask, np.ndarray) or mask.shape != (rows,) or mask.dtype != np.bool_:
        problem = f"reject() takes one boolean per row ({rows}), got {_describe(mask)}"
        raise PluginError(plugin.name, "Filter", pod, problem)


def _split(plugin: str, objection: Reject) -> Iterable[tuple[Mask, Rejection]]:
    resolvable = Rejection((objection.reason,), Code.UNSCHEDULABLE, plugin)
    unresolvable = Rejection((objection.reason,), Code.UNRESOLVABLE, plugin)
    if isinstance(objection.unresolvable, np.ndarray):
        yield objection.mask & ~objection.unresolvable, resolvable
        yield objection.mask & objection.unresolvable, unresolvable
    else:
        yield objection.mask, unresolvable if objection.unresolvable else resolvable


def _speak(words: Words, mask: Mask, rejection: Rejection, vocabulary: Vocabulary) -> None:
    """Write a rejection into the rows of `mask`, joining it to what the same plugin said about them before."""
    earlier = words[mask]
    if not earlier.size:
        return
    words[mask] = vocabulary.number(rejection)
    for number in np.unique(earlier).tolist():
        if number:
            again = mask.copy()
            again[mask] = earlier == number
            words[again] = vocabulary.number(_join(vocabulary[number], rejection))


def _join(first: Rejection, second: Rejection) -> Rejection:
    code = Code.UNRESOLVABLE if Code.UNRESOLVABLE in (first.code, second.code) else first.code
    return Rejection(first.reasons + second.reasons, code, first.plugin)


def ask_score(plugin: Score, pod: Pod, nodes: Nodes, state: Any) -> Scores:
    """Return the raw scores of the rows given; fractions are cut off."""
    return checked_scores(plugin, pod, plugin.score(pod, nodes, state), len(nodes))


def ask_normalize(plugin: Normalize, pod: Pod, scores: Scores, extent: tuple[int, int, Any]) -> Scores:
    """Return the scores of rows brought to 0..100, given the lowest and highest of a feasible row and the state."""
    return checked_scores(plugin, pod, plugin.normalize(scores, *extent), len(scores))


def checked_scores(plugin: Score, pod: Pod, scores: Any, rows: int) -> Scores:
    if not isinstance(scores, np.ndarray) or scores.shape != (rows,) or scores.dtype.kind not in "iufb":
        problem = f"scores are one number per row ({rows}), got {_describe(scores)}"
        raise PluginError(plugin.name, "Score", pod, problem)
    return scores if scores.dtype == np.int64 else scores.astype(np.int64)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return f"{type(value).__name__} {value!r:.60}"


@contextmanager
def recording(reads: Reads, answer: Answer) -> Iterator[None]:
    """Record what is read inside, and let `answer` absorb it."""
    noted = reads.start()
    try:
        yield
    finally:
        reads.stop()
    answer.absorb(noted)
