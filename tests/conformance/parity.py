"""The page of the documentation that says how far our decisions agree with kube-scheduler's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from stowplan.config.releases import RELEASES
from tests.conformance.running import Count, Tally

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parity.md"

_GATE = "gate-"
_HEAD = """\
# Parity with kube-scheduler

This page is generated: `python -m tests.conformance --write-parity`.

## How it was measured

For each release a corpus of cases was decided by kube-scheduler itself, of the patch release that the columns name,
with its real plugins, cache and queue, and every node evaluated.
Feature gates are at their defaults, except in cases of kind `gates`: their features name the gates that are switched.
Each case is decided again by Stowplan and compared field by field: for a scheduling cycle the refusal of every node
with its plugin, code and reasons, the feasible nodes, the raw, normalised and weighted score of every plugin on every
node, the totals, the best nodes, the devices that each node would give, and the message of the failure. A story is a
whole scheduler over time, in lockstep with a recorded cluster: after each step the node, the nominated node and the
condition of every pod are compared, and the events of the step. A case agrees only if every field of it does.

Every scheduling cycle is decided without kept answers, with them, a second time from them, and around the arrival and
departure of a pod; each time the kept answer must be what is decided without it. Every story is told with kept answers
and, on request, without.
"""


Tallies = Mapping[str, Tally]


def page(tallies: Tallies) -> str:
    """Write the page."""
    return "\n".join((_HEAD, *_kinds(tallies), "", *_gates(tallies), "", *_tags(tallies), ""))


def _kinds(tallies: Tallies) -> Iterator[str]:
    yield "## By kind\n"
    yield from _head("kind", tallies)
    for kind in sorted({kind for tally in tallies.values() for kind in (*tally.kinds, *tally.not_compared)}):
        yield _row(kind, [_of_kind(tally, kind) for tally in tallies.values()])
    for release, tally in tallies.items():
        for kind, cases in sorted(tally.wording.items()):
            if cases:
                yield f"\nOf kind {kind} of {release}, {cases} say the same in other words; that is no difference here."


def _of_kind(tally: Tally, kind: str) -> str:
    cases = tally.not_compared.get(kind)
    return f"not compared yet: {cases}" if cases else _counted(tally.kinds.get(kind))


def _gates(tallies: Tallies) -> Iterator[str]:
    yield "## By feature gate\n"
    yield "Cases in which a gate is not at its default; one case may switch several.\n"
    yield from _tagged(tallies, "gate", _is_gate)


def _tags(tallies: Tallies) -> Iterator[str]:
    yield "## By feature\n"
    yield from _tagged(tallies, "kind: feature", lambda kind, tag: not _is_gate(kind, tag))


def _is_gate(kind: str, tag: str) -> bool:
    return kind == "gates" and tag.startswith(_GATE)


def _tagged(tallies: Tallies, what: str, is_wanted: Callable[[str, str], bool]) -> Iterator[str]:
    yield from _head(what, tallies)
    for kind, tag in sorted({key for tally in tallies.values() for key in tally.tags if is_wanted(*key)}):
        yield _row(f"{kind}: {tag}", [_counted(tally.tags.get((kind, tag))) for tally in tallies.values()])


def _head(what: str, tallies: Tallies) -> Iterator[str]:
    yield f"| {what} | {' | '.join(f'agreed of total, {RELEASES[release]}' for release in tallies)} |"
    yield f"|---|{'---:|' * len(tallies)}"


def _row(label: str, figures: Sequence[str]) -> str:
    return f"| {label} | {' | '.join(figures)} |"


def _counted(count: Count | None) -> str:
    return "-" if count is None else f"{count.agreed} of {count.total}"
