"""The list of metrics as a table for the manual: `docs/metrics.md` holds what this writes."""

from __future__ import annotations

from stowplan.observe.health_metrics import CHECKS
from stowplan.observe.metrics import ALL
from stowplan.observe.series import Definition


def markdown_table() -> str:
    """Give the metrics of `/metrics` and `/metrics/slis` as tables."""
    return f"{_table(ALL)}\nOn `/metrics/slis`:\n\n{_table(CHECKS)}"


def _table(definitions: tuple[Definition, ...]) -> str:
    rows = ["| metric | type | labels | stability | buckets | what it counts here |", "|---|---|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, definitions)]) + "\n"


def _row(definition: Definition) -> str:
    labels = ", ".join(definition.labels) or "-"
    buckets = definition.buckets
    spread = f"{len(buckets)}, {buckets[0]:g} to {buckets[-1]:.4g}" if buckets else "-"
    here = f"{definition.here} (with feature gate {definition.gate})" if definition.gate else definition.here
    return f"| {definition.name} | {definition.kind} | {labels} | {definition.stability} | {spread} | {here} |"
