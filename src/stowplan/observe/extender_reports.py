"""What extenders say of a pod when they are asked for an explanation: each for itself, and what it comes to.

Nothing is bound and nobody evicted: only filter and prioritize are asked. `explain` puts what is heard beside the
opinions of plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from stowplan.extender import chain
from stowplan.extender.chain import ExtendedVerdict, ExtenderQuestion, NodeRejections, OpenQuestions, Prioritized
from stowplan.framework.extender import Extender, NodesByName
from stowplan.framework.handle import ExtenderError
from stowplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class ExtenderReport:
    """What one extender says."""

    name: str
    #: Whether it is asked about such pods at all.
    is_interested: bool
    weight: int
    rejected: NodeRejections = field(default_factory=dict)
    #: What it adds to the totals of nodes.
    added: Mapping[str, int] = field(default_factory=dict)
    #: By verb, how it failed.
    errors: Mapping[str, str] = field(default_factory=dict)
    is_ignorable: bool = False
    #: The verbs that it was asked.
    asked: frozenset[str] = frozenset()
    #: Why it was not asked at all, though the pod is of interest to it; "" if it was.
    unasked: str = ""


@dataclass(frozen=True, slots=True)
class ExtenderReports:
    """What all extenders say of some nodes, in the order in which they are asked."""

    asked: frozenset[str]
    narrowed: ExtendedVerdict
    reports: tuple[ExtenderReport, ...]
    #: The failure that ends an attempt; empty if there is none.
    error: str = ""


class _Record(OpenQuestions):
    """Remembers all that was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[ExtenderQuestion] = []

    @contextmanager
    def asked(self, pod: Pod, question: ExtenderQuestion) -> Iterator[None]:
        self.all.append(question)
        with super().asked(pod, question):
            yield

    def verbs(self, extender: Extender) -> frozenset[str]:
        return frozenset(asked.verb for asked in self.all if asked.extender is extender)


async def ask_extenders(extenders: Sequence[Extender], pod: Pod, nodes: NodesByName) -> ExtenderReports:
    """Ask all extenders about the nodes that plugins let through."""
    heard = _Heard(ExtendedVerdict((), {}), _Record())
    try:
        if nodes:
            heard.narrowed = await chain.narrow(extenders, pod, nodes, heard.record)
    except ExtenderError as error:
        heard.errors, heard.failure = (error,), str(error)
    else:
        left = {name: nodes[name] for name in heard.narrowed.names}
        if len(left) > 1:
            heard.given = await chain.prioritize(extenders, pod, left, heard.record)
        heard.errors = (*heard.narrowed.ignored, *heard.given.ignored)
    reports = tuple(_report(extender, pod, heard) for extender in extenders)
    return ExtenderReports(frozenset(nodes), heard.narrowed, reports, heard.failure)


@dataclass(slots=True)
class _Heard:
    """What came back so far."""

    narrowed: ExtendedVerdict
    record: _Record
    given: Prioritized = field(default_factory=lambda: Prioritized(()))
    errors: tuple[ExtenderError, ...] = ()
    failure: str = ""


def _report(extender: Extender, pod: Pod, heard: _Heard) -> ExtenderReport:
    name, given = extender.name, heard.given
    asked = heard.record.verbs(extender)
    return ExtenderReport(
        name,
        extender.is_interested(pod),
        extender.weight,
        next((rejections for by, rejections in heard.narrowed.rejections if by is extender), {}),
        next((added for by, (_, added) in zip(given.givers, given.given, strict=True) if by is extender), {}),
        {error.verb: str(error) for error in heard.errors if error.extender == name and error.verb in asked},
        extender.is_ignorable,
        asked,
        "" if asked else _why_unasked(extender, heard),
    )


def _why_unasked(extender: Extender, heard: _Heard) -> str:
    if not extender.is_filter and not extender.is_prioritizer:
        return "is not asked about nodes"
    if heard.failure:
        return "is not asked: another extender failed before"
    if not heard.narrowed.names:
        return "is not asked: no node is left to ask about"
    return "is not asked: the one node that is left needs no score"
