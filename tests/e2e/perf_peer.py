"""Kubernetes' own benchmark through kube-scheduler, Stowplan and nobody on one real API server; `make perf-peer`.

For each workload of a list the three have their turns, one after the other, and who begins changes from workload to
workload; `peer_turns` has how a turn goes and what is measured. Beside them run etcd, the API server and those
controllers that a workload needs: claims are made by one, namespaces are taken away by another. What comes out is a
table, and JSON for docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks import machine
from stowplan.app.process import run
from stowplan.bench import workloads
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.workloads import Selected
from stowplan.kube.errors import RequestError
from tests.e2e.contenders import OURS, RANDOM, THEIRS, make_administrator, make_scheduler_identity, order_of, say
from tests.e2e.peer_turns import SCHEDULER, Bout, Ground, Turn
from tests.e2e.real_plane import RealPlane

OWN_WORKLOADS: Final = Path(__file__).parents[2] / "benchmarks" / "mixed_templates"
#: What claims and namespaces need; others would find the nodes without a kubelet, and take their pods away.
CONTROLLERS: Final = "namespace-controller,resourceclaim-controller"

#: By size, what is run: the case, and the workload of it. A trial only shows that everything runs.
SIZES: Final[Mapping[str, Mapping[str, str]]] = {
    "trial": {
        "SchedulingBasic": "5Nodes",
        "SchedulingNodeAffinity": "5Nodes",
        "TopologySpreading": "5Nodes",
        "PreferredTopologySpreading": "5Nodes",
        "SchedulingPodAffinity": "5Nodes",
        "SchedulingPodAntiAffinity": "5Nodes",
        "SchedulingPreferredPodAffinity": "5Nodes",
        "SchedulingPreferredPodAntiAffinity": "5Nodes",
        "SchedulingWithMixedChurn": "10Nodes",
        "PreemptionAsync": "5Nodes",
        "SchedulingInTreePVs": "5Nodes",
        "SchedulingCSIPVs": "5Nodes",
        "SchedulingWithResourceClaimTemplate": "fast",
        "SchedulingMixedTemplates": "5Nodes",
    },
    "short": {
        "SchedulingBasic": "5000Nodes",
        "TopologySpreading": "5000Nodes",
        "SchedulingPodAffinity": "5000Nodes",
        "SchedulingPodAntiAffinity": "5000Nodes",
        "SchedulingNodeAffinity": "500Nodes",
        "SchedulingPreferredPodAffinity": "500Nodes",
        "SchedulingWithMixedChurn": "1000Nodes",
        "SchedulingCSIPVs": "500Nodes",
        "SchedulingMixedTemplates": "500Nodes",
    },
    "nightly": {
        "SchedulingBasic": "5000Nodes_10000Pods",
        "SchedulingNodeAffinity": "5000Nodes",
        "TopologySpreading": "5000Nodes",
        "PreferredTopologySpreading": "5000Nodes",
        "SchedulingPodAffinity": "5000Nodes",
        "SchedulingPodAntiAffinity": "5000Nodes",
        "SchedulingPreferredPodAffinity": "5000Nodes",
        "SchedulingPreferredPodAntiAffinity": "5000Nodes",
        "SchedulingWithMixedChurn": "5000Nodes",
        "PreemptionAsync": "500Nodes",
        "SchedulingInTreePVs": "500Nodes",
        "SchedulingCSIPVs": "500Nodes",
        "SchedulingWithResourceClaimTemplate": "2000pods_100nodes",
        "SchedulingMixedTemplates": "5000Nodes_5000Pods",
    },
}
#: How many turns each has with a workload.
TURNS: Final = {"trial": 1, "short": 1, "nightly": 2}
#: The cases whose turns evict what was there before.
USED_UP: Final = frozenset(("PreemptionAsync",))
#: How many times as many pods a second as kube-scheduler's are wanted among 5,000 nodes.
BARS: Final = {
    "SchedulingBasic": 3.0,
    "TopologySpreading": 8.0,
    "SchedulingPodAffinity": 12.0,
    "SchedulingPodAntiAffinity": 12.0,
}
_HEADINGS: Final = ("workload", "pods", "kube-sched", "stowplan", "random", "ratio", "wanted", "CPU ms", "", "ratio")
_WIDTHS: Final = (48, 6, 10, 8, 7, 6, 9, 7, 6, 5)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one workload, by contender."""

    workload: str
    turns: Mapping[str, Sequence[Turn]]
    problem: str = ""

    def rate(self, name: str) -> float:
        """Pods a second in all turns of a contender, until the last event."""
        turns = self.turns[name]
        return sum(one.pods for one in turns) / sum(one.seconds for one in turns)

    def cost(self, name: str) -> float:
        """Milliseconds of CPU time that a contender itself uses a pod."""
        turns = self.turns[name]
        return 1000 * sum(one.cpu_seconds[SCHEDULER] for one in turns) / sum(one.pods for one in turns)

    def cells(self) -> tuple[str, ...]:
        """Return what is told of it in a row."""
        if self.problem:
            return (self.workload, *("-" for _ in _HEADINGS[1:]))
        rates, costs = ({name: of(name) for name in (THEIRS, OURS, RANDOM)} for of in (self.rate, self.cost))
        ratio = rates[OURS] / rates[THEIRS]
        case, _, size = self.workload.partition("/")
        bar = BARS.get(case) if size.startswith("5000Nodes") else None
        wanted = "" if bar is None else f"{bar:g} {'met' if ratio >= bar else 'MISSED'}"
        return (
            self.workload,
            str(self.turns[OURS][0].pods),
            *(f"{rate:,.0f}" for rate in rates.values()),
            f"{ratio:.2f}",
            wanted,
            f"{costs[THEIRS]:.2f}",
            f"{costs[OURS]:.2f}",
            f"{costs[OURS] / costs[THEIRS]:.2f}",
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all on one control plane; return 1 if a workload did not run to its end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="a folder of Kubernetes' test/integration/scheduler_perf")
    parser.add_argument("--size", choices=tuple(SIZES), default="short")
    parser.add_argument("--case", default="", help="run only cases with this in their name")
    parser.add_argument("--json", type=Path, default=Path("build/perf-peer.json"), help="where the figures go")
    given = parser.parse_args(arguments)
    try:
        chosen = choose(given.config, given.size, given.case)
    except WorkloadError as error:
        say(str(error))
        return 2
    where = machine.describe()
    with tempfile.TemporaryDirectory() as folder:
        plane = RealPlane(Path(folder))
        try:
            plane.start()
            with plane.controllers(controllers=CONTROLLERS, kube_api_qps=5000, kube_api_burst=5000):
                results = run_all(plane, chosen, TURNS[given.size])
        finally:
            plane.stop()
    content = {"machine": where, "release": plane.release, "results": [asdict(one) for one in results]}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for result in results:
        if result.problem:
            say(f"not run to its end: {result.workload}: {result.problem}")
    return 1 if any(result.problem for result in results) else 0


def choose(config: Path, size: str, part: str = "") -> list[Selected]:
    """Return the workloads of a size, in the order of the list; raise WorkloadError if one is not there."""
    found = {one.name: one for path in (config, OWN_WORKLOADS) for one in workloads.find(path)}
    wanted = [f"{case}/{name}" for case, name in SIZES[size].items() if part in case]
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        raise WorkloadError(f"{config}: has no {', '.join(missing) or part}; give upstream's scheduler_perf folder")
    return [found[name] for name in wanted]


def run_all(plane: RealPlane, chosen: Sequence[Selected], turns: int) -> list[Result]:
    """Run workloads and print a row for each."""
    ground = Ground(plane, make_scheduler_identity(plane), make_administrator(plane))
    say(row(_HEADINGS))
    results = []
    for number, selected in enumerate(chosen):
        results.append(run_one(ground, selected, order_of(number, turns)))
        say(row(results[-1].cells()))
    return results


def run_one(ground: Ground, selected: Selected, order: Sequence[str]) -> Result:
    try:
        bout = Bout(ground, selected)
        return Result(selected.name, run(bout.run(order, is_used_up=selected.case.name in USED_UP)))
    except WorkloadError as error:
        return Result(selected.name, {}, str(error))
    except RequestError as error:
        return Result(selected.name, {}, error.describe())


def row(cells: Sequence[str]) -> str:
    first, *rest = zip(cells, _WIDTHS, strict=True)
    return "  ".join((first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest))).rstrip()


if __name__ == "__main__":
    sys.exit(main())
