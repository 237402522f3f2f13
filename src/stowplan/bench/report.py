"""What a run of workloads came to, for people and for programs.

The JSON is that of upstream's benchmark (`dataItems`, as perf-dash reads them), with a part of our own beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from stowplan import __version__
from stowplan.bench.measuring import DataItem, Measurement, with_all_labels
from stowplan.bench.parameters import WorkloadError, read_file
from stowplan.bench.running import Outcome

VERSION: Final = "v1"
THROUGHPUT: Final = "SchedulingThroughput"
CPU_TIME: Final = "CPUTimePerPod"
#: What two runs are compared by, and in which of its numbers.
AVERAGED: Final = (THROUGHPUT, CPU_TIME)
AVERAGE: Final = "Average"
_REMEDY: Final = "give what `stowplan bench --output-file` wrote, or upstream's benchmark"
#: The columns of the table behind the name, and how wide they are.
_COLUMNS: Final = {
    "pods": 6,
    "pods/s": 8,
    "threshold": 9,
    "attempt p50": 11,
    "p99 ms": 8,
    "CPU ms/pod": 10,
    "peak MiB": 8,
    "last/first": 10,
}
_ATTEMPT: Final = "scheduler_scheduling_attempt_duration_seconds"
_PREFIX: Final = "BenchmarkPerfScheduling/"


class ReportTable:
    """A table whose rows are written as they come; no name is cut short."""

    def __init__(self, names: Iterable[str]) -> None:
        self._width = max(map(len, names), default=0)

    def heading(self) -> str:
        return self._line("workload", tuple(_COLUMNS))

    def rows(self, outcome: Outcome) -> list[str]:
        """Return the rows of one workload: one for each time that metrics were collected."""
        return [self._line(outcome.selected.name, _cells(outcome, found)) for found in outcome.measurements]

    def _line(self, name: str, cells: tuple[str, ...]) -> str:
        placed = (cell.rjust(width) for cell, width in zip(cells, _COLUMNS.values(), strict=True))
        return "  ".join((name.ljust(self._width), *placed)).rstrip()


def _cells(outcome: Outcome, found: Measurement) -> tuple[str, ...]:
    attempts = next(
        (item for item in found.items if item.metric == _ATTEMPT and item.labels.get("result") == "scheduled"), None
    )
    selector, threshold = outcome.selected.threshold_selector, outcome.selected.threshold
    return (
        str(found.pods),
        _number(found.throughput, 0),
        f"{threshold:g}" if threshold and selector.name == "SchedulingThroughput" else "",
        _number(attempts.data["Perc50"] if attempts is not None else None, 2),
        _number(attempts.data["Perc99"] if attempts is not None else None, 2),
        _number(found.cpu_milliseconds_a_pod, 3),
        _number(found.peak_mebibytes, 0),
        _number(found.last_by_first, 2),
    )


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def as_data(outcomes: Sequence[Outcome], release: str) -> dict[str, Any]:
    """Return everything that was measured, and what could not be."""
    items = [item for outcome in outcomes for item in _with_threshold(outcome)]
    return {
        "version": VERSION,
        "dataItems": [{"data": item.data, "unit": item.unit, "labels": item.labels} for item in with_all_labels(items)],
        "stowplan": {
            "version": __version__,
            "release": release,
            "workloads": [
                {
                    "name": outcome.selected.name,
                    "pods": [measurement.pods for measurement in outcome.measurements],
                    "events": outcome.events,
                    "problem": outcome.problem,
                    "notes": outcome.notes,
                }
                for outcome in outcomes
            ],
        },
    }


def _with_threshold(outcome: Outcome) -> list[DataItem]:
    """Put the threshold beside the value it is compared with, as upstream does."""
    threshold, selector = outcome.selected.threshold, outcome.selected.threshold_selector
    return [
        DataItem({**item.data, f"{selector.data_bucket}Threshold": threshold}, item.unit, item.labels)
        if threshold and item.metric == selector.name and selector.labels.items() <= item.labels.items()
        else item
        for item in outcome.items
    ]


def read_items(path: Path) -> list[DataItem]:
    """Read the items of a file, ours or upstream's; raise WorkloadError if it is none."""
    text = read_file(path, _REMEDY)
    try:
        content = json.loads(text)
        found = [DataItem(dict(one["data"]), str(one["unit"]), dict(one["labels"])) for one in content["dataItems"]]
    except RecursionError:
        raise WorkloadError(f"{path}: nested too deeply; {_REMEDY}") from None
    except json.JSONDecodeError as error:
        raise WorkloadError(f"{path}: not JSON: {error}; {_REMEDY}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise WorkloadError(f"{path}: dataItems is missing or wrong; {_REMEDY}") from None
    for number, item in enumerate(found):
        _check_item(f"{path}: dataItems[{number}]", item)
    return [item for item in found if "Metric" in item.labels and "Name" in item.labels]


def _check_item(where: str, item: DataItem) -> None:
    """Raise WorkloadError if an item that is compared has no name, or no number to be compared."""
    if item.labels.get("Metric") not in AVERAGED or "Name" not in item.labels:
        return
    if not isinstance(item.labels["Name"], str):
        raise WorkloadError(f"{where}: labels.Name is {_shown(item.labels['Name'])}, and has to be a text; {_REMEDY}")
    where = f"{where} ({short_name(item)}, {item.metric})"
    if AVERAGE not in item.data:
        raise WorkloadError(f"{where}: data.{AVERAGE} is missing; {_REMEDY}")
    value: Any = item.data[AVERAGE]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= sys.float_info.max):
        raise WorkloadError(
            f"{where}: data.{AVERAGE} is {_shown(value)}, and has to be a number that is not negative; {_REMEDY}"
        )


def _shown(value: Any) -> str:
    return f"{json.dumps(value):.40}"


def short_name(item: DataItem) -> str:
    """Return the name of what was measured, without what all names begin with."""
    return item.labels["Name"].removeprefix(_PREFIX)
