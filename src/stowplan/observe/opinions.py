"""Every filter's opinion of every row, without upstream's short circuit.

`explain` puts the opinions in order; `nearest` has single filters asked again about a pod that asks for less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stowplan.engine.scheduling_cycle import Field
from stowplan.framework.contract import Filter, Narrowed, Skip
from stowplan.framework.kept.asking import AnswerWatch, ask_filter
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Vocabulary, Words
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask
from stowplan.table.journal import Reads
from stowplan.table.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Opinions:
    """Who refuses which row, and who refuses the pod as a whole."""

    plugins: tuple[str, ...]
    words: NDArray[np.int32]  # (plugins, nodes)
    vocabulary: Vocabulary
    #: What PreFilter says of the pod as a whole, in the order of the plugins.
    refusals: tuple[Rejection, ...] = ()
    #: Plugins that failed when they were asked about rows that another plugin refuses already.
    faults: tuple[str, ...] = ()

    def about(self, row: int) -> tuple[Rejection, ...]:
        """Return every rejection of a row, in the order of the plugins."""
        return tuple(self.vocabulary[number] for number in self.words[:, row].tolist() if number)


@dataclass(frozen=True, slots=True)
class Panel:
    """The filters of a profile, ready to be asked about a pod or a variant of it."""

    profile: Profile
    reads: Reads
    #: All rows, first as they would be with the pods nominated to them, if there are any, then as they are.
    views: tuple[Nodes, ...]

    def hear(self, pod: Pod) -> Opinions:
        """Ask every filter about every row."""
        vocabulary = Vocabulary()
        said: dict[str, Words] = {}
        refusals: list[Rejection] = []
        faults: list[str] = []
        for plugin in self.profile.filter:
            try:
                answer = self._ask(plugin, pod, vocabulary)
            except PluginError as error:
                faults.append(str(error))
                continue
            if isinstance(answer, Rejection):
                refusals.append(answer)
            else:
                said[plugin.name] = answer
        words = np.stack(list(said.values())) if said else np.zeros((0, self._rows), dtype=np.int32)
        refusals += self._refusals_without_filter(pod)
        return Opinions(tuple(said), words, vocabulary, tuple(refusals), tuple(faults))

    def refused(self, name: str, pod: Pod) -> Mask:
        """Say which rows the plugin of that name refuses to `pod`."""
        answer = self._ask(self.filter(name), pod, Vocabulary())
        return np.ones(self._rows, dtype=bool) if isinstance(answer, Rejection) else answer != 0

    def filter(self, name: str) -> Filter:
        """Return the filter of that name."""
        return next(plugin for plugin in self.profile.filter if plugin.name == name)

    @property
    def _rows(self) -> int:
        return len(self.views[0])

    def _ask(self, plugin: Filter, pod: Pod, vocabulary: Vocabulary) -> Words | Rejection:
        state = self._state(plugin.name, pod)
        if isinstance(state, Rejection):
            return state
        words = np.zeros(self._rows, dtype=np.int32)
        for nodes in () if isinstance(state, Skip) else self.views:
            nodes.asked = words == 0
            blame = (plugin.name, "Filter", pod)
            said = AnswerWatch(self.reads).ask(0, blame, ask_filter, plugin, pod, nodes, state, vocabulary)
            if said is not None:
                np.copyto(words, said, where=words == 0)
        return words

    def _state(self, name: str, pod: Pod) -> Any:
        """Return what the plugin's `filter` is to be given: None without a `pre_filter`."""
        plugin = next((plugin for plugin in self.profile.pre_filter if plugin.name == name), None)
        if plugin is None:
            return None
        answer = AnswerWatch(self.reads).ask(0, (name, "PreFilter", pod), plugin.pre_filter, pod, self.views[-1])
        if isinstance(answer, Rejection):
            return Rejection(answer.reasons, answer.code, name)
        return answer.state if isinstance(answer, Narrowed) else answer

    def _refusals_without_filter(self, pod: Pod) -> list[Rejection]:
        """Ask the plugins that take part in PreFilter alone."""
        filters = {plugin.name for plugin in self.profile.filter}
        states = (self._state(plugin.name, pod) for plugin in self.profile.pre_filter if plugin.name not in filters)
        return [state for state in states if isinstance(state, Rejection)]


def panel(field: Field, profile: Profile, pod: Pod) -> Panel:
    """Return the panel that judges `pod` on the rows of the field's table."""
    table = field.table
    as_is = Nodes(table)
    nominated = {
        table.row_of[name]: [as_is.shape_of(other) for other in pods]
        for name, pods in field.nominations.ahead_of(pod).items()
        if name in table.row_of
    }
    if not nominated:
        return Panel(profile, table.reads, (as_is,))
    added = [nominated.get(row, []) for row in range(len(table))]
    return Panel(profile, table.reads, (as_is.suppose(as_is.all_rows, added, [[] for _ in added]), as_is))
