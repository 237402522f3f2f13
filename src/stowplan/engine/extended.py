"""The choice when extenders have a say: the same steps as `choose`, with their answers awaited in between.

Sample, let the extenders narrow what is left, rank, and add what they give. The table does not move meanwhile: what the
cluster tells is applied after the cycle. A node nominated for the pod is asked about alone first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from stowplan.engine import choose
from stowplan.engine.choose import Field, Found
from stowplan.engine.results import Chosen, Failed, Refused, Result
from stowplan.extender import chain
from stowplan.framework.asking import PluginError
from stowplan.framework.contract import Preemption
from stowplan.framework.extending import Extender, PodsOn, with_refusals
from stowplan.framework.handle import ExtenderError
from stowplan.framework.profile import Profile
from stowplan.framework.ranking import OUT_OF_REACH
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.shape import PodShape

#: Told of extenders that failed and may be ignored.
Ignored = Callable[[Iterable[ExtenderError]], None]


class Extended:
    """Chooses nodes together with extenders."""

    def __init__(self, field: Field, extenders: Sequence[Extender], pods_on: PodsOn, ignored: Ignored) -> None:
        self._field = field
        self._pods_on = pods_on
        self._extenders = extenders
        self._ignored = ignored

    async def choose(self, profile: Profile, pod: Pod, shape: PodShape) -> Result:
        """Choose a node for `pod`, or say why there is none."""
        # Settles the order for this attempt, as `choose.choose` does.
        self._field.table.order()
        if not len(self._field.table):
            return Failed(pod, choose.NO_NODES)
        try:
            return await self._choose(profile, pod, shape)
        except PluginError as error:
            self._field.memo.forget(profile, pod, shape)
            return Failed(pod, str(error), error.plugin)
        except ExtenderError as error:
            return Failed(pod, str(error))

    async def agree(self, pod: Pod, candidates: Sequence[Preemption]) -> Sequence[Preemption]:
        """Return the candidates for preemption that no extender objects to."""
        agreed = await chain.agree(self._extenders, pod, candidates, self._pods_on)
        self._ignored(agreed.ignored)
        return agreed.candidates

    async def bind(self, pod: Pod, node_name: str) -> Rejection | Literal[False] | None:
        """Have an extender bind the pod: None if one did, False if that is for the plugins to do."""
        try:
            answer = await chain.bind(self._extenders, pod, node_name)
        except ExtenderError as error:
            return Rejection((str(error),), Code.ERROR)
        self._ignored(answer.ignored)
        return None if answer.is_bound else False

    async def _choose(self, profile: Profile, pod: Pod, shape: PodShape) -> Result:
        found = choose.find_feasible(self._field, profile, pod, shape)
        verdict = found.verdict or found.kept.filtering.verdict()
        if not found.count:
            return Refused(pod, verdict.fit_error(), verdict)
        nominated = await self._nominated(pod, found)
        if nominated is not None:
            return nominated
        found = choose.sampled(self._field, profile, found, self._extenders)
        narrowed = await chain.narrow(self._extenders, pod, self._nodes(found))
        self._ignored(narrowed.ignored)
        if not narrowed.names:
            verdict = with_refusals(verdict, (), narrowed.rejected)
            return Refused(pod, verdict.fit_error(), verdict)
        return await self._pick(profile, pod, self._only(found, narrowed.names))

    async def _nominated(self, pod: Pod, found: Found) -> Chosen | None:
        """Take the node that is nominated for the pod if everybody agrees; trouble with it is no reason to fail."""
        row = self._field.table.row_of.get(pod.status.nominated_node_name)
        if row is None or not found.feasible[row]:
            return None
        name = self._field.table.names()[row]
        try:
            narrowed = await chain.narrow(self._extenders, pod, {name: self._field.table.nodes[row]})
        except ExtenderError as error:
            self._ignored([error])
            return None
        return Chosen(pod, name, row, found.count) if narrowed.names else None

    async def _pick(self, profile: Profile, pod: Pod, found: Found) -> Chosen:
        table = self._field.table
        if found.count == 1:
            row = int(np.argmax(found.feasible))
            return Chosen(pod, table.names()[row], row, 1)
        ranking = choose.rank(self._field, profile, pod, found)
        given = await chain.prioritize(self._extenders, pod, self._nodes(found))
        self._ignored(given.ignored)
        # An extender may take points away, but never so many that a node which cannot take the pod is better.
        total = np.where(found.feasible, ranking.total, OUT_OF_REACH)
        for name, points in given.total.items():
            row_of = table.row_of.get(name)
            if row_of is not None:
                total[row_of] += points
        row = choose.pick(self._field, total, found)
        return Chosen(pod, table.names()[row], row, found.count, int(total[row]))

    def _nodes(self, found: Found) -> dict[str, Node]:
        """Return the nodes that are left, in the order in which they are found."""
        nodes = self._field.table.nodes
        return {nodes[row].name: nodes[row] for row in choose.in_order(self._field, found).tolist()}

    def _only(self, found: Found, names: Sequence[str]) -> Found:
        feasible = np.zeros_like(found.feasible)
        feasible[[self._field.table.row_of[name] for name in names]] = True
        if np.array_equal(feasible, found.feasible):
            return found
        return Found(found.kept, found.verdict, feasible, len(names), is_kept=False)
