"""States that know what is new about them, so that kept answers need not be given anew. Like `by_amounts`, optional."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from stowplan.table.columns import Rows
from stowplan.table.nodes import Nodes


class Successive(ABC):
    """A state for `filter` that can tell where its answer differs from that of the state before it.

    A pod more in a domain is a new state, but seldom another answer: then only some rows need be asked about again.
    """

    @abstractmethod
    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        """Return the rows of all `nodes` where the answer may differ from what it was by `before`; None for all.

        `before` is an earlier state of the same class. Facts of the nodes that have changed meanwhile are none of its
        concern: who reads them is asked again anyway.
        """
