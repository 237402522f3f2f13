"""What a run prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.running import Outcome, Tally

_WIDTH = 300


def summary(tally: Tally) -> Iterator[str]:
    """Yield one line per kind, then what is not compared."""
    for kind, count in sorted(tally.kinds.items()):
        yield f"{kind} {count.agreed}/{count.total}"
        if tally.wording[kind]:
            yield f"{kind} wording differs, not required: {tally.wording[kind]} cases"
    for kind, cases in sorted(tally.not_compared.items()):
        yield f"{kind} not compared: {cases} cases"


def clusters(tally: Tally, most: int) -> Iterator[str]:
    """Yield the fields that differ most often, each with the tags it comes with."""
    for (kind, name), cases in tally.fields.most_common(most):
        tags = [
            (count, tag)
            for (of_kind, of_name, tag), count in tally.clusters.items()
            if (of_kind, of_name) == (kind, name)
        ]
        shown = ", ".join(f"{tag} {count}" for count, tag in sorted(tags, reverse=True)[:6])
        yield f"{cases} cases: {kind} {name} [{shown}]"


def differences(tally: Tally, most: int) -> Iterator[str]:
    """Yield the first differences."""
    shown = [(outcome, difference) for outcome in tally.differing for difference in outcome.differences]
    for outcome, (name, theirs, ours) in shown[:most]:
        yield from _difference(outcome, name, theirs, ours)


def _difference(outcome: Outcome, name: str, theirs: Any, ours: Any) -> Iterator[str]:
    yield f"{outcome.case_id}: {name}"
    yield f"    theirs: {_short(theirs)}"
    yield f"    ours:   {_short(ours)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}... ({len(text)} characters)"
