"""The page about metrics is up to date."""

from pathlib import Path

from stowplan.observe.component_metrics import CHECKS
from stowplan.observe.metrics import ALL
from stowplan.observe.series import Definition

PAGE = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


def test_the_page_holds_the_table_as_it_is_now() -> None:
    assert markdown_table() in PAGE.read_text(encoding="utf-8")


def test_the_table_tells_apart_what_nothing_feeds() -> None:
    table = markdown_table().splitlines()
    [fed] = [row for row in table if row.startswith("| scheduler_preemption_victims ")]
    [unfed] = [row for row in table if row.startswith("| scheduler_batch_attempts_total ")]
    assert fed.endswith("| pods to be evicted, for every preemption that is carried out |")
    assert "7, 1 to 64" in fed
    assert unfed.endswith("| never: the kept answers for alike pods are in the place of batches |")


def test_every_metric_says_what_it_counts_or_why_nothing() -> None:
    assert [one.name for one in (*ALL, *CHECKS) if not one.here] == []


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
