"""The page of performance, made from the JSON of runs: `make docs-performance` writes docs/performance.md.

docs/performance has the runs, kept small, and what is written about them (`page.md.in`), where a line `{{name}}`
stands for what is made here: every number in a table of the page comes from a file. `--take FOLDER` first takes over
what benchmarks have left in a folder.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import machine

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "performance"
PAGE: Final = ROOT / "docs" / "performance.md"
TEXT: Final = "page.md.in"
Json = dict[str, Any]
Cells = Sequence[str]

OURS, THEIRS, RANDOM = "stowplan", "kube-scheduler", "random-binder"
#: Who takes turns, as the page calls them.
_NAMES: Final = {THEIRS: "kube-scheduler", OURS: "Stowplan", RANDOM: "nobody"}
_OTHERS: Final = {"kube-apiserver": "API server", "etcd": "etcd"}
_SIZES: Final = (1_000, 5_000, 20_000, 100_000)
_BYTES: Final = 8
#: How many columns of all nodes a decision has to look at: what is free of CPU, memory and pods, and the totals.
#: Pods of known templates have none: only the rows that changed are looked at.
_COLUMNS: Final = {"plain, all different": 4}
_PREFIX: Final = "BenchmarkPerfScheduling/"
_PLACE: Final = re.compile(r"^\{\{(\w+)\}\}\n", re.MULTILINE)


def page(folder: Path = FOLDER) -> str:
    """Return the page: the text, with everything that is made put in."""
    runs = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in TAKEN}
    text = (folder / TEXT).read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: PARTS[place[1]](runs), text)


# Taking runs over


def shortened_flow(*found: Json) -> Json:
    """Keep of what `stowplan bench --output-file` wrote what the page tells."""
    rows: dict[str, Json] = {}
    wanted = {"SchedulingThroughput": "pods_per_second", "CPUTimePerPod": "cpu_milliseconds", "PeakMemory": "mebibytes"}
    for item in (item for one in found for item in one["dataItems"]):
        metric, data = item["labels"]["Metric"], item["data"]
        if metric in wanted:
            row = rows.setdefault(item["labels"]["Name"].removeprefix(_PREFIX).rpartition("/")[0], {})
            row[wanted[metric]] = data.get("Average", data.get("Max"))
            row |= {"threshold": data["AverageThreshold"]} if "AverageThreshold" in data else {}
    return {"machine": machine.describe(), "rows": [{"workload": name, **row} for name, row in rows.items()]}


def as_it_is(found: Json) -> Json:
    return found


#: By the name of a file in our folder: what benchmarks call it, or its parts, and what is kept of them.
TAKEN: Final[Mapping[str, tuple[Sequence[str], Callable[..., Json]]]] = {
    "peer": (("perf-peer.json",), as_it_is),
    "flow": (("flow.json", "flow-own.json"), shortened_flow),
    "decisions": (("bench.json",), as_it_is),
    "live": (("live.json",), as_it_is),
}


def take(source: Path, folder: Path = FOLDER) -> None:
    """Take over what benchmarks have left; what is not there stays as it is."""
    for name, (files, shortened) in TAKEN.items():
        found = [json.loads((source / file).read_text(encoding="utf-8")) for file in files if (source / file).exists()]
        if found:
            text = json.dumps(rounded(shortened(*found)), indent=1) + "\n"
            (folder / f"{name}.json").write_text(text, encoding="utf-8")


def rounded(found: Any) -> Any:
    """Return the same with numbers of three decimals: more is noise."""
    if isinstance(found, float):
        return round(found, 3)
    if isinstance(found, Mapping):
        return {key: rounded(value) for key, value in found.items()}
    return [rounded(one) for one in found] if isinstance(found, list) else found


# What is put in


def _machine(runs: Mapping[str, Json]) -> str:
    of = runs["decisions"]["machine"]
    heads = ("processor", "cores", "memory", "copy, large", "copy, 5,000 numbers", "Python", "NumPy")
    speeds = (f"{of[name]} GB/s" for name in ("copy_gigabytes_a_second", "small_copy_gigabytes_a_second"))
    line = (of["processor"], str(of["cores"]), f"{of['memory_gibibytes']} GiB", *speeds, of["python"], of["numpy"])
    return table(heads, [line])


def _states(runs: Mapping[str, Json]) -> str:
    lines = [(name, *(str(run["machine"][one]) for one in ("commit", "date", "load"))) for name, run in runs.items()]
    return table(("run", "of commit", "on", "load when it began"), lines)


def _peer(runs: Mapping[str, Json]) -> str:
    rates = ("pods/s: kube-scheduler", "Stowplan", "nobody", "Stowplan by kube-scheduler", "by nobody")
    costs = ("CPU ms a pod: kube-scheduler", "Stowplan", "ratio")
    return table(("workload", "pods", *rates, *costs), map(_peer_line, _done(runs)))


def _peer_line(result: Json) -> Cells:
    turns = result["turns"]
    rates = {name: _pods(turns[name]) / sum(turn["seconds"] for turn in turns[name]) for name in _NAMES}
    costs = {name: _cpu(turns[name], "scheduler") for name in _NAMES}
    return (
        result["workload"],
        f"{turns[OURS][0]['pods']:,}",
        *(f"{rates[name]:,.0f}" for name in _NAMES),
        f"{rates[OURS] / rates[THEIRS]:.2f}",
        f"{rates[OURS] / rates[RANDOM]:.2f}",
        f"{costs[THEIRS]:.2f}",
        f"{costs[OURS]:.2f}",
        f"{costs[OURS] / costs[THEIRS]:.2f}",
    )


def _bindings(runs: Mapping[str, Json]) -> str:
    heads = ("workload", *(f"bindings/s: {name}" for name in _NAMES.values()), "Stowplan by kube-scheduler")
    return table(heads, map(_binding_line, _done(runs)))


def _binding_line(result: Json) -> Cells:
    turns = result["turns"]
    rates = {name: _pods(turns[name]) / sum(turn["binding_seconds"] for turn in turns[name]) for name in _NAMES}
    return (
        result["workload"],
        *(f"{rates[name]:,.0f}" for name in _NAMES),
        f"{rates[OURS] / rates[THEIRS]:.2f}",
    )


def _beside(runs: Mapping[str, Json]) -> str:
    heads = ("workload", *(f"{part}, with {name}" for name in _NAMES.values() for part in _OTHERS.values()))
    lines = (
        (result["workload"], *(f"{_cpu(result['turns'][name], part):.2f}" for name in _NAMES for part in _OTHERS))
        for result in _done(runs)
    )
    return table(heads, lines)


def _done(runs: Mapping[str, Json]) -> list[Json]:
    return [one for one in runs["peer"]["results"] if not one["problem"]]


def _pods(turns: Iterable[Json]) -> int:
    return sum(turn["pods"] for turn in turns)


def _cpu(turns: Sequence[Json], whose: str) -> float:
    """Return milliseconds of CPU time a pod."""
    return 1000 * float(sum(turn["cpu_seconds"][whose] for turn in turns)) / _pods(turns)


def _flow(runs: Mapping[str, Json]) -> str:
    lines = (
        (
            row["workload"],
            f"{row['pods_per_second']:,.0f}",
            f"{row['threshold']:,.0f}" if "threshold" in row else "",
            f"{row['cpu_milliseconds']:.3f}",
            f"{row['mebibytes']:,.0f}",
        )
        for row in runs["flow"]["rows"]
    )
    return table(("workload", "pods/s", "upstream's threshold", "CPU ms a pod", "MiB"), lines)


def _decisions(runs: Mapping[str, Json]) -> str:
    run = runs["decisions"]
    rates: dict[str, dict[int, float]] = {}
    for row in run["rows"]:
        rates.setdefault(row["workload"], {})[row["nodes"]] = row["pods_per_second"]
    lines = (
        (name, *(f"{of[size]:,.0f}" if size in of else "" for size in _SIZES), _limit(name, run["machine"]))
        for name, of in rates.items()
    )
    return table(("pods/s", *(f"{size:,} nodes" for size in _SIZES), "memory allows at 100,000"), lines)


def _limit(name: str, of: Json) -> str:
    """Return the pods a second at which a workload would go through its columns at the speed of a copy."""
    if name not in _COLUMNS:
        return ""
    return f"{of['copy_gigabytes_a_second'] * 1e9 / (_COLUMNS[name] * _BYTES * max(_SIZES)):,.0f}"


def _memory(runs: Mapping[str, Json]) -> str:
    return f"5,000 nodes with 150,000 placed pods: {runs['decisions']['resident_mebibytes']:,.0f} MiB resident.\n"


def _starts(runs: Mapping[str, Json]) -> str:
    run = runs["live"]
    heads = ("pods that wait", "s to the first binding", "CPU s", "MiB by then", "CPU ms a pod", "pods/s")
    lines = (
        (
            f"{run['pending']:,} {one['kind']}",
            f"{one['to_first_binding']:.1f}",
            f"{one['cpu_to_first_binding']:.1f}",
            str(one["peak_then"]),
            f"{one['cpu_per_pod']:.2f}",
            f"{one['pods_per_second']:,.0f}",
        )
        for one in run["runs"]
    )
    return table(heads, lines)


def _fail_over(runs: Mapping[str, Json]) -> str:
    lines = (
        (one["signal"], f"{one['to_first_binding']:.1f}", f"{one['to_hundredth_binding']:.1f}")
        for one in runs["live"]["fail_overs"]
    )
    return table(("who led ended by", "s to the first binding", "s to the hundredth"), lines)


PARTS: Final[Mapping[str, Callable[[Mapping[str, Json]], str]]] = {
    "machine": _machine,
    "states": _states,
    "peer": _peer,
    "bindings": _bindings,
    "beside": _beside,
    "flow": _flow,
    "decisions": _decisions,
    "memory": _memory,
    "starts": _starts,
    "fail_over": _fail_over,
}


def table(heads: Cells, lines: Iterable[Cells]) -> str:
    """Write a table whose columns are numbers, but the first."""
    marks = f"|---|{'---:|' * (len(heads) - 1)}\n"
    head, *rest = (f"| {' | '.join(cells)} |\n" for cells in (heads, *lines))
    return "".join((head, marks, *rest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", type=Path, help="a folder with what benchmarks have left, such as build")
    given = parser.parse_args()
    if given.take is not None:
        take(given.take)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
