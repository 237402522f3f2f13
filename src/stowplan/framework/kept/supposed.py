"""Answers of the filters about rows as they would be: who keeps them learns here which of them no longer hold."""

from __future__ import annotations

from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.verdict import Words
from stowplan.model.pod import Pod
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

_NONE_OTHER = Journal()


class SupposedAnswers:
    """Asks the filters about hypothetical rows for somebody who keeps the words, and notes what they read.

    `other` is marked where something else has changed that the words are about.
    """

    def __init__(self, filtering: Filtering, table: Table, other: Journal = _NONE_OTHER) -> None:
        self._filtering, self._table, self._other = filtering, table, other
        self._watch = filtering.new_watch()
        self._other_position = other.position
        self._standing = (-1, -1)
        # The words are about one pod, and not about others of its signature.
        self._is_of_one = False

    def suppose(self, pod: Pod, nodes: Nodes, without: frozenset[str] = frozenset()) -> Words:
        """Return the words for hypothetical rows, of all filters but some."""
        return self._filtering.suppose(pod, nodes, without, self._watch)

    def stale(self, pod: Pod) -> set[int] | None:
        """Return the rows about which all words are void for `pod` since the last look; None for every row."""
        was_of_one, self._is_of_one = self._is_of_one, self._filtering.tells_names_apart(pod)
        before, self._standing = self._standing, (self._table.layout.position, self._filtering.states_position)
        marked = [*self._watch.stale().values(), self._other.since(self._other_position)]
        self._other_position = self._other.position
        rows: set[int] = set()
        for marks in marked:
            if marks is None:
                return None
            rows.update(marks.tolist())
        is_void = before != self._standing or was_of_one or self._is_of_one
        return None if is_void else rows
