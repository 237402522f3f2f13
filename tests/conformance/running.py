"""Run cases, in two processes, and tally how they ended.

`report.py` turns a tally into text, `parity.py` into a page of the documentation.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.conformance import config, corpus, cycle, preemption, primitives, queue, story
from tests.conformance.corpus import Line

Difference = tuple[str, Any, Any]
Check = Callable[[dict[str, Any]], list[Difference]]

PROCESSES = 2
# Enough differences to see what is wrong; the rest are counted.
KEPT_DIFFERENCES = 200

CHECKS: dict[str, Check] = {
    "config": config.check,
    "cycle": cycle.check,
    "gangs": story.check,
    "gates": cycle.check_with_allocations,
    "preemption": preemption.check,
    "primitives": primitives.check,
    "queue": queue.check,
    "story": story.check,
    "stretch": cycle.check_with_allocations,
}
# What keeps answers can also be checked without.
FRESH_CHECKS: dict[str, Check] = {
    "cycle": cycle.check_fresh,
    "gangs": story.check_fresh,
    "gates": cycle.check_fresh_with_allocations,
    "preemption": preemption.check_fresh,
    "story": story.check_fresh,
    "stretch": cycle.check_fresh_with_allocations,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one case ended."""

    kind: str
    case_id: str
    tags: list[str]
    release: str
    differences: list[Difference] = field(default_factory=list)
    #: Differences in words that need not be identical.
    wording: list[Difference] = field(default_factory=list)
    is_compared: bool = True
    #: The plugin without which nothing of the case can be compared.

    @property
    def agrees(self) -> bool:
        return self.is_compared and not self.differences


@dataclass(slots=True)
class Count:
    """How many cases agree, of how many."""

    agreed: int = 0
    total: int = 0

    def add(self, outcome: Outcome) -> None:
        self.total += 1
        self.agreed += outcome.agrees

    @property
    def differ(self) -> int:
        return self.total - self.agreed


@dataclass(slots=True)
class Tally:
    """The outcomes added up."""

    kinds: dict[str, Count] = field(default_factory=dict)
    tags: dict[tuple[str, str], Count] = field(default_factory=dict)
    not_compared: Counter[str] = field(default_factory=Counter)
    wording: Counter[str] = field(default_factory=Counter)
    #: Cases by kind and field that differs, and by kind, field and tag.
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    clusters: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    differing: list[Outcome] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether everything that was to be compared was, and nothing differs."""
        return not self.not_compared and not any(count.differ for count in self.kinds.values())

    def add(self, outcome: Outcome) -> None:
        if not outcome.is_compared:
            self.not_compared[outcome.kind] += 1
            return
        self.kinds.setdefault(outcome.kind, Count()).add(outcome)
        for tag in outcome.tags:
            self.tags.setdefault((outcome.kind, tag), Count()).add(outcome)
        self.wording[outcome.kind] += bool(outcome.wording)
        self._add_differences(outcome)

    def _add_differences(self, outcome: Outcome) -> None:
        for name in {name for name, _, _ in outcome.differences}:
            self.fields[outcome.kind, name] += 1
            self.clusters.update((outcome.kind, name, tag) for tag in outcome.tags)
        if outcome.differences and len(self.differing) < KEPT_DIFFERENCES:
            self.differing.append(outcome)


def run(lines: Iterable[Line], *, with_memo: bool = True, processes: int = PROCESSES) -> dict[str, Tally]:
    """Check every case; return how those of each release ended."""
    check = check_line if with_memo else check_line_without_memo
    tallies: dict[str, Tally] = {}
    if processes == 1:
        for outcome in map(check, lines):
            tallies.setdefault(outcome.release, Tally()).add(outcome)
        return tallies
    # Not forked: whoever runs this, pytest for one, may have threads.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for outcome in pool.imap(check, lines, chunksize=20):
            tallies.setdefault(outcome.release, Tally()).add(outcome)
    return tallies


def check_line(line: Line) -> Outcome:
    return _check_line(line, CHECKS.get(line.kind))


def check_line_without_memo(line: Line) -> Outcome:
    return _check_line(line, FRESH_CHECKS.get(line.kind, CHECKS.get(line.kind)))


def _check_line(line: Line, check: Check | None) -> Outcome:
    case = corpus.decode(line.text, line.release)
    tags = corpus.tags_of(case)
    if check is None:
        return Outcome(line.kind, case["id"], tags, line.release, is_compared=False)
    differences = _differences(check, case)
    wording = [difference for difference in differences if difference[0] == config.WORDING]
    real = [difference for difference in differences if difference[0] != config.WORDING]
    return Outcome(line.kind, case["id"], tags, line.release, real, wording)


def _differences(check: Check, case: dict[str, Any]) -> list[Difference]:
    try:
        return check(case)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [("fault", None, f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})")]
