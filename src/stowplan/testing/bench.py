"""A small cluster around one plugin: asks it as the scheduler would, and gives answers that can be compared.

`check_plugin` decides what the answers must have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import numpy as np

from stowplan.cache.cache import Cache
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Filter, FilterNode, Narrowed, Plugin, PreFilter, PreScore, Score, ScoreNode
from stowplan.framework.kept.asking import ask_filter, ask_score
from stowplan.framework.per_node import EachNodeFilter, EachNodeScore
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Vocabulary
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes

T = TypeVar("T")

READ_ONLY = "columns are shared by all plugins; copy an array before you write to it"


class Bench:
    """A plugin on a cluster of its own."""

    def __init__(self, plugin: Plugin, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        self.plugin = plugin
        self.cache = Cache()
        self.pending: list[Pod] = []
        for name, read in plugin.columns.items():
            self.cache.table.facts.declare(name, read)
        for node in nodes:
            self.cache.add_node(node)
        for pod in pods:
            if pod.spec.node_name in self.cache.table.row_of:
                self.cache.add_pod(pod)
            else:
                self.pending.append(pod)

    @property
    def names(self) -> list[str]:
        return self.cache.table.names()

    @property
    def filters(self) -> list[Filter]:
        """The plugin's filters as arrays: its own, and its per-node one lifted."""
        plugin = self.plugin
        own = [plugin] if isinstance(plugin, Filter) else []
        return own + ([EachNodeFilter(plugin)] if isinstance(plugin, FilterNode) else [])

    @property
    def scorers(self) -> list[Score]:
        plugin = self.plugin
        own = [plugin] if isinstance(plugin, Score) else []
        return own + ([EachNodeScore(plugin)] if isinstance(plugin, ScoreNode) else [])

    @property
    def profile(self) -> Profile:
        """A profile with this plugin alone."""
        plugin = self.plugin
        return Profile(
            name="check",
            pre_filter=(plugin,) if isinstance(plugin, PreFilter) else (),
            filter=tuple(self.filters[:1]),
            pre_score=(plugin,) if isinstance(plugin, PreScore) else (),
            score=tuple((scorer, 1) for scorer in self.scorers[:1]),
            foreign=(plugin,),
        )

    def all_nodes(self) -> Nodes:
        return Nodes(self.cache.table)

    # Questions

    def pre_filter(self, pod: Pod) -> Any:
        """Return the state for the filters, or `SKIP`, or a rejection of the pod."""
        plugin = self.plugin
        if not isinstance(plugin, PreFilter):
            return None
        answer = self.ask(pod, lambda: plugin.pre_filter(pod, self.all_nodes()))
        return answer.state if isinstance(answer, Narrowed) else answer

    def words(self, plugin: Filter, pod: Pod, nodes: Nodes, state: Any) -> list[Rejection | None]:
        """Return what a filter says of every row."""
        vocabulary = Vocabulary()
        said = self.ask(pod, lambda: ask_filter(plugin, pod, nodes, state, vocabulary))
        return [None] * len(nodes) if said is None else [vocabulary.rejections[number] for number in said.tolist()]

    def pre_score(self, pod: Pod, feasible: Mask) -> Any:
        """Return the state for the scores, or `SKIP`."""
        plugin = self.plugin
        if not isinstance(plugin, PreScore):
            return None
        nodes = self.all_nodes()
        nodes.feasible_rows, nodes.feasible_journal = feasible, Journal()
        return self.ask(pod, lambda: plugin.pre_score(pod, nodes))

    def scores(self, plugin: Score, pod: Pod, nodes: Nodes, state: Any) -> list[int]:
        """Return the raw scores of every row."""

        def ask() -> list[int]:
            with np.errstate(invalid="raise"):
                scores: list[int] = ask_score(plugin, pod, nodes, state).tolist()
            return scores

        return self.ask(pod, ask)

    def ask(self, pod: Pod, question: Callable[[], T]) -> T:
        """Put a question; whatever the plugin raises breaks the contract."""
        with self.watching(pod):
            return question()

    @contextmanager
    def watching(self, pod: Pod) -> Iterator[None]:
        """Turn what the plugin raises into a failed check, and see that it leaves the columns alone."""
        resources = self.cache.table.resources
        before = resources.allocatable.tobytes(), resources.requested.tobytes()
        try:
            yield
        except PluginError as error:
            self.fail(pod, plugin_faults.said(error.__cause__ or error))
        except plugin_faults.FAULTS as error:
            hint = f"; {READ_ONLY}" if "read-only" in str(error) else ""
            self.fail(pod, f"it raised {plugin_faults.spelled(error)}{hint}")
        if before != (resources.allocatable.tobytes(), resources.requested.tobytes()):
            self.fail(pod, f"it changed what it was given to read; {READ_ONLY}")

    def fail(self, pod: Pod, problem: str) -> NoReturn:
        raise AssertionError(f"plugin {self.plugin.name!r} breaks the contract with pod {pod.key!r}: {problem}")
