"""The page about metrics is up to date."""

from pathlib import Path

import pytest

from stowplan.observe.component_metrics import CHECKS
from stowplan.observe.metric_list import ABSENT
from stowplan.observe.metrics import ALL
from stowplan.observe.plugin_metrics import BUDGET
from stowplan.observe.series import Definition

PAGE = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"
HEAD = "| metric | type | labels | stability | buckets | what it counts here |\n|---|---|---|---|---|---|\n"


@pytest.mark.parametrize(
    ("definitions", "table"),
    [
        pytest.param(ALL, 1, id="/metrics"),
        pytest.param(CHECKS, 2, id="/metrics/slis"),
        pytest.param(BUDGET, 3, id="of the budget of plugins"),
    ],
)
def test_the_page_lists_the_metrics_in_their_order(definitions: tuple[Definition, ...], table: int) -> None:
    assert [row[:-1] for row in rows(table)] == [_described(definition) for definition in definitions]


def test_a_row_tells_the_number_of_buckets_and_their_spread() -> None:
    [victims] = [row for row in rows(1) if row[0] == "scheduler_preemption_victims"]
    assert victims[1:5] == ["histogram", "-", "STABLE", "7, 1 to 64"]


def test_every_metric_says_what_it_counts_or_why_nothing() -> None:
    what = {row[0]: row[-1] for table in (1, 2, 3) for row in rows(table)}
    assert [name for name, text in what.items() if not text] == []
    assert {name for name, text in what.items() if text.startswith("never: ")} == {one.name for one in ABSENT}


def test_every_metric_behind_a_feature_gate_says_so() -> None:
    gates = {definition.name: definition.gate for definition in (*ALL, *CHECKS)}
    for name, *_, what in rows(1) + rows(2):
        _, _, gate = what.partition(" (with feature gate ")
        assert gate.removesuffix(")") == gates[name], name


def rows(table: int) -> list[list[str]]:
    """Give the cells of one of the tables of the page, the first being 1."""
    text = PAGE.read_text(encoding="utf-8").split(HEAD)[table].partition("\n\n")[0]
    return [line.strip("|").strip().split(" | ") for line in text.splitlines()]


def _described(definition: Definition) -> list[str]:
    labels = ", ".join(definition.labels) or "-"
    buckets = definition.buckets
    spread = f"{len(buckets)}, {buckets[0]:g} to {buckets[-1]:.4g}" if buckets else "-"
    return [definition.name, definition.kind, labels, definition.stability, spread]
