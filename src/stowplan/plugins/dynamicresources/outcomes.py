"""What allocating the same requests came to on each node: kept, and asked again only where something has moved.

Nodes are told apart by name and labels, which is all that allocation reads of them; such a pair has a code
(`Nodes.coded`), and answers stand in arrays by code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stowplan.model.dra import ResourceClaim
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources import allocator
from stowplan.plugins.dynamicresources.allocator import NodeAllocationError
from stowplan.plugins.dynamicresources.ground import Ground, Mark
from stowplan.table.columns import Codes, Scores
from stowplan.table.nodes import Nodes

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
UNKNOWN, FITS, FIRST_REASON = 0, 1, 2

#: By code: not known, or fits, or the number of a reason.
Verdicts = NDArray[np.int16]


def identity(node: Node) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return all that allocation reads of a node."""
    return node.metadata.name, tuple(sorted(node.metadata.labels.items()))


class Outcomes:
    """The answers for one set of requests."""

    def __init__(self, claims: Sequence[ResourceClaim], ground: Ground) -> None:
        self.reasons: list[str] = [CANNOT_ALLOCATE]
        self._claims = tuple(claims)
        self._ground = ground
        self._mark = Mark()
        self._code_of: Mapping[Any, int] | None = None
        self._verdicts: Verdicts = np.zeros(0, dtype=np.int16)
        self._scores: Scores = np.zeros(0, dtype=np.int64)
        # The codes that are known, by the name of their node, with what was true of it then.
        self._asked: dict[str, dict[int, tuple[Node, int]]] = {}

    def of(self, nodes: Nodes, wanted: NDArray[np.bool_] | None) -> tuple[Verdicts, Scores]:
        """Return the answers for rows; those that are not wanted may be unknown. Raise AllocationError."""
        codes = self._codes(nodes)
        unknown = self._verdicts[codes] == UNKNOWN
        if wanted is not None:
            unknown &= wanted
        if np.count_nonzero(unknown):
            self._ask(nodes, np.flatnonzero(unknown).tolist(), codes)
        return self._verdicts[codes], self._scores[codes]

    def bring_up(self) -> None:
        """Forget what may not be true any more."""
        mark, ground = self._mark, self._ground
        if mark == ground.mark:
            return
        touched = ground.nodes_touched(mark)
        if touched is None or mark.classes != ground.mark.classes:
            self._verdicts[:] = UNKNOWN
            self._asked.clear()
        else:
            for name in touched:
                self._forget(name)
            if mark.slices != ground.mark.slices:
                self._forget_restocked()
        self._mark = ground.mark

    def _codes(self, nodes: Nodes) -> Codes:
        coded = nodes.coded("devices", identity)
        if coded.code_of is not self._code_of:
            self._code_of = coded.code_of
            self._verdicts, self._scores = self._verdicts[:0], self._scores[:0]
            self._asked.clear()
        missing = len(coded.meanings) - len(self._verdicts)
        if missing > 0:
            self._verdicts = np.append(self._verdicts, np.zeros(missing, dtype=np.int16))
            self._scores = np.append(self._scores, np.zeros(missing, dtype=np.int64))
        return coded.codes

    def _ask(self, nodes: Nodes, positions: list[int], codes: Codes) -> None:
        allocate = self._ground.allocator(self._claims).allocate
        for position in positions:
            node, code = nodes.node(position), int(codes[position])
            try:
                results = allocate(node, self._ground.timer())
            except NodeAllocationError as error:
                self._verdicts[code] = self._number(str(error))
            else:
                self._verdicts[code] = self._number(CANNOT_ALLOCATE) if results is None else FITS
                self._scores[code] = 0 if results is None else allocator.score(self._claims, results)
            stamp = self._ground.inventory.stamp(node)
            self._asked.setdefault(node.metadata.name, {})[code] = (node, stamp)

    def _number(self, reason: str) -> int:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return FIRST_REASON + self.reasons.index(reason)

    def _forget(self, name: str) -> None:
        for code in self._asked.pop(name, ()):
            self._verdicts[code] = UNKNOWN

    def _forget_restocked(self) -> None:
        """Forget the nodes that reach other devices than before."""
        stamp = self._ground.inventory.stamp
        for name, known in list(self._asked.items()):
            if any(stamp(node) != then for node, then in known.values()):
                self._forget(name)
