"""What who watches is told: a full picture, then what has changed, as events of a text/event-stream.

Each change is read off once, and encoded once, however many watch. `stream.py` sends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np

from stowplan.table.columns import Rows
from stowplan.web import queue_answers
from stowplan.web.answers import RatesAnswer, SchedulingAnswer
from stowplan.web.source import Source

#: Pods of the queue, and decisions, that are told at a time.
MOST_TOLD: Final = 100
#: To read a long queue is to be so small a part of the time.
_REST_FACTOR: Final = 30

Positions = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PictureChange:
    """What has changed since the last time, for whoever has everything up to then."""

    #: For all.
    common: bytes
    #: Whether all columns of nodes have to be told anew.
    has_new_layout: bool
    #: The labels of which nodes have other values.
    relabelled: frozenset[str]


@dataclass(slots=True)
class LivePicture:
    """The cluster as it was told of last."""

    _source: Source
    _layout: Positions = ()
    _journals: Positions = ()
    _grouped: dict[str, int] = field(default_factory=dict)
    _decision: int = 0
    _second: int = 0
    _is_scheduling: bool = False
    _queue: bytes = b""
    _queue_again_ns: int = 0
    #: The nodes as they were encoded last, by label, with their revision.
    _nodes: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def everything(self, label: str) -> bytes:
        """Return a full picture as it was told last, so that nothing is told twice; nodes are as they are now."""
        decisions = self._source.decisions
        parts = (
            self.nodes(label),
            self._queue,
            event("decisions", decisions.newest(0, self._decision, MOST_TOLD)),
            event("rates", RatesAnswer(decisions.rates(self._second))),
            event("scheduling", SchedulingAnswer(self._is_scheduling)),
        )
        return b"".join(parts)

    def nodes(self, label: str) -> bytes:
        """Return all nodes."""
        revision, encoded = self._nodes.get(label, (-1, b""))
        if revision != self._source.columns.revision:
            answer = self._source.columns.answer(label)
            encoded = event("nodes", answer)
            self._nodes[label] = answer.revision, encoded
        return encoded

    def advance(self, labels: Iterable[str]) -> PictureChange:
        """Return what has changed since the last time; `labels` are those that somebody groups nodes by."""
        columns = self._source.columns
        columns.bring_up()
        layout, self._layout = self._layout, columns.layout
        rows = self._changed_rows()
        is_new = layout != self._layout or rows is None
        before, self._grouped = self._grouped, {label: columns.grouped(label) for label in labels}
        # What nobody groups by any more is not kept.
        self._nodes = {label: kept for label, kept in self._nodes.items() if label in self._grouped}
        relabelled = frozenset(label for label, at in self._grouped.items() if before.get(label, at) != at)
        parts = [event("rows", columns.rows(rows))] if rows is not None and rows.size and not is_new else []
        parts += (self._new_queue(), self._new_decisions(), self._new_rates(), self._new_scheduling())
        return PictureChange(b"".join(parts), is_new, relabelled)

    def _changed_rows(self) -> Rows | None:
        """Return the rows whose amounts, status or devices have changed; None if it is not known which."""
        journals = (self._source.cache.table.resources.requested_journal, self._source.columns.journal)
        before, self._journals = self._journals, tuple(journal.position for journal in journals)
        if not before:
            return None
        found = [journal.since(at) for journal, at in zip(journals, before, strict=True)]
        known = [rows for rows in found if rows is not None]
        if len(known) < len(found):
            return None
        rows: Rows = np.unique(np.concatenate(known))
        return rows[rows < len(self._source.cache.table)]

    def _new_queue(self) -> bytes:
        if self._source.now_ns() < self._queue_again_ns:
            return b""
        before = self._queue
        return b"" if self._read_queue() == before else self._queue

    def _read_queue(self) -> bytes:
        began_ns = self._source.now_ns()
        self._queue = event("queue", queue_answers.longest(self._source.inspection.view(), MOST_TOLD))
        now_ns = self._source.now_ns()
        self._queue_again_ns = now_ns + _REST_FACTOR * (now_ns - began_ns)
        return self._queue

    def _new_decisions(self) -> bytes:
        decisions = self._source.decisions
        since, self._decision = self._decision, decisions.position
        return event("decisions", decisions.newest(since, self._decision, MOST_TOLD)) if self._decision > since else b""

    def _new_rates(self) -> bytes:
        decisions = self._source.decisions
        decisions.close_second()
        since, self._second = self._second, decisions.last_second
        return b"".join(event("rates", one) for one in decisions.rates_since(since))

    def _new_scheduling(self) -> bytes:
        before, self._is_scheduling = self._is_scheduling, self._source.is_scheduling
        return b"" if before is self._is_scheduling else event("scheduling", SchedulingAnswer(self._is_scheduling))


def event(name: str, what: Any) -> bytes:
    """Return one event; JSON has no line breaks."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(what))
