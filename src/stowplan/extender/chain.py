"""Several extenders together: who is asked after whom, whose failure ends the attempt, and what their answers come to.

Where an extender that may be ignored fails, it is as if it were not there; `ignored` says so, for whoever listens.
The failure of another is an ExtenderError: the attempt could not be finished, whatever the nodes are like.
`OpenQuestions` knows what is not answered yet, so that somebody who looks can say what a pod waits for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Extender, NodesByName, PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.framework.profile import EXTENDER
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod, pod_id

T = TypeVar("T")
ExtenderErrors = tuple[ExtenderError, ...]
#: By node, what an extender said against it.
NodeRejections = Mapping[str, Rejection]

#: A node that is not let through, and of which nothing is said.
WITHOUT_A_WORD: Final = Rejection((), Code.UNRESOLVABLE, EXTENDER)


@dataclass(frozen=True, slots=True)
class ExtendedVerdict:
    """The nodes that all extenders let through, in the order of the last that was asked, and the last word against
    others (`framework.extender` adds both to a verdict)."""

    names: tuple[str, ...]
    rejected: NodeRejections
    ignored: ExtenderErrors = ()
    #: Each extender that let less than everything through, and what it kept out.
    rejections: tuple[tuple[Extender, NodeRejections], ...] = field(default=(), compare=False)
    #: Whether the nodes came back whole from one of them.
    has_whole_nodes: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Prioritized:
    """What each extender adds to the totals of nodes, in the order of the configuration."""

    given: tuple[tuple[str, Mapping[str, int]], ...]
    ignored: ExtenderErrors = ()
    #: Whether an extender cares for the pod that scores nothing: upstream takes that for 0 points to every node.
    has_silent: bool = False
    #: Who gave it: two extenders may have the same name.
    givers: tuple[Extender, ...] = field(default=(), compare=False)

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
    ignored: ExtenderErrors = ()


@dataclass(frozen=True, slots=True)
class Agreed:
    """The candidates that no extender rejects, with the victims the last one asked would take."""

    candidates: Sequence[Preemption]
    ignored: ExtenderErrors = ()
    #: Each extender that left fewer, and how many.
    rejections: tuple[tuple[str, int], ...] = field(default=(), compare=False)


class ExtenderQuestion(NamedTuple):
    extender: Extender
    verb: str


class OpenQuestions:
    """What extenders are being asked, by pod."""

    def __init__(self) -> None:
        self._by_pod: dict[str, list[ExtenderQuestion]] = {}

    def of(self, pod: Pod) -> tuple[ExtenderQuestion, ...]:
        """Return what is not answered yet about a pod, in the order asked."""
        return tuple(self._by_pod.get(pod_id(pod), ()))

    @contextmanager
    def asked(self, pod: Pod, question: ExtenderQuestion) -> Iterator[None]:
        """Note a question for as long as it is open."""
        open_ones = self._by_pod.setdefault(pod_id(pod), [])
        open_ones.append(question)
        try:
            yield
        finally:
            open_ones.remove(question)
            if not open_ones:
                self._by_pod.pop(pod_id(pod), None)


async def narrow(
    extenders: Iterable[Extender], pod: Pod, nodes: NodesByName, questions: OpenQuestions | None = None
) -> ExtendedVerdict:
    """Ask which nodes can take the pod: each about those that are left, until none is."""
    rejected: dict[str, Rejection] = {}
    ignored: list[ExtenderError] = []
    rejections: list[tuple[Extender, NodeRejections]] = []
    has_whole_nodes = False
    for extender in extenders:
        if not nodes:
            break
        if not extender.is_filter or not extender.is_interested(pod):
            continue
        filtered = await _ask(extender, "filter", pod, extender.filter(pod, nodes), questions)
        if isinstance(filtered, ExtenderError):
            _ignore(extender, filtered, ignored)
            continue
        words, passed = filtered.rejections(), frozenset(filtered.names)
        kept_out = {name: words.get(name, WITHOUT_A_WORD) for name in nodes if name not in passed}
        if kept_out:
            rejections.append((extender, kept_out))
        rejected |= words
        has_whole_nodes = has_whole_nodes or filtered.has_whole_nodes
        nodes = {name: nodes[name] for name in filtered.names}
    return ExtendedVerdict(tuple(nodes), rejected, tuple(ignored), tuple(rejections), has_whole_nodes)


async def prioritize(
    extenders: Iterable[Extender], pod: Pod, nodes: NodesByName, questions: OpenQuestions | None = None
) -> Prioritized:
    """Ask all at once how good the nodes are; one that fails, ignorable or not, adds nothing."""
    interested = [extender for extender in extenders if extender.is_interested(pod)]
    asked = [extender for extender in interested if extender.is_prioritizer]
    answers = await asyncio.gather(
        *(_ask(each, "prioritize", pod, each.prioritize(pod, nodes), questions) for each in asked)
    )
    given, givers, faults = [], [], []
    for extender, answer in zip(asked, answers, strict=True):
        if isinstance(answer, ExtenderError):
            faults.append(answer)
        else:
            given.append((extender.name, answer))
            givers.append(extender)
    return Prioritized(tuple(given), tuple(faults), len(asked) < len(interested), tuple(givers))


async def bind(extenders: Iterable[Extender], pod: Pod, node_name: str) -> BindAnswer:
    """Have the first extender bind the pod that binds such pods at all."""
    ignored: list[ExtenderError] = []
    for extender in extenders:
        if not extender.is_binder or not extender.is_interested(pod):
            continue
        fault = await _ask(extender, "bind", pod, extender.bind(pod, node_name))
        if fault is None:
            return BindAnswer(True, tuple(ignored))
        _ignore(extender, fault, ignored)
    return BindAnswer(False, tuple(ignored))


async def agree(
    extenders: Iterable[Extender],
    pod: Pod,
    candidates: Sequence[Preemption],
    pods_on: PodsOn,
    questions: OpenQuestions | None = None,
) -> Agreed:
    """Ask on which nodes room may be made: each about the candidates that are left, until none is."""
    ignored: list[ExtenderError] = []
    rejections: list[tuple[str, int]] = []
    for extender in extenders:
        if not candidates:
            break
        if not extender.is_preemptor or not extender.is_interested(pod):
            continue
        answer = await _ask(extender, "preempt", pod, extender.preempt(pod, candidates, pods_on), questions)
        if isinstance(answer, ExtenderError):
            _ignore(extender, answer, ignored)
            continue
        left = _with_victims(extender, answer)
        if len(left) < len(candidates):
            rejections.append((extender.name, len(left)))
        candidates = left
    return Agreed(candidates, tuple(ignored), tuple(rejections))


async def _ask(
    extender: Extender, verb: str, pod: Pod, answer: Awaitable[T], questions: OpenQuestions | None = None
) -> T | ExtenderError:
    """Wait for an answer; a failure is one too, and says whose it is."""
    with (questions or OpenQuestions()).asked(pod, ExtenderQuestion(extender, verb)):
        try:
            return await answer
        except ExtenderError as error:
            error.extender, error.verb = extender.name, verb
            return error


def _with_victims(extender: Extender, answer: Sequence[Preemption]) -> Sequence[Preemption]:
    """Leave out candidates without victims, which only an extender that may be ignored can get away with."""
    for candidate in answer:
        if not candidate.victims and not extender.is_ignorable:
            error = ExtenderError(f'expected at least one victim pod on node "{candidate.node_name}"')
            error.extender, error.verb = extender.name, "preempt"
            raise error
    return [candidate for candidate in answer if candidate.victims]


def _ignore(extender: Extender, error: ExtenderError, ignored: list[ExtenderError]) -> None:
    """Note the error of an extender that may fail; let that of another end the attempt."""
    if not extender.is_ignorable:
        raise error
    ignored.append(error)
