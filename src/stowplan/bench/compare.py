"""Two runs side by side: throughput and CPU time of what both measured, as a table and as a chart (SVG)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from stowplan.bench.measuring import DataItem
from stowplan.bench.report import AVERAGE, AVERAGED, CPU_TIME, THROUGHPUT, short_name

HEADINGS: Final = ("workload", "A pods/s", "B pods/s", "B/A", "A CPU ms/pod", "B CPU ms/pod", "B/A")

# The chart, in pixels.
_LABEL_WIDTH: Final = 420
_BAR_WIDTH: Final = 420
_ROW_HEIGHT: Final = 34
_BAR_HEIGHT: Final = 12
_TOP: Final = 48
_COLOURS: Final = ("#8a97a6", "#1f6f8b")


@dataclass(frozen=True, slots=True)
class Compared:
    """What two runs say of one workload; None where one of them says nothing."""

    name: str
    throughput: tuple[float | None, float | None]
    cpu: tuple[float | None, float | None]

    def cells(self) -> tuple[str, ...]:
        return (self.name, *_shown(self.throughput, 0), *_shown(self.cpu, 3))


def table(compared: Sequence[Compared]) -> list[str]:
    """Return the lines of a table; no name is cut short."""
    rows = [HEADINGS, *(one.cells() for one in compared)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            (row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)))
        )
        for row in rows
    ]


def compare(left: Sequence[DataItem], right: Sequence[DataItem]) -> list[Compared]:
    """Return the workloads that are in either run, in the order of the first, then of the second."""
    names = dict.fromkeys(short_name(item) for item in (*left, *right) if item.metric in AVERAGED)
    tables = [
        {(short_name(item), item.metric): item.data.get(AVERAGE) for item in items if item.metric in AVERAGED}
        for items in (left, right)
    ]
    return [
        Compared(
            name,
            (tables[0].get((name, THROUGHPUT)), tables[1].get((name, THROUGHPUT))),
            (tables[0].get((name, CPU_TIME)), tables[1].get((name, CPU_TIME))),
        )
        for name in names
    ]


def mean_ratio(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Return the geometric mean of the second by the first, of those that have both."""
    logs = [math.log(second / first) for first, second in pairs if first and second]
    return math.exp(sum(logs) / len(logs)) if logs else None


def _shown(pair: tuple[float | None, float | None], digits: int) -> tuple[str, str, str]:
    first, second = pair
    values = ["-" if value is None else f"{value:,.{digits}f}" for value in pair]
    return values[0], values[1], f"{second / first:.2f}" if first and second else "-"


def chart(compared: Sequence[Compared], names: tuple[str, str]) -> str:
    """Draw the throughput of both runs, two bars for each workload."""
    most = max((value for one in compared for value in one.throughput if value is not None), default=0.0) or 1.0
    width, height = _LABEL_WIDTH + _BAR_WIDTH + 100, _TOP + _ROW_HEIGHT * len(compared) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        "<title>Pods scheduled a second</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="18" font-size="14">Pods scheduled a second</text>',
    ]
    for number, (name, colour) in enumerate(zip(names, _COLOURS, strict=True)):
        x = _LABEL_WIDTH + number * 210
        lines.append(f'<rect x="{x}" y="26" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="37">{escape(name)}</text>')
    for number, one in enumerate(compared):
        lines += _bars(one, _TOP + number * _ROW_HEIGHT, most)
    return "\n".join((*lines, "</svg>", ""))


def _bars(one: Compared, top: int, most: float) -> list[str]:
    lines = [f'<text x="{_LABEL_WIDTH - 10}" y="{top + 17}" text-anchor="end">{escape(one.name)}</text>']
    for number, (value, colour) in enumerate(zip(one.throughput, _COLOURS, strict=True)):
        y = top + 3 + number * _BAR_HEIGHT
        length = 0.0 if value is None else value / most * _BAR_WIDTH
        shown = "-" if value is None else f"{value:,.0f}"
        lines.append(
            f'<rect x="{_LABEL_WIDTH}" y="{y}" width="{length:.1f}" height="{_BAR_HEIGHT - 2}" fill="{colour}"/>'
        )
        lines.append(f'<text x="{_LABEL_WIDTH + length + 6:.1f}" y="{y + 9}" font-size="10">{shown}</text>')
    return lines
