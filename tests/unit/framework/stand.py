"""A few nodes, a profile of a few plugins, and the choice made with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stowplan.cache.cache import Cache
from stowplan.engine import scheduling_cycle
from stowplan.engine.failure import Result
from stowplan.engine.scheduling_cycle import ChoiceInputs, Sampler, UpstreamOrder
from stowplan.framework.contract import Filter, FilterNode, Plugin, PreFilter, PreScore, Score, ScoreNode
from stowplan.framework.kept.memo import Memo
from stowplan.framework.per_node import EachNodeFilter, EachNodeScore
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.queue.nominations import Nominations
from stowplan.testing import make_node


def nodes(*names: str) -> list[Node]:
    return [make_node(name).capacity(cpu=4, memory="8Gi").build() for name in names]


def profile_of(*plugins: Plugin, **fields: Any) -> Profile:
    """Let plugins take part wherever they can, in the order given, all of them from outside the tree."""
    filters: list[Filter] = []
    scores: list[tuple[Score, int]] = []
    for plugin in plugins:
        if isinstance(plugin, Filter):
            filters.append(plugin)
        if isinstance(plugin, FilterNode):
            filters.append(EachNodeFilter(plugin))
        if isinstance(plugin, Score):
            scores.append((plugin, 1))
        if isinstance(plugin, ScoreNode):
            scores.append((EachNodeScore(plugin), 1))
    return Profile(
        name="default-scheduler",
        pre_filter=tuple(plugin for plugin in plugins if isinstance(plugin, PreFilter)),
        filter=tuple(filters),
        pre_score=tuple(plugin for plugin in plugins if isinstance(plugin, PreScore)),
        score=tuple(scores),
        foreign=plugins,
        **fields,
    )


class Stand:
    """A cluster of some nodes under a profile of some plugins."""

    def __init__(self, found: Sequence[Node], *plugins: Plugin, keep_answers: bool = True, **fields: Any) -> None:
        self.cache = Cache()
        for plugin in plugins:
            for name, read in plugin.columns.items():
                self.cache.table.facts.declare(name, read)
        for node in found:
            self.cache.add_node(node)
        self.profile = profile_of(*plugins, **fields)
        table = self.cache.table
        memo = Memo(table, is_on=keep_answers)
        self.field = ChoiceInputs(table, memo, Nominations(), UpstreamOrder(), Sampler())

    def choose(self, pod: Pod) -> Result:
        return scheduling_cycle.choose_at_once(self.field, self.profile, pod, self.cache.table.shape_of(pod))

    def verdict(self, pod: Pod) -> Verdict:
        """Return the filters' answer."""
        found = scheduling_cycle.find_feasible(self.field, self.profile, pod, self.cache.table.shape_of(pod))
        return found.verdict

    def totals(self, pod: Pod) -> dict[str, int]:
        """Return the total of every feasible node."""
        found = scheduling_cycle.find_feasible(self.field, self.profile, pod, self.cache.table.shape_of(pod))
        ranking = scheduling_cycle.rank(self.field, self.profile, pod, found)
        names = self.cache.table.names()
        return {names[row]: int(ranking.total[row]) for row in found.feasible.nonzero()[0].tolist()}
