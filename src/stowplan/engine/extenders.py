"""What the flow asks extenders, and what it tells of their answers: filter, prioritize, preempt, bind.

`extender/chain.py` asks one after the other. `scheduling_cycle.py`, `post_filter.py` and `binding_cycle.py` ask here if
there are extenders. The table does not move meanwhile: what the cluster tells is applied after the cycle.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from stowplan.engine.ports import ExtenderSaid
from stowplan.extender import chain
from stowplan.extender.chain import ExtendedVerdict, NodeRejections, OpenQuestions, Prioritized
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Extender, NodesByName, PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Extenders:
    """The extenders of a configuration, in order."""

    members: Sequence[Extender]
    pods_on: PodsOn
    #: Told what extenders said against pods, and which of them failed.
    tell: Callable[[ExtenderSaid], None]
    #: Draws between equal nodes that extenders have scored: upstream leaves these to chance, whatever else it does.
    draw: Callable[[int], int]
    #: What the cycle under way waits for.
    questions: OpenQuestions = dataclasses.field(default_factory=OpenQuestions)

    async def filter(self, pod: Pod, nodes: NodesByName) -> ExtendedVerdict:
        """Narrow nodes to those that no extender refuses."""
        narrowed = await chain.narrow(self.members, pod, nodes, self.questions)
        self._tell_errors(pod, narrowed.ignored, is_ignored=True)
        if not narrowed.names:
            for extender, refusals in narrowed.rejections:
                self.tell(ExtenderSaid(pod, extender.name, "filter", in_words(refusals)))
        return narrowed

    async def accept(self, pod: Pod, node: Node) -> bool:
        """Say whether everybody agrees to the node nominated for a pod; trouble with it is no reason to fail."""
        try:
            narrowed = await chain.narrow(self.members, pod, {node.name: node}, self.questions)
        except ExtenderError as error:
            self._tell_errors(pod, [error], is_ignored=True)
            return False
        return bool(narrowed.names)

    async def prioritize(self, pod: Pod, nodes: NodesByName) -> Prioritized:
        """Return what the extenders give to nodes."""
        given = await chain.prioritize(self.members, pod, nodes, self.questions)
        self._tell_errors(pod, given.ignored, is_ignored=True)
        return given

    async def agree(self, pod: Pod, candidates: Sequence[Preemption]) -> Sequence[Preemption]:
        """Return the candidates for preemption that no extender objects to."""
        try:
            agreed = await chain.agree(self.members, pod, candidates, self.pods_on, self.questions)
        except ExtenderError as error:
            self.tell_failure(pod, error)
            raise
        self._tell_errors(pod, agreed.ignored, is_ignored=True)
        for extender, left in agreed.rejections:
            self.tell(ExtenderSaid(pod, extender, "preempt", f"{left} of the nodes offered may be preempted on"))
        return agreed.candidates

    async def bind(self, pod: Pod, node_name: str) -> Rejection | Literal[False] | None:
        """Have an extender bind the pod: None if one did, False if that is for the plugins to do."""
        try:
            answer = await chain.bind(self.members, pod, node_name)
        except ExtenderError as error:
            self.tell_failure(pod, error)
            return Rejection((str(error),), Code.ERROR)
        self._tell_errors(pod, answer.ignored, is_ignored=True)
        return None if answer.is_bound else False

    def tell_failure(self, pod: Pod, error: ExtenderError) -> None:
        """Tell of an extender for which an attempt failed."""
        self._tell_errors(pod, [error], is_ignored=False)

    def _tell_errors(self, pod: Pod, errors: Iterable[ExtenderError], *, is_ignored: bool) -> None:
        for error in errors:
            self.tell(ExtenderSaid(pod, error.extender, error.verb, str(error), True, is_ignored))


def in_words(refusals: NodeRejections) -> str:
    """Say how many nodes an extender refuses, and why."""
    reasons = Counter(", ".join(rejection.reasons) or "without a word" for rejection in refusals.values())
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"rejects {len(refusals)} node{'' if len(refusals) == 1 else 's'}: {counted}"
