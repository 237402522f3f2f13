"""What extenders say of a pod when they are asked for an explanation: each for itself, and what it comes to.

Nothing is bound and nobody evicted: only filter and prioritize are asked. `explain` puts what is heard beside the
opinions of plugins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stowplan.extender import chain
from stowplan.extender.chain import ExtendedVerdict, Prioritized, Refusals
from stowplan.framework.extending import Extender, NodesByName
from stowplan.framework.handle import ExtenderError
from stowplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class ExtenderReport:
    """What one extender says."""

    name: str
    #: Whether it is asked about such pods at all.
    is_interested: bool
    weight: int
    rejected: Refusals = field(default_factory=dict)
    #: What it adds to the totals of nodes.
    added: Mapping[str, int] = field(default_factory=dict)
    #: By verb, how it failed.
    errors: Mapping[str, str] = field(default_factory=dict)
    is_ignorable: bool = False


@dataclass(frozen=True, slots=True)
class Hearing:
    """What all extenders say of some nodes, in the order in which they are asked."""

    asked: frozenset[str]
    narrowed: ExtendedVerdict
    reports: tuple[ExtenderReport, ...]
    #: The failure that ends an attempt; empty if there is none.
    error: str = ""


async def hear(extenders: Sequence[Extender], pod: Pod, nodes: NodesByName) -> Hearing:
    """Ask all extenders about the nodes that plugins let through."""
    everything = ExtendedVerdict(tuple(nodes), {})
    try:
        narrowed = await chain.narrow(extenders, pod, nodes) if nodes else everything
    except ExtenderError as error:
        reports = tuple(_report(extender, pod, everything, Prioritized(()), (error,)) for extender in extenders)
        return Hearing(frozenset(nodes), ExtendedVerdict((), {}), reports, str(error))
    given = Prioritized(())
    if len(narrowed.names) > 1:
        given = await chain.prioritize(extenders, pod, {name: nodes[name] for name in narrowed.names})
    errors = (*narrowed.ignored, *given.ignored)
    reports = tuple(_report(extender, pod, narrowed, given, errors) for extender in extenders)
    return Hearing(frozenset(nodes), narrowed, reports)


def _report(
    extender: Extender,
    pod: Pod,
    narrowed: ExtendedVerdict,
    given: Prioritized,
    errors: Sequence[ExtenderError],
) -> ExtenderReport:
    name = extender.name
    return ExtenderReport(
        name,
        extender.is_interested(pod),
        extender.weight,
        next((refusals for by, refusals in narrowed.refusals if by is extender), {}),
        next((added for by, (_, added) in zip(given.givers, given.given, strict=True) if by is extender), {}),
        {error.verb: str(error) for error in errors if error.extender == name},
        extender.is_ignorable,
    )
