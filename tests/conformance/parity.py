"""The page of the documentation that says how far our decisions agree with kube-scheduler's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stowplan.plugins import NOT_BUILT
from tests.conformance.running import Count, Tally

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parity.md"

_GATE = "gate-"
_HEAD = """\
# Parity with kube-scheduler

This page is generated: `python -m tests.conformance --write-parity`.

## How it was measured

A corpus of cases was decided by kube-scheduler 1.36.4 with its real plugins, cache and queue, and every node evaluated.
Feature gates are at their defaults, except in cases of kind `gates`: their features name the gates that are switched.
Each case is decided again by Stowplan and compared field by field: for a scheduling cycle the refusal of every node
with its plugin, code and reasons, the feasible nodes, the raw, normalised and weighted score of every plugin on every
node, the totals, the best nodes, the devices that each node would give, and the message of the failure. A story is a
whole scheduler over time, in lockstep with a recorded cluster: after each step the node, the nominated node and the
condition of every pod are compared, and the events of the step. A case agrees only if every field of it does.

Every scheduling cycle is decided without kept answers, with them, a second time from them, and around the arrival and
departure of a pod; each time the kept answer must be what is decided without it. Every story is told with kept answers
and, on request, without.

A plugin that is not built yet is stood in for by its recorded refusals, so that the others are still compared in full;
what it skips and its own scores are left out, and so are the best nodes where those scores decided. Agreement reached
that way says nothing about the missing plugin: the column "assisted" counts it. Where such a plugin ended an attempt
before any node was looked at, the case waits, and waiting is not agreement.
"""


def page(tally: Tally) -> str:
    """Write the page."""
    return "\n".join((_HEAD, *_kinds(tally), "", *_waiting(tally), "", *_gates(tally), "", *_tags(tally), ""))


def _kinds(tally: Tally) -> Iterator[str]:
    yield "## By kind\n"
    yield "| kind | agreed | total | assisted | waiting |"
    yield "|---|---:|---:|---:|---:|"
    for kind, count in sorted(tally.kinds.items()):
        yield _row(kind, count)
    for kind, cases in sorted(tally.not_compared.items()):
        yield f"| {kind} | not compared yet | {cases} | | |"
    for kind, cases in sorted(tally.wording.items()):
        if cases:
            yield f"\nOf kind {kind}, {cases} say the same in other words; that is not counted as a difference."


def _waiting(tally: Tally) -> Iterator[str]:
    yield "## What waits\n"
    if not NOT_BUILT:
        yield "Nothing: every plugin is built."
        return
    yield "| plugin not built yet | cases that wait for it | cases in which it refused or scored |"
    yield "|---|---:|---:|"
    for plugin in NOT_BUILT:
        yield f"| {plugin} | {tally.waits_for[plugin]} | {tally.spoke[plugin]} |"


def _gates(tally: Tally) -> Iterator[str]:
    yield "## By feature gate\n"
    yield "Cases in which a gate is not at its default; one case may switch several.\n"
    yield "| gate | agreed | total |"
    yield "|---|---:|---:|"
    for (_, tag), count in sorted(tally.tags.items()):
        if tag.startswith(_GATE):
            yield f"| {tag.removeprefix(_GATE)} | {count.agreed} | {count.total} |"


def _tags(tally: Tally) -> Iterator[str]:
    yield "## By feature\n"
    yield "| kind: feature | agreed | total | assisted | waiting |"
    yield "|---|---:|---:|---:|---:|"
    for (kind, tag), count in sorted(tally.tags.items()):
        if tag.startswith(_GATE):
            continue
        yield _row(f"{kind}: {tag}", count)


def _row(label: str, count: Count) -> str:
    return f"| {label} | {count.agreed} | {count.total} | {count.assisted or ''} | {count.waiting or ''} |"
