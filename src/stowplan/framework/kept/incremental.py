"""`Incremental`: the one hook by which a plugin has its kept answers brought up to date for less than by being asked.

It is a state's, the one that `pre_filter` or `pre_score` returned: a state has everything that answers given with it
depend on. Whatever it does not know, it leaves to the array methods of its plugin, which always give the right answer;
what it says must be the same. docs/kept-answers.md has the whole of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.table.columns import Rows
from stowplan.table.domain_sums import LiveSums
from stowplan.table.nodes import Nodes

#: Up to so many rows are faster one by one, as plain integers, than as arrays.
FEW_ROWS = 8


class Incremental:
    """A state that knows what an answer needs when rows have changed."""

    __slots__ = ()

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        """Return the rows of all `nodes` where the answer may differ from what it was by `before`; None for all.

        A pod more in a domain is a new state, but seldom another answer. `before` is an earlier state of the same
        class, over the same rows. Facts of the nodes that have changed meanwhile are none of its concern: who reads
        them is asked again anyway.
        """
        return None

    @property
    def is_by_row(self) -> bool:
        """Whether `refusal_of` can say what the filter says of one row, as a pod more on a node may call for."""
        return False

    def refusal_of(self, row: int, nodes: Nodes) -> Rejection | None:
        """Return what the filter says of one of all `nodes`; None if it lets it pass."""
        raise NotImplementedError

    @property
    def is_by_amounts(self) -> bool:
        """Whether the answer about a row follows from what the node has and what is taken of it, and nothing else.

        A pod that is placed changes just that, on one row. Then the state is asked about a handful of rows one by one,
        `has` and `taken` by resource as in `Nodes.allocatable`; the plugin itself about more of them.
        """
        return False

    def fits(self, has: list[int], taken: list[int]) -> bool:
        """Say whether a node with these amounts can take the pod."""
        raise NotImplementedError

    def score_of(self, has: list[int], taken: list[int]) -> int:
        """Return the score of a node with these amounts, which needs no normalising."""
        raise NotImplementedError

    def by_domain(self) -> tuple[str, LiveSums] | None:
        """Return a label and the raw scores by code of its values, at the end without one; None if that is not all.

        Then rows are neither scored nor normalised: their domains are, and where a domain comes to another score than
        before, its rows are. The scores must be what `score` returns for a row, and the codes those of the table as it
        stood when the state was returned: `pre_score` has read the label. They may change without another state, if
        their logs tell. One log tells where they differ from those of the state before, if that had the same.
        """
        return None


def by_amounts(state: Any) -> Incremental | None:
    """Return a state that decides by amounts; None if it does not."""
    return state if isinstance(state, Incremental) and state.is_by_amounts else None


class TellsApart:
    """A plugin that tells pods of one signature apart: what it says in `sign` becomes part of the signature.

    What an in-tree plugin signs beside that is in the signature of every pod anyway, and is not asked for.
    """

    @abstractmethod
    def sign(self, pod: Pod) -> Hashable:
        """Return what tells pods apart; asked for every pod, so it should cost next to nothing for most of them."""


class TellsVolumesApart(TellsApart):
    """A plugin that tells pods apart by their volumes, and is not asked about pods that have none."""

    def tells_names_apart(self, pod: Pod) -> bool:
        """Say whether on rows as they would be it matters what the claims of a pod are called, whatever `sign` says."""
        return False
