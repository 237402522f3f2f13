"""Why a pod group goes where it goes, or nowhere: by placement, and what making room would come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stowplan.observe.explanation import columns

WIDTH = 120


class PlacementReport(msgspec.Struct, frozen=True, rename="camel"):
    """What a placement takes of a group: the nodes by pod, and the first pod that it does not take."""

    #: The value of the label that makes the placement; "" if the group may go anywhere.
    name: str
    nodes: Mapping[str, str]
    is_enough: bool
    missing: str = ""
    #: What is against that pod; without one, against the placement.
    why: str = ""


class GroupExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """What is to be said of a group; `problem` if its pods cannot even be tried together."""

    group: str
    #: How many pods (in a group of groups, groups) need a node at the same time.
    needed: int
    pending: int
    scheduled: int
    placements: tuple[PlacementReport, ...] = ()
    #: What came of looking for room, if no placement is enough, and who would be evicted.
    making_room: str = ""
    victims: tuple[str, ...] = ()
    problem: str = ""
    #: Where it waits in the queue of a running scheduler, and how often it was tried.
    place: str = ""
    attempts: int = 0

    def __str__(self) -> str:
        return render_group(self, WIDTH)

    def data(self) -> Any:
        """Return it for programs."""
        return msgspec.to_builtins(self)


def render_group(explanation: GroupExplanation, width: int) -> str:
    """Write an explanation for a terminal."""
    head = f"{explanation.group}: {explanation.pending} pending, {explanation.scheduled} with a node"
    waits = [f"waits: {explanation.place}, tried {explanation.attempts} times"] if explanation.place else []
    if explanation.problem:
        return "\n".join([head, f"  {explanation.problem}", *waits])
    lines = [f"{head}, {explanation.needed} needed", *columns(list(map(_row, explanation.placements)), width)]
    if explanation.making_room:
        lines.append(explanation.making_room)
    lines += [f"  evicts {victim}" for victim in explanation.victims]
    return "\n".join([*lines, *waits])


def _row(report: PlacementReport) -> tuple[str, str]:
    """Say of a placement how many pods it takes, where, and what is against the next one."""
    taken = ", ".join(f"{pod} on {node}" for pod, node in report.nodes.items()) or "none"
    verdict = "fits" if report.is_enough else "does not fit"
    against = ": ".join(part for part in (report.missing, report.why) if part)
    told = "; ".join(part for part in (f"{verdict}, takes {len(report.nodes)} ({taken})", against) if part)
    return report.name or "anywhere", told
