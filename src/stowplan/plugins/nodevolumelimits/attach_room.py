"""Which of some rows have room for more volumes of a driver, as they are or as they would be."""

from __future__ import annotations

from collections.abc import Iterable, Set

import numpy as np
from numpy.typing import NDArray

from stowplan.plugins.nodevolumelimits.attach_columns import DriverColumns
from stowplan.plugins.nodevolumelimits.attach_ledger import ANY_DRIVER, Contents, Ledger
from stowplan.plugins.nodevolumelimits.attach_references import POD_VOLUMES
from stowplan.plugins.volumes.csi_migration import Attachable
from stowplan.table.columns import Mask, Rows
from stowplan.table.nodes import Nodes


class Room:
    """The rows that a filter is asked about, in the light of an up-to-date ledger."""

    def __init__(self, ledger: Ledger, nodes: Nodes) -> None:
        self._ledger = ledger
        self._size = len(ledger.holding.row_of)
        # None stands for all.
        self._rows: Rows | None = nodes.rows
        self._count = len(nodes)
        self._supposed: dict[int, Contents] = {}
        for position, change in nodes.change_of_holding(POD_VOLUMES).items():
            if nodes.asked is None or nodes.asked[position]:
                self._supposed[position] = ledger.supposed(self._row(position), change)

    def is_registered(self, driver: str = ANY_DRIVER) -> Mask:
        """Say on which rows a driver is registered; or where any could be, there being a CSINode."""
        found: Mask = self._of(self._ledger.registered, driver) > 0
        return found

    def is_short(self, wanted: Iterable[tuple[str, Set[Attachable]]]) -> Mask:
        """Say on which rows the volumes, given by driver, cannot all be attached.

        Those that pods there use already cost nothing; those that are attached without a pod do, as upstream has it.
        """
        is_short = np.zeros(self._count, dtype=bool)
        for driver, volumes in wanted:
            if self._ledger.limits.has(driver):
                is_short |= self._exceeds(driver, volumes)
        return is_short

    def _exceeds(self, driver: str, wanted: Set[Attachable]) -> Mask:
        counts, limits = self._of(self._ledger.counts, driver), self._of(self._ledger.limits, driver)
        used = self._count_used(wanted)
        if used is None and not self._supposed:
            is_over: Mask = counts + len(wanted) > limits
            return is_over
        new = np.full(len(counts), len(wanted)) if used is None else len(wanted) - used
        total = counts + new
        for position, contents in self._supposed.items():
            new[position] = len(wanted - contents.used)
            total[position] = contents.counts()[driver] + new[position]
        exceeds: Mask = (new > 0) & (total > limits)
        return exceeds

    def problem(self, asked: Mask | None) -> str:
        """Return what upstream stumbles over when it counts the volumes of rows, or of all; empty if it does not."""
        problems = {position: contents.problem for position, contents in self._supposed.items()}
        if self._ledger.problems:
            rows = range(self._count) if self._rows is None else self._rows.tolist()
            problems = {position: self._ledger.problems.get(row, "") for position, row in enumerate(rows)} | problems
        for position, problem in problems.items():
            is_asked = asked is None or asked[position]
            if problem and is_asked and self._ledger.limits.on(self._row(position)):
                return problem
        return ""

    def _row(self, position: int) -> int:
        return position if self._rows is None else int(self._rows[position])

    def _of(self, columns: DriverColumns, driver: str) -> NDArray[np.int64]:
        column = columns.of(driver, self._size)
        return column if self._rows is None else column[self._rows]

    def _count_used(self, wanted: Set[Attachable]) -> NDArray[np.int64] | None:
        """Count the volumes that pods of the rows use already; None if there are none anywhere."""
        users = [rows for rows in map(self._ledger.rows_with, wanted) if rows]
        if not users:
            return None
        used = np.zeros(self._size, dtype=np.int64)
        for rows in users:
            used[list(rows)] += 1
        return used if self._rows is None else used[self._rows]
