"""The last words of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.checker import Checker
from tests.fuzz.rounds import Report


def of(report: Report, checker: Checker, folder: Path) -> str:
    """Say what was sent, how it was answered, how long that took, what memory there was, and what was found."""
    lines = [
        "",
        f"attacks   {sum(checker.families.values())}: {_counted(checker.families)}",
        f"answers   {_counted(checker.codes)}",
    ]
    lines += [f"excused   {count} x {said}" for said, count in checker.excused.items()]
    lines += [f"slowest   {seconds:.2f} s  {where}" for seconds, where in checker.slowest]
    lines.append(f"readyz    {_spread(report.ready_seconds)}")
    lines.append(f"canary    {len(report.placed_seconds)} pods bound, each in {_spread(report.placed_seconds)}")
    lines += [
        f"memory    {variant}: first {found[0]}; last {found[-1]}" for variant, found in report.memory.items() if found
    ]
    lines += [f"finding   {count} x {fault}" for fault, count in checker.findings.items()]
    where = f", written to {folder}; see one again with --replay FILE" if checker.findings else ""
    return "\n".join([*lines, f"findings  {len(checker.findings)}{where}"])


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "nothing measured"
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.3f} s in the middle, {ordered[-1]:.3f} s at most"
