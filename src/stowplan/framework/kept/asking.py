"""Ask a plugin and take its answer apart: reads recorded, shapes checked, faults named.

An `AnswerWatch` stands beside the answers that are kept and knows which of them no longer hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import numpy as np

from stowplan.framework import plugin_faults
from stowplan.framework.contract import Filter, Narrowed, Normalize, PreFilter, Reject, Score
from stowplan.framework.kept.incremental import FEW_ROWS
from stowplan.framework.plugin_faults import Blame, PluginError, Stopwatch
from stowplan.framework.verdict import Code, Rejection, Vocabulary, WordedError, Words
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.journal import Journal, Reads
from stowplan.table.nodes import Nodes

T = TypeVar("T")

#: By answer, the rows for which it does not hold, repeats included; None for all.
VoidRows = dict[int, Rows | None]

#: In the place of a score that is not a number, or too large for one.
NO_NUMBER: Final = -(2**63)
#: Of a node that a plugin rejects for very many reasons, the first are told; a pod may ask for thousands of resources.
_MOST_REASONS: Final = 100
_NO_REJECTION: Final = "filter says whom it refuses with `yield reject(mask, reason)`, and nothing else"


class AnswerWatch:
    """What a number of kept answers read, and so which of them have to be given again, and for which rows.

    One look at every journal that any of them read tells; answers are known by their index.
    """

    __slots__ = ("_positions", "_readers", "_reads", "_stopwatch")

    def __init__(self, reads: Reads, stopwatch: Stopwatch | None = None) -> None:
        self._reads = reads
        self._stopwatch = stopwatch if stopwatch is not None else Stopwatch()
        self._positions: dict[Journal, int] = {}
        self._readers: dict[Journal, list[int]] = {}

    def stale(self) -> VoidRows:
        """Return, by answer, the rows that changed since the last look. The caller must see to them."""
        found: VoidRows = {}
        for journal, position in self._positions.items():
            if journal.position != position:
                rows = journal.since(position)
                self._positions[journal] = journal.position
                for reader in self._readers[journal]:
                    found[reader] = joined(found[reader], rows) if reader in found else rows
        return found

    def ask(self, reader: int, blame: Blame, question: Callable[..., T], *details: Any) -> T:
        """Put a question to a plugin, note what it reads, and name it if it fails."""
        noted = self._reads.start()
        stopwatch = self._stopwatch
        started_ns = stopwatch.now_ns() if stopwatch.is_wound else 0
        try:
            answer = question(*details)
        except PluginError:
            raise
        except WordedError as fault:
            raise PluginError(*blame, fault) from fault
        except plugin_faults.FAULTS as error:
            stopwatch.trace(error, blame)
            raise PluginError(*blame, plugin_faults.spelled(error)) from error
        finally:
            self._reads.stop()
            late = stopwatch.stop(started_ns, blame) if stopwatch.is_wound else ""
        if late:
            raise PluginError(*blame, late)
        self.note(reader, noted)
        return answer

    def note(self, reader: int, noted: Mapping[Journal, int]) -> None:
        """Note that an answer has read journals, and where they stood."""
        for journal, position in noted.items():
            readers = self._readers.get(journal)
            if readers is None:
                self._positions[journal], self._readers[journal] = position, [reader]
            elif reader not in readers:
                readers.append(reader)


def joined(some: Rows | None, others: Rows | None) -> Rows | None:
    """Return the rows of both; None stands for all."""
    if some is None or others is None:
        return None
    return np.concatenate((some, others)) if len(some) and len(others) else some if len(some) else others


def each_once(rows: Rows, count: int) -> Rows:
    """Return rows, of so many, without repeats: who answers for one node at a time is asked for nothing twice."""
    if len(rows) <= FEW_ROWS:
        return np.array([*set(rows.tolist())], dtype=np.intp) if len(rows) > 1 else rows
    mask = np.zeros(count, dtype=bool)
    mask[rows] = True
    return np.flatnonzero(mask)


def clipped(void: VoidRows, rows: int) -> VoidRows:
    """Leave out rows that are not there any more."""
    return {reader: None if marks is None else marks[marks < rows] for reader, marks in void.items()}


def ask_pre_filter(plugin: PreFilter, pod: Pod, nodes: Nodes) -> Any:
    """Return what a plugin prepares for its filter, or says instead."""
    answer = plugin.pre_filter(pod, nodes)
    # Others intersect the names, and look nodes up by them.
    if isinstance(answer, Narrowed) and not isinstance(answer.names, frozenset):
        problem = f"Narrowed takes the names of nodes in a frozenset, got {_describe(answer.names)}"
        raise PluginError(plugin.name, "PreFilter", pod, problem)
    return answer


def ask_filter(plugin: Filter, pod: Pod, nodes: Nodes, state: Any, vocabulary: Vocabulary) -> Words | None:
    """Return the words of a filter for the rows given; None if it rejects none."""
    words: Words | None = None
    answer: Any = plugin.filter(pod, nodes, state)
    if not hasattr(answer, "__iter__"):
        raise PluginError(plugin.name, "Filter", pod, f"{_NO_REJECTION}, got {_describe(answer)}")
    for rejected in answer:
        _check_rejection(plugin, pod, rejected, len(nodes))
        if words is None:
            words = np.zeros(len(nodes), dtype=np.int32)
        for mask, rejection in _split(plugin.name, rejected):
            _speak(words, mask, rejection, vocabulary)
    return words


def _check_rejection(plugin: Filter, pod: Pod, rejected: Any, rows: int) -> None:
    if not isinstance(rejected, Reject):
        raise PluginError(plugin.name, "Filter", pod, f"{_NO_REJECTION}, got {_describe(rejected)}")
    mask: Any = rejected.mask
    if not isinstance(mask, np.ndarray) or mask.shape != (rows,) or mask.dtype != np.bool_:
        problem = f"reject() takes one boolean per row ({rows}), got {_describe(mask)}"
        raise PluginError(plugin.name, "Filter", pod, problem)
    reason: Any = rejected.reason
    if not isinstance(reason, str) or not reason:
        raise PluginError(
            plugin.name, "Filter", pod, f"a node is rejected for a reason in words, got {_describe(reason)}"
        )


def _split(plugin: str, rejected: Reject) -> Iterable[tuple[Mask, Rejection]]:
    resolvable = Rejection((rejected.reason,), Code.UNSCHEDULABLE, plugin)
    unresolvable = Rejection((rejected.reason,), Code.UNRESOLVABLE, plugin)
    if isinstance(rejected.unresolvable, np.ndarray):
        yield rejected.mask & ~rejected.unresolvable, resolvable
        yield rejected.mask & rejected.unresolvable, unresolvable
    else:
        yield rejected.mask, unresolvable if rejected.unresolvable else resolvable


def _speak(words: Words, mask: Mask, rejection: Rejection, vocabulary: Vocabulary) -> None:
    """Write a rejection into the rows of `mask`, joining it to what the same plugin said about them before."""
    again = mask & (words != 0)
    earlier = words[again] if np.count_nonzero(again) else None
    if earlier is not None or np.count_nonzero(mask):
        np.copyto(words, vocabulary.number(rejection), where=mask)
    for number in () if earlier is None else np.unique(earlier).tolist():
        same = again.copy()
        same[again] = earlier == number
        words[same] = vocabulary.number(_join(vocabulary[number], rejection))


def _join(first: Rejection, second: Rejection) -> Rejection:
    code = Code.UNRESOLVABLE if Code.UNRESOLVABLE in (first.code, second.code) else first.code
    if len(first.reasons) >= _MOST_REASONS:
        return Rejection(first.reasons, code, first.plugin)
    return Rejection(first.reasons + second.reasons, code, first.plugin)


def ask_score(plugin: Score, pod: Pod, nodes: Nodes, state: Any, is_foreign: bool = False) -> Scores:
    """Return the raw scores of the rows given; fractions are cut off."""
    scores = checked_scores(plugin, pod, plugin.score(pod, nodes, state), len(nodes))
    # What others say about rows that are not feasible is not looked at, be it a number or not.
    return np.where(nodes.asked, scores, 0) if is_foreign and nodes.asked is not None else scores


def ask_normalize(plugin: Normalize, pod: Pod, scores: Scores, extent: tuple[int, int], state: Any) -> Scores:
    """Return the scores of rows brought to 0..100, given the lowest and highest of a feasible row."""
    # They are kept beside the answer.
    scores = scores.view()
    scores.flags.writeable = False
    return checked_scores(plugin, pod, plugin.normalize(scores, *extent, state), len(scores))


def checked_scores(plugin: Score, pod: Pod, scores: Any, rows: int) -> Scores:
    if not isinstance(scores, np.ndarray) or scores.shape != (rows,) or scores.dtype.kind not in "iufb":
        form = "" if isinstance(scores, np.ndarray) else ", in a NumPy array (np.array([...]))"
        problem = f"scores are one number per row ({rows}){form}, got {_describe(scores)}"
        raise PluginError(plugin.name, "Score", pod, problem)
    if scores.dtype.kind != "f":
        return scores if scores.dtype.kind == "i" else scores.astype(np.int64)
    # A cast makes of what is no number whatever the processor likes; of a row that is not feasible it does not matter.
    exact = scores.astype(np.float64)
    return np.where(np.abs(exact) < -float(NO_NUMBER), exact, NO_NUMBER).astype(np.int64)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return f"{type(value).__name__} {value!r:.60}"
