"""In-tree plugins to which the signature of a pod (`table.shape`) does not say enough. Like `by_amounts`, optional."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

from stowplan.model.pod import Pod


class TellsApart:
    """A plugin that tells pods of one signature apart: what it says in `sign` becomes part of the signature.

    What an in-tree plugin signs beside that is in the signature of every pod anyway, and is not asked for.
    """

    @abstractmethod
    def sign(self, pod: Pod) -> Hashable:
        """Return what tells pods apart; asked for every pod, so it should cost next to nothing for most of them."""
