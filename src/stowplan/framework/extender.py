"""What the scheduler asks of an extender, and what its rejections mean to a verdict.

`extender.client` asks real ones over HTTP; `extender.chain` says what the answers of several come to. Here is only what
both sides must agree on, so that nothing that decides knows how an extender is reached.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stowplan.framework.contract import Preemption
from stowplan.framework.profile import EXTENDER
from stowplan.framework.verdict import Code, Rejection, Verdict
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask

#: The nodes in question, by name, in the order in which they were found.
NodesByName = Mapping[str, Node]
#: The pods on a node; None if there is no such node.
PodsOn = Callable[[str], Iterable[Pod] | None]


@dataclass(frozen=True, slots=True)
class Filtered:
    """An extender's answer about nodes: which it lets through, and what it says about others.

    A node may be in none of the three: it is rejected without a word. One in both maps is unresolvable.
    """

    names: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    #: Whether it sent back whole nodes; plugins then score them as if nothing were on them, as upstream has it.
    has_whole_nodes: bool = field(default=False, compare=False)

    def rejections(self) -> dict[str, Rejection]:
        """Return the word against each node that was rejected with one."""
        failed = {name: Rejection((text,), Code.UNSCHEDULABLE, EXTENDER) for name, text in self.failed.items()}
        never = {name: Rejection((text,), Code.UNRESOLVABLE, EXTENDER) for name, text in self.unresolvable.items()}
        return {**failed, **never}


class Extender(Protocol):
    """A service outside the scheduler that has a say. Every question raises ExtenderError if it is not answered."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> int:
        """How much its scores count."""

    @property
    def is_ignorable(self) -> bool:
        """Whether the attempt goes on without it when it fails."""

    @property
    def is_filter(self) -> bool: ...

    @property
    def is_prioritizer(self) -> bool: ...

    @property
    def is_binder(self) -> bool: ...

    @property
    def is_preemptor(self) -> bool: ...

    def is_interested(self, pod: Pod) -> bool:
        """Say whether it is to be asked about this pod at all."""

    async def filter(self, pod: Pod, nodes: NodesByName) -> Filtered: ...

    async def prioritize(self, pod: Pod, nodes: NodesByName) -> Mapping[str, int]:
        """Return what it adds to the totals of nodes, its weight applied; a node left out gets nothing."""

    async def bind(self, pod: Pod, node_name: str) -> None: ...

    async def preempt(self, pod: Pod, candidates: Sequence[Preemption], pods_on: PodsOn) -> list[Preemption]:
        """Return the candidates it agrees to, with the victims it would take."""

    async def retire(self) -> None:
        """Close it as soon as every question to it is answered; none are asked any more."""

    async def close(self) -> None:
        """Close it at once."""


def wants_every_node(extenders: Iterable[Extender]) -> bool:
    """Say whether the search may not stop at the first feasible node, even if no plugin scores."""
    return any(extender.is_filter or extender.is_prioritizer for extender in extenders)


def with_rejections(verdict: Verdict, kept: Iterable[str], rejected: Mapping[str, Rejection]) -> Verdict:
    """Return the verdict after extenders let only `kept` through, of the nodes that it calls feasible.

    Their words also replace those of plugins, on nodes they were not asked about.
    """
    row_of = {name: row for row, name in enumerate(verdict.names)}
    words = verdict.words.copy()
    survivors = frozenset(kept)
    silent = verdict.feasible
    silent[[row_of[name] for name in survivors]] = False
    for name, rejection in rejected.items():
        row = row_of.get(name)
        # A node that was let through in spite of a word against it stays feasible.
        if row is not None and name not in survivors:
            words[row] = verdict.vocabulary.number(rejection)
            silent[row] = False
    if silent.any():
        words[silent] = verdict.vocabulary.number(_without_a_word(verdict))
    strangers = tuple(rejection for name, rejection in rejected.items() if name not in row_of)
    return dataclasses.replace(verdict, words=words, strangers=strangers)


def unseen(verdict: Verdict, rows: Mask) -> Verdict:
    """Return the verdict as if some rows had not been looked at, because enough feasible ones were found before."""
    words = verdict.words.copy()
    words[rows & (words != 0)] = verdict.vocabulary.number(_without_a_word(verdict))
    return dataclasses.replace(verdict, words=words)


def _without_a_word(verdict: Verdict) -> Rejection:
    """Return the rejection of nodes that an extender dropped without saying why.

    Upstream has no status for them, so they share the sentence about nodes that PreFilter ruled out, if it did.
    """
    narrowed_by = " ".join(sorted(verdict.narrowed_by))
    reasons = (f"node(s) didn't satisfy plugin(s) [{narrowed_by}]",) if verdict.narrowed_to is not None else ()
    return Rejection(reasons, Code.UNRESOLVABLE, EXTENDER)
