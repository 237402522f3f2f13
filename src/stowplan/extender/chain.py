"""Several extenders together: who is asked after whom, whose failure ends the attempt, and what their answers come to.

Where an extender that may be ignored fails, it is as if it were not there; `ignored` says so, for whoever listens.
The failure of another is an ExtenderError: the attempt could not be finished, whatever the nodes are like.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stowplan.framework.contract import Preemption
from stowplan.framework.extending import Extender, NodesByName, PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod

Faults = tuple[ExtenderError, ...]


@dataclass(frozen=True, slots=True)
class ExtendedVerdict:
    """The nodes that all extenders let through, and the last word against others (`framework.extending` adds both)."""

    names: tuple[str, ...]
    rejected: Mapping[str, Rejection]
    ignored: Faults = ()


@dataclass(frozen=True, slots=True)
class Prioritized:
    """What each extender adds to the totals of nodes, in the order of the configuration."""

    given: tuple[tuple[str, Mapping[str, int]], ...]
    ignored: Faults = ()

    @property
    def total(self) -> dict[str, int]:
        """What they add together, by node; nothing for nodes that are left out."""
        total: Counter[str] = Counter()
        for _, added in self.given:
            total.update(added)
        return dict(total)


@dataclass(frozen=True, slots=True)
class BindAnswer:
    """Whether an extender has bound the pod; if not, it is for the plugins to do."""

    is_bound: bool
    ignored: Faults = ()


@dataclass(frozen=True, slots=True)
class Agreed:
    """The candidates that no extender objects to, with the victims the last one asked would take."""

    candidates: Sequence[Preemption]
    ignored: Faults = ()


async def narrow(extenders: Iterable[Extender], pod: Pod, nodes: NodesByName) -> ExtendedVerdict:
    """Ask which nodes can take the pod: each about those that are left, until none is."""
    rejected: dict[str, Rejection] = {}
    ignored: list[ExtenderError] = []
    for extender in extenders:
        if not nodes:
            break
        if not extender.is_filter or not extender.is_interested(pod):
            continue
        try:
            filtered = await extender.filter(pod, nodes)
        except ExtenderError as error:
            _ignore(extender, error, ignored)
            continue
        rejected |= filtered.rejections()
        nodes = {name: nodes[name] for name in filtered.names}
    return ExtendedVerdict(tuple(nodes), rejected, tuple(ignored))


async def prioritize(extenders: Iterable[Extender], pod: Pod, nodes: NodesByName) -> Prioritized:
    """Ask all at once how good the nodes are; one that fails, ignorable or not, adds nothing."""
    asked = [extender for extender in extenders if extender.is_prioritizer and extender.is_interested(pod)]
    answers = await asyncio.gather(*(_scores(extender, pod, nodes) for extender in asked))
    given, faults = [], []
    for extender, answer in zip(asked, answers, strict=True):
        if isinstance(answer, ExtenderError):
            faults.append(answer)
        else:
            given.append((extender.name, answer))
    return Prioritized(tuple(given), tuple(faults))


async def bind(extenders: Iterable[Extender], pod: Pod, node_name: str) -> BindAnswer:
    """Have the first extender bind the pod that binds such pods at all."""
    ignored: list[ExtenderError] = []
    for extender in extenders:
        if not extender.is_binder or not extender.is_interested(pod):
            continue
        try:
            await extender.bind(pod, node_name)
        except ExtenderError as error:
            _ignore(extender, error, ignored)
            continue
        return BindAnswer(True, tuple(ignored))
    return BindAnswer(False, tuple(ignored))


async def agree(extenders: Iterable[Extender], pod: Pod, candidates: Sequence[Preemption], pods_on: PodsOn) -> Agreed:
    """Ask on which nodes room may be made: each about the candidates that are left, until none is."""
    ignored: list[ExtenderError] = []
    for extender in extenders:
        if not candidates:
            break
        if not extender.is_preemptor or not extender.is_interested(pod):
            continue
        try:
            answer = await extender.preempt(pod, candidates, pods_on)
        except ExtenderError as error:
            _ignore(extender, error, ignored)
            continue
        candidates = _with_victims(extender, answer)
    return Agreed(candidates, tuple(ignored))


async def _scores(extender: Extender, pod: Pod, nodes: NodesByName) -> Mapping[str, int] | ExtenderError:
    try:
        return await extender.prioritize(pod, nodes)
    except ExtenderError as error:
        return error


def _with_victims(extender: Extender, answer: Sequence[Preemption]) -> Sequence[Preemption]:
    """Leave out candidates without victims, which only an extender that may be ignored can get away with."""
    for candidate in answer:
        if not candidate.victims and not extender.is_ignorable:
            raise ExtenderError(f'expected at least one victim pod on node "{candidate.node_name}"')
    return [candidate for candidate in answer if candidate.victims]


def _ignore(extender: Extender, error: ExtenderError, ignored: list[ExtenderError]) -> None:
    """Note the error of an extender that may fail; let that of another end the attempt."""
    if not extender.is_ignorable:
        raise error
    ignored.append(error)
