"""docs/performance.md is what the tool makes of the runs in docs/performance."""

from __future__ import annotations

import json
from pathlib import Path

from tools import performance_page
from tools.performance_page import PAGE, PARTS, page, rounded, shortened_flow, table, take


def test_the_page_is_what_is_made_of_the_runs() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs-performance` and commit docs/performance.md"


def test_everything_that_is_made_has_its_place_in_the_text() -> None:
    text = (performance_page.FOLDER / performance_page.TEXT).read_text(encoding="utf-8")
    assert [name for name in PARTS if f"\n{{{{{name}}}}}\n" not in text] == []


def test_ratios_on_the_page_are_of_all_turns_until_the_last_event(tmp_path: Path) -> None:
    def turn(seconds: float, cpu: float) -> dict[str, object]:
        used = {"scheduler": cpu, "kube-apiserver": 2.0, "etcd": 0.5}
        return {"pods": 1000, "binding_seconds": seconds / 2, "seconds": seconds, "cpu_seconds": used}

    turns = {
        "kube-scheduler": [turn(4.0, 3.0), turn(6.0, 5.0)],
        "stowplan": [turn(2.0, 0.5), turn(2.0, 1.5)],
        "random-binder": [turn(1.0, 0.1), turn(1.0, 0.1)],
    }
    done = {"workload": "Case/5000Nodes", "turns": turns, "problem": ""}
    failed = {"workload": "Case/500Nodes", "turns": {}, "problem": "the server refused"}
    runs = {"peer": {"results": [done, failed]}}
    heads, _, *lines = PARTS["peer"](runs).splitlines()
    assert len(heads.split("|")) == 12
    assert lines == ["| Case/5000Nodes | 1,000 | 200 | 500 | 1,000 | 2.50 | 0.50 | 4.00 | 1.00 | 0.25 |"]
    assert PARTS["bindings"](runs).splitlines()[2:] == ["| Case/5000Nodes | 400 | 1,000 | 2,000 | 2.50 |"]
    assert PARTS["beside"](runs).splitlines()[2:] == ["| Case/5000Nodes | 2.00 | 0.50 | 2.00 | 0.50 | 2.00 | 0.50 |"]


def test_memory_limits_only_who_looks_at_all_nodes() -> None:
    of = {"copy_gigabytes_a_second": 9.6}
    rows = [
        {"workload": "plain", "nodes": 5_000, "pods_per_second": 12_345.6},
        {"workload": "plain, all different", "nodes": 100_000, "pods_per_second": 476.2},
    ]
    lines = PARTS["decisions"]({"decisions": {"machine": of, "rows": rows}}).splitlines()[2:]
    assert lines == ["| plain |  | 12,346 |  |  |  |", "| plain, all different |  |  |  | 476 | 3,000 |"]


def test_of_the_benchmark_of_the_flow_three_figures_and_the_threshold_are_kept() -> None:
    def item(metric: str, data: dict[str, float]) -> dict[str, object]:
        name = "BenchmarkPerfScheduling/SchedulingBasic/5000Nodes/namespace-2"
        return {"labels": {"Name": name, "Metric": metric}, "unit": "", "data": data}

    items = [
        item("SchedulingThroughput", {"Average": 6000.0, "Perc50": 1.0, "AverageThreshold": 270.0}),
        item("CPUTimePerPod", {"Average": 0.17}),
        item("PeakMemory", {"Max": 123.0}),
        item("scheduler_scheduling_attempt_duration_seconds", {"Average": 1.0}),
    ]
    (row,) = shortened_flow({"dataItems": items})["rows"]
    assert row == {
        "workload": "SchedulingBasic/5000Nodes",
        "pods_per_second": 6000.0,
        "threshold": 270.0,
        "cpu_milliseconds": 0.17,
        "mebibytes": 123.0,
    }


def test_runs_are_taken_over_in_three_decimals_and_others_stay(tmp_path: Path) -> None:
    source, folder = tmp_path / "build", tmp_path / "docs"
    source.mkdir()
    folder.mkdir()
    (folder / "peer.json").write_text("{}")
    (source / "live.json").write_text(json.dumps({"runs": [{"seconds": 1.23456}]}))
    take(source, folder)
    assert json.loads((folder / "live.json").read_text()) == {"runs": [{"seconds": 1.235}]}
    assert (folder / "peer.json").read_text() == "{}"
    assert rounded({"a": [1, "b", None]}) == {"a": [1, "b", None]}


def test_all_columns_but_the_first_are_numbers() -> None:
    assert table(("a", "b"), [("x", "1")]) == "| a | b |\n|---|---:|\n| x | 1 |\n"
