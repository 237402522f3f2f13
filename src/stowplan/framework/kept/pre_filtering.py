"""PreFilter: what each plugin prepares for a pod, whom it rules out at once, and what it leaves to `filtering`.

Answers are kept; a plugin is asked again when anything it read has changed anywhere, because it looks at all nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stowplan.framework.contract import SKIP, Narrowed, Skip
from stowplan.framework.kept.asking import AnswerWatch, ask_pre_filter
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.table.journal import Reads
from stowplan.table.nodes import Nodes

# Answers that are more, or less, than a state.
NO_STATE = (Skip, Narrowed)


class PreFiltering:
    """The answers of all PreFilter plugins for the pods of one signature."""

    def __init__(self, profile: Profile, reads: Reads) -> None:
        self.rejection: Rejection | None = None
        #: The only nodes that will do, by name, and the plugins that said so.
        self.narrowed: frozenset[str] | None = None
        self.narrowed_by: tuple[str, ...] = ()
        self.skipped: frozenset[str] = frozenset()
        #: The plugins that were asked before a refusal, or a contradiction, made it pointless to ask on.
        self.prepared: frozenset[str] = frozenset()
        #: What each plugin prepared for its filter.
        self.states: dict[str, Any] = {}
        #: Whose state is new since the last time; None if that is not all that is new.
        self.restated: list[str] | None = None
        self._handles_resizes = profile.handles_resizes
        self._plugins = profile.pre_filter
        self._watch = AnswerWatch(reads, profile.stopwatch)
        # As many as plugins were asked: all, or up to the first that refused the pod for good, or left no node.
        self._answers: list[Any] = []
        self._is_new = True

    def refresh(self, pod: Pod, nodes: Nodes) -> bool:
        """Bring the answers up to date; say whether any was given anew."""
        stale = self._watch.stale()
        if not stale and not self._is_new:
            return False
        if not self._is_new and self.rejection is None and len(self._answers) == len(self._plugins):
            self.restated = self._ask_again(pod, nodes, sorted(stale))
        else:
            self.restated = None
            self._ask(pod, nodes, stale.keys())
        self._is_new = False
        if self.restated is None:
            self._conclude()
        return True

    def _ask_again(self, pod: Pod, nodes: Nodes, stale: list[int]) -> list[str] | None:
        """Ask some of those who all have answered, and take over their states; None if more than states is new."""
        restated, is_more = [], False
        for index in stale:
            plugin, before = self._plugins[index], self._answers[index]
            now = self._answers[index] = self._put(pod, nodes, index)
            if _is_final(now):
                del self._answers[index + 1 :]
                return None
            if isinstance(now, Rejection):
                is_more = True
            elif now is not before:
                is_more = is_more or isinstance(now, NO_STATE) or isinstance(before, NO_STATE)
                self.states[plugin.name] = now
                restated.append(plugin.name)
        return None if is_more else restated

    def _ask(self, pod: Pod, nodes: Nodes, stale: Collection[int]) -> None:
        """Ask every plugin whose answer does not hold, in order, up to the first that refuses the pod or its nodes.

        One that evictions may help ends nothing: what others say may be worse, and preemption needs what they prepare.
        """
        left: frozenset[str] | None = None
        answers = self._answers
        for index in range(len(self._plugins)):
            if index >= len(answers):
                answers.append(self._put(pod, nodes, index))
            elif index in stale:
                answers[index] = self._put(pod, nodes, index)
            answer = answers[index]
            if isinstance(answer, Narrowed):
                left = answer.names if left is None else left & answer.names
            if _is_final(answer) or (left is not None and not left):
                del answers[index + 1 :]
                return

    def _put(self, pod: Pod, nodes: Nodes, index: int) -> Any:
        plugin = self._plugins[index]
        if self._handles_resizes and not plugin.judges_resizes and pod.is_resize_deferred:
            return SKIP
        return self._watch.ask(index, (plugin.name, "PreFilter", pod), ask_pre_filter, plugin, pod, nodes)

    def _conclude(self) -> None:
        self.rejection, self.states = None, {}
        skipped: list[str] = []
        narrowings: dict[str, frozenset[str]] = {}
        prepared: list[str] = []
        for plugin, value in zip(self._plugins, self._answers, strict=False):
            name = plugin.name
            prepared.append(name)
            match value:
                case Skip():
                    skipped.append(name)
                case Rejection():
                    self.rejection = Rejection(value.reasons, value.code, name)
                case Narrowed():
                    narrowings[name] = value.names
                    self.states[name] = value.state
                case _:
                    self.states[name] = value
            if narrowings and not frozenset.intersection(*narrowings.values()):
                # What the others would say no longer matters.
                self.rejection = _contradiction(sorted(narrowings))
                break
        self.skipped, self.prepared = frozenset(skipped), frozenset(prepared)
        self.narrowed = frozenset.intersection(*narrowings.values()) if narrowings else None
        self.narrowed_by = tuple(narrowings)


def _is_final(answer: Any) -> bool:
    return isinstance(answer, Rejection) and answer.code is not Code.UNSCHEDULABLE


def _contradiction(plugins: list[str]) -> Rejection:
    """Refuse a pod when the node names that plugins allow have none in common."""
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
    if len(plugins) == 1:
        reason = f"node(s) didn't satisfy plugin {plugins[0]}"
    return Rejection((reason,), Code.UNRESOLVABLE)
