"""What would help a pod that a filter rejected: the words in which plugins say it.

A plugin's `remedies` (see `contract.Plugin`) is given the rows that it rejected and answers with needs.
`observe/opinions.py` puts the needs of a row together and lets the filters check the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from stowplan.model.affinity import Toleration
from stowplan.model.node import Taint
from stowplan.model.pod import Container, Pod
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes


class Remedy:
    """What could be different about a pod, or a node, for the two to go together.

    Its text completes "3 nodes would fit ...".
    """

    __slots__ = ()

    def relax(self, pod: Pod) -> Pod | None:
        """Return the pod as it would then be, for the filters to check; None if nothing about the pod would help."""
        return None

    def with_amounts(self, least: int, most: int) -> Remedy:
        """Return the remedy for nodes that need these amounts of it."""
        return self


@dataclass(frozen=True, slots=True)
class Need:
    """A remedy, the rows that need it, and, where that can be measured, how much of it each row needs."""

    remedy: Remedy
    rows: Mask
    amounts: Scores | None = None
    #: What the pod asks for, of which the amounts are a part.
    requested: int = 0


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """The rows that one filter rejected for a pod."""

    pod: Pod
    nodes: Nodes
    mask: Mask
    #: Which rows the filter rejects for a variant of the pod.
    ask: Callable[[Pod], Mask]

    def still_rejected(self, pod: Pod) -> Mask:
        """Say which of the rows the filter also rejects for a variant of the pod."""
        return self.mask & self.ask(pod)

    def first_that_helps(self, remedies: Iterable[Remedy]) -> Iterator[Need]:
        """Give each row the first remedy that makes the filter accept it."""
        left = self.mask
        for remedy in remedies:
            relaxed = remedy.relax(self.pod)
            if relaxed is None or not left.any():
                continue
            rejected = self.still_rejected(relaxed)
            yield Need(remedy, left & ~rejected)
            left = left & rejected


@dataclass(frozen=True, slots=True)
class Variant(Remedy):
    """Change the pod in a way that can be told in words; two that read alike are the same."""

    text: str
    change: Callable[[Pod], Pod] = field(compare=False)

    def relax(self, pod: Pod) -> Pod:
        return self.change(pod)

    def __str__(self) -> str:
        return self.text


def tolerate(taint: Taint) -> Variant:
    """Return the remedy to tolerate a taint."""
    more = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    text = f"if the pod tolerated {taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
    return Variant(text, lambda pod: with_spec(pod, tolerations=(*pod.spec.tolerations, more)))


def with_spec(pod: Pod, **changes: Any) -> Pod:
    """Return the pod with some fields of its spec changed."""
    return replace(pod, spec=replace(pod.spec, **changes))


def with_containers(pod: Pod, change: Callable[[Container], Container]) -> Pod:
    """Return the pod with each of its containers changed."""
    containers, init_containers = map(change, pod.spec.containers), map(change, pod.spec.init_containers)
    return with_spec(pod, containers=tuple(containers), init_containers=tuple(init_containers))
