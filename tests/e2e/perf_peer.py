"""Kubernetes' own benchmark, through kube-scheduler and through Stowplan on one real API server; `make perf-peer`.

For each workload of a list the two have their turn, one after the other, and who begins changes from workload to
workload. Both have the same configuration and a token of one service account. `stowplan bench` makes the pods and
measures, by watching them; the CPU time is that of the process of the scheduler. Beside them run etcd, the API server
and those controllers that a workload needs: claims are made by one, namespaces are taken away by another.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stowplan.bench import workloads
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.remote_running import RemoteCluster, run_remotely
from stowplan.bench.running import Outcome, RunSettings
from stowplan.bench.workloads import Selected
from stowplan.config.feature_gates import with_settings
from tests.e2e.access import wait_until_allowed
from tests.e2e.plane import Plane
from tests.e2e.real_plane import RealPlane
from tests.e2e.throughput import CONFIGURATION, CONTENDERS, NAMESPACE, make_identity, say

THEIRS, OURS = "kube-scheduler", "stowplan"
ADMINISTRATOR: Final = "maker"
OWN_WORKLOADS: Final = Path(__file__).parents[2] / "benchmarks" / "mixed_templates"
#: What claims and namespaces need; others would find the nodes without a kubelet, and take their pods away.
CONTROLLERS: Final = "namespace-controller,resourceclaim-controller"

#: By size, what is run: the case, and the workload of it.
SIZES: Final[Mapping[str, Mapping[str, str]]] = {
    "short": {
        "SchedulingBasic": "500Nodes",
        "SchedulingNodeAffinity": "500Nodes",
        "TopologySpreading": "500Nodes",
        "PreferredTopologySpreading": "500Nodes",
        "SchedulingPodAffinity": "500Nodes",
        "SchedulingPodAntiAffinity": "500Nodes",
        "SchedulingPreferredPodAffinity": "500Nodes",
        "SchedulingPreferredPodAntiAffinity": "500Nodes",
        "SchedulingWithMixedChurn": "1000Nodes",
        "PreemptionAsync": "500Nodes",
        "SchedulingInTreePVs": "500Nodes",
        "SchedulingCSIPVs": "500Nodes",
        "SchedulingWithResourceClaimTemplate": "2000pods_100nodes",
        "SchedulingMixedTemplates": "500Nodes",
    },
    "nightly": {
        "SchedulingBasic": "5000Nodes_10000Pods",
        "SchedulingNodeAffinity": "5000Nodes_10000Pods",
        "TopologySpreading": "5000Nodes_5000Pods",
        "PreferredTopologySpreading": "5000Nodes_5000Pods",
        "SchedulingPodAffinity": "5000Nodes_5000Pods",
        "SchedulingPodAntiAffinity": "5000Nodes_2000Pods",
        "SchedulingPreferredPodAffinity": "5000Nodes_5000Pods",
        "SchedulingPreferredPodAntiAffinity": "5000Nodes_5000Pods",
        "SchedulingWithMixedChurn": "5000Nodes_10000Pods",
        "PreemptionAsync": "5000Nodes",
        "SchedulingInTreePVs": "5000Nodes_2000Pods",
        "SchedulingCSIPVs": "5000Nodes_5000Pods",
        "SchedulingWithResourceClaimTemplate": "5000pods_500nodes",
        "SchedulingMixedTemplates": "5000Nodes_5000Pods",
    },
}
#: How many turns each has with a workload.
TURNS: Final = {"short": 1, "nightly": 2}
HEADINGS: Final = ("workload", "pods", f"{THEIRS} pods/s", f"{OURS} pods/s", "ratio", "CPU ms a pod", "", "ratio")


@dataclass(frozen=True, slots=True)
class Identities:
    """The kubeconfig files of who schedules and of who makes the objects."""

    scheduler: Path
    administrator: Path


@dataclass(frozen=True, slots=True)
class Turn:
    """What one scheduler did with a workload; None where that was not measured."""

    pods: int
    rate: float | None
    cpu_milliseconds: float | None
    problem: str = ""

    @classmethod
    def of(cls, outcome: Outcome) -> Turn:
        if outcome.problem or not outcome.measurements:
            return cls(0, None, None, outcome.problem or "nothing was measured")
        found = outcome.measurements[-1]
        return cls(found.pods, found.throughput, found.cpu_milliseconds_a_pod)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both on one control plane; return 1 if a workload did not run to its end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="a folder of Kubernetes' test/integration/scheduler_perf")
    parser.add_argument("--size", choices=tuple(SIZES), default="short")
    parser.add_argument("--case", default="", help="run only cases with this in their name")
    given = parser.parse_args(arguments)
    try:
        chosen = choose(given.config, given.size, given.case)
    except WorkloadError as error:
        say(str(error))
        return 2
    with tempfile.TemporaryDirectory() as folder:
        plane = RealPlane(Path(folder))
        try:
            plane.start()
            with plane.controllers(controllers=CONTROLLERS, kube_api_qps=5000, kube_api_burst=5000):
                problems = run_all(plane, chosen, TURNS[given.size])
        finally:
            plane.stop()
    for problem in problems:
        say(f"not run to its end: {problem}")
    return 1 if problems else 0


def choose(config: Path, size: str, part: str = "") -> list[Selected]:
    """Return the workloads of a size, in the order of the list; raise WorkloadError if one is not there."""
    found = {one.name: one for path in (config, OWN_WORKLOADS) for one in workloads.find(path)}
    wanted = [f"{case}/{name}" for case, name in SIZES[size].items() if part in case]
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        raise WorkloadError(f"{config}: has no {', '.join(missing) or part}; give upstream's scheduler_perf folder")
    return [found[name] for name in wanted]


def order_of(number: int, turns: int) -> list[str]:
    """Return whose turn it is with a workload: there and back again, and another begins with the next workload."""
    pair = [THEIRS, OURS] if number % 2 == 0 else [OURS, THEIRS]
    return [name for turn in range(turns) for name in (pair if turn % 2 == 0 else reversed(pair))]


def run_all(plane: RealPlane, chosen: Sequence[Selected], turns: int) -> list[str]:
    """Run workloads and print a row for each; return what went wrong."""
    identities = Identities(make_identity(plane), make_administrator(plane))
    problems: list[str] = []
    say(row(HEADINGS))
    for number, selected in enumerate(chosen):
        measured: dict[str, list[Turn]] = {THEIRS: [], OURS: []}
        for turn, name in enumerate(order_of(number, turns)):
            found = take_turn(plane, identities, f"{name}-{number}-{turn}", selected)
            measured[name].append(found)
            problems += [f"{selected.name}, {name}: {found.problem}"] if found.problem else []
        say(row((selected.name, *cells(measured[THEIRS], measured[OURS]))))
    return problems


def make_administrator(plane: Plane) -> Path:
    """Make a service account that may do everything: a token costs the server less than a certificate does."""
    plane.create_service_account(NAMESPACE, ADMINISTRATOR)
    plane.grant(NAMESPACE, ADMINISTRATOR, "cluster-admin")
    asked = {"verb": "create", "resource": "nodes"}
    wait_until_allowed(plane.api, f"system:serviceaccount:{NAMESPACE}:{ADMINISTRATOR}", asked)
    return plane.service_account_kubeconfig(NAMESPACE, ADMINISTRATOR)


def take_turn(plane: Plane, identities: Identities, name: str, selected: Selected) -> Turn:
    """Run a workload with a scheduler that is started for it and ends with it."""
    scheduler = CONTENDERS[name.rsplit("-", 2)[0]](plane, CONFIGURATION, name, identities.scheduler)
    try:
        scheduler.start()
        cluster = RemoteCluster(str(identities.administrator), scheduler.process.pid)
        return Turn.of(run_remotely(selected, RunSettings(with_settings({}, plane.release)), cluster))
    finally:
        scheduler.stop()


def cells(theirs: Sequence[Turn], ours: Sequence[Turn]) -> tuple[str, ...]:
    """Return what is told of a workload: the average of the turns of each, and how the two relate."""
    rates = [mean(turn.rate for turn in turns) for turns in (theirs, ours)]
    costs = [mean(turn.cpu_milliseconds for turn in turns) for turns in (theirs, ours)]
    return (str(max(turn.pods for turn in (*theirs, *ours))), *compared(rates, 0), *compared(costs, 2))


def mean(values: Iterable[float | None]) -> float | None:
    """Return the average; None if one is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def compared(pair: Sequence[float | None], digits: int) -> tuple[str, str, str]:
    theirs, ours = pair
    shown = ["-" if value is None else f"{value:,.{digits}f}" for value in pair]
    return shown[0], shown[1], f"{ours / theirs:.2f}" if ours is not None and theirs else "-"


def row(texts: Sequence[str]) -> str:
    widths = (58, 6, 21, 15, 6, 13, 8, 6)
    first, *rest = zip(texts, widths, strict=True)
    return "  ".join((first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)))


if __name__ == "__main__":
    sys.exit(main())
