"""`make bench`: a table on the screen and the same figures as JSON.

Rates are of this machine at this moment; compare rows of one run with each other. Bars are shown, never asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks import groups, machine, page, preemption
from benchmarks.measure import Row, measure, resident_mebibytes
from benchmarks.workloads import WORKLOADS

SIZES = (1_000, 5_000, 20_000, 100_000)
MEMORY_NODES, MEMORY_PODS, MEMORY_BAR_MIB = 5_000, 150_000, 2048


def main() -> None:
    options = _options()
    where = machine.describe()
    rows: list[Row] = []
    print(f"{'workload':30} {'nodes':>8} {'pods':>7} {'pods/s':>9} {'bar':>7}")
    for workload in WORKLOADS:
        if options.workload and options.workload not in workload.name:
            continue
        for nodes in (size for size in options.nodes if size <= (workload.most_nodes or size)):
            row = measure(workload, nodes, options.seconds)
            rows.append(_with_ratio_bar(row, rows))
            _print(rows[-1])
    if (options.workload or "") in preemption.NAME and preemption.NODES in options.nodes:
        rows.append(preemption.measure(options.seconds))
        _print(rows[-1])
    for name, measure_groups in groups.ROWS.items():
        if (options.workload or "") in name and groups.NODES in options.nodes:
            rows.append(measure_groups(options.seconds))
            _print(rows[-1])
    if any((options.workload or "") in name for name in page.KINDS) and page.NODES in options.nodes:
        for row in page.rows():
            rows.append(row)
            _print(row)
    memory = None if options.no_memory else _memory()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": where, "rows": [asdict(row) for row in rows], "resident_mebibytes": memory}
    options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"written to {options.json}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=SIZES, help="sizes of cluster")
    parser.add_argument("--workload", help="only workloads with this in their name")
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long to schedule for, per row")
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory of 150,000 placed pods")
    parser.add_argument("--measure-memory", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where the figures go")
    options = parser.parse_args()
    if options.measure_memory:
        print(resident_mebibytes(MEMORY_NODES, MEMORY_PODS))
        sys.exit(0)
    return options


def _with_ratio_bar(row: Row, before: list[Row]) -> Row:
    """Plain pods at 100,000 nodes: at least a third of the rate at 5,000 in the same run."""
    at_5000 = [other.pods_per_second for other in before if other.workload == row.workload and other.nodes == 5_000]
    if row.workload != "plain" or row.nodes != 100_000 or not at_5000:
        return row
    return Row(row.workload, row.nodes, row.pods, row.pods_per_second, at_5000[0] / 3)


def _memory() -> float:
    """Measure in a process of its own, so that nothing of the rows before is counted."""
    command = [sys.executable, "-m", "benchmarks", "--measure-memory"]
    memory = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    met = "met" if memory < MEMORY_BAR_MIB else "MISSED"
    print(f"{MEMORY_NODES:,} nodes, {MEMORY_PODS:,} placed pods: {memory:,.0f} MiB resident ({MEMORY_BAR_MIB} {met})")
    return memory


def _print(row: Row) -> None:
    bar = "" if row.bar is None else f"{row.bar:7,.0f} {'met' if row.is_met else 'MISSED'}"
    print(f"{row.workload:30} {row.nodes:8,} {row.pods:7,} {row.pods_per_second:9,.0f} {bar}", flush=True)


if __name__ == "__main__":
    main()
