"""The search for nodes on which evicting less important units makes room, where units may reach to other nodes.

As `search.py`, but node by node: whoever is supposed to go is taken off the table while the filters are asked. Only
used where pods of groups are on the nodes in question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import Preemption
from stowplan.framework.handle import PreemptingHandle
from stowplan.framework.verdict import Code, Rejection, Words
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption import candidate_nodes
from stowplan.plugins.defaultpreemption.candidate_nodes import Findings
from stowplan.plugins.defaultpreemption.group_search import violations
from stowplan.plugins.defaultpreemption.search import NO_VICTIMS, budgets_of
from stowplan.plugins.defaultpreemption.units import Unit, Units, UnknownNodeError
from stowplan.table.columns import Rows


class UnitFindings(Findings):
    """The candidates that were found one by one."""

    def __init__(self, attempt: Attempt, enough: int) -> None:
        super().__init__(attempt.verdict)
        self.found: list[Preemption] = []
        self._most = enough

    def __bool__(self) -> bool:
        return bool(self.found)

    @property
    def is_enough(self) -> bool:
        is_harmless = any(not one.pdb_violations for one in self.found)
        return is_harmless and len(self.found) >= self._most

    @property
    def candidates(self) -> list[Preemption]:
        return sorted(self.found, key=lambda one: one.pdb_violations > 0)

    def best(self) -> Preemption:
        return candidate_nodes.pick(self.candidates)


class UnitSearch:
    """The search for one pod."""

    def __init__(self, pod: Pod, attempt: Attempt, handle: PreemptingHandle, units: Units) -> None:
        self._pod, self._attempt, self._units = pod, attempt, units
        self._pods = handle.pods
        self._budgets = budgets_of(handle)
        self._nominated = attempt.nominated

    def run(self, rows: Rows, enough: int) -> UnitFindings:
        """Look for candidates among `rows`, in their order, until there are enough."""
        found = UnitFindings(self._attempt, enough)
        for row in rows.tolist():
            if not found.is_enough:
                self._try(row, found)
        return found

    def _try(self, row: int, found: UnitFindings) -> None:
        name = self._attempt.verdict.names[row]
        try:
            units = self._units.of(self._pods.by_importance(name))
        except UnknownNodeError as error:
            found.refuse([row], Rejection((str(error),), Code.ERROR))
            return
        less_important = [one for one in units if one.priority < self._pod.spec.priority]
        potential = sorted(less_important, key=lambda one: one.importance)
        if not potential:
            found.refuse([row], NO_VICTIMS)
            return
        away: dict[int, Unit] = {}
        try:
            self._select(row, potential, away, found)
        finally:
            for unit in away.values():
                self._resume(unit)

    def _select(self, row: int, potential: Sequence[Unit], away: dict[int, Unit], found: UnitFindings) -> None:
        """Let all go, and put back one after the other those with whom the pod still fits."""
        for unit in potential:
            self._suspend(unit)
            away[id(unit)] = unit
        words = self._ask(row)
        if words.any():
            found.refuse([row], self._attempt.verdict.vocabulary[int(words[0])])
            return
        violated = 0
        counts = violations(self._budgets, potential)
        for unit, count in sorted(zip(potential, counts, strict=True), key=lambda one: one[1] == 0):
            self._resume(unit)
            del away[id(unit)]
            if self._ask(row).any():
                self._suspend(unit)
                away[id(unit)] = unit
                violated += count
        going = sorted(away.values(), key=lambda one: one.importance)
        victims = tuple(placed.pod for unit in going for placed in unit.pods)
        name = self._attempt.verdict.names[row]
        if victims:
            found.found.append(Preemption(name, victims, violated))
        else:
            problem = f'expected at least one victim pod on node "{name}"'
            found.refuse([row], Rejection((problem,), Code.ERROR))

    def _ask(self, row: int) -> Words:
        """Return the filters' word for a row, which must take the pod both with and without nominated ones."""
        nodes, rows = self._attempt.nodes, np.array([row], dtype=np.intp)
        ask = self._attempt.ask_again or self._attempt.suppose
        if self._nominated.get(row):
            crowded = ask(nodes.suppose(rows, [self._nominated[row]], [[]]))
            if crowded.any():
                return crowded
        return ask(nodes.take(rows))

    def _suspend(self, unit: Unit) -> None:
        for placed in unit.pods:
            self._pods.suspend(placed.pod)

    def _resume(self, unit: Unit) -> None:
        for placed in unit.pods:
            self._pods.resume(placed.pod)
