"""What a plugin that may still help is told of an attempt that found no node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stowplan.framework.verdict import Verdict, Words
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape


class KeptWords(Protocol):
    """Tells who keeps words that `Attempt.suppose` gave which of them no longer hold.

    It is the same for all pods of a signature, so words can be kept by it from pod to pod. Who does, asks once in each
    attempt.
    """

    def stale(self, pod: Pod) -> set[int] | None:
        """Return the rows about which all words are void for `pod` since the last look; None for every row."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is known of an attempt that found no node: all that `post_filter` is given."""

    verdict: Verdict
    nodes: Nodes
    #: What the filters would say of hypothetical rows (`nodes.after`), as numbers in the vocabulary of the verdict;
    #: `suppose(nodes, True)` leaves out those who look at no pods, where they have let all rows pass already.
    suppose: Callable[..., Words]
    #: The plugins that PreFilter got to before it was over; None for all of them.
    prepared: frozenset[str] | None = None
    #: The same as `suppose` after pods were suspended, anywhere in the cluster (`PlacedPods` of the handle).
    ask_again: Callable[[Nodes], Words] | None = None
    #: By row, the nominated pods that must find room there too.
    nominated: Mapping[int, Sequence[PodShape]] = field(default_factory=dict)
    #: None if nothing can be kept.
    kept_words: KeptWords | None = None
