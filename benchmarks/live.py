"""What `stowplan run` costs from its start on: `python -m benchmarks.live [--placed 150000] [--pending 10000]`.

Starts it beside an API server that is a script (`scripted_api.py`), so that little else is measured. Prints the time
from exec to the first binding, the memory then, and the processor time for each pod that is bound, its confirmation and
its event included, and writes build/live.json; asserts nothing. Several programs are measured turn about.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from benchmarks import machine
from benchmarks.live_questions import Questions, free_port
from benchmarks.scripted_api import ScriptedApi, ScriptedCluster
from benchmarks.scripted_objects import HOSTNAME, ZONE, PendingPods

_SELECTOR: Final = {"labelSelector": {"matchLabels": {"app": "web"}}}
_TERM: Final = {**_SELECTOR, "topologyKey": ZONE}
#: What the pods that are bound ask for.
KINDS: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "plain": {},
        "hard spread": {"topologySpreadConstraints": [{**_TERM, "maxSkew": 5, "whenUnsatisfiable": "DoNotSchedule"}]},
        "soft spread": {
            "topologySpreadConstraints": [
                {**_SELECTOR, "topologyKey": HOSTNAME, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
            ]
        },
        "affinity": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}}},
    }
)
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_KIBI: Final = 1024
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Run:
    """One run: seconds, MiB, and milliseconds of processor time a pod."""

    to_first_binding: float
    cpu_to_first_binding: float
    peak_then: int
    resident_at_end: int
    cpu_per_pod: float
    pods_per_second: float
    p99_of_attempts: float
    questions: int

    def __str__(self) -> str:
        asked = f"; asked {self.questions} questions meanwhile" if self.questions else ""
        return (
            f"first binding after {self.to_first_binding:.1f} s ({self.cpu_to_first_binding:.1f} s of CPU time),"
            f" at most {self.peak_then} MiB by then; {self.cpu_per_pod:.3f} ms of CPU time a pod,"
            f" {self.pods_per_second:.0f} pods a second, p99 of attempts {self.p99_of_attempts:.3f} ms;"
            f" {self.resident_at_end} MiB at the end{asked}"
        )


@dataclass(frozen=True, slots=True)
class FailOver:
    """Seconds from the end of who led."""

    to_first_binding: float
    to_hundredth_binding: float

    def __str__(self) -> str:
        return (
            f"first binding {self.to_first_binding:.2f} s after the end of who led,"
            f" the hundredth {self.to_hundredth_binding:.2f} s"
        )


def main() -> None:
    given = _options()
    programs = given.program or [f"{sys.executable} -m stowplan"]
    content: dict[str, Any] = {name: vars(given)[name] for name in ("nodes", "placed", "pending")}
    content["machine"] = machine.describe()
    runs: list[dict[str, Any]] = []
    fail_overs: list[dict[str, Any]] = []
    for _ in range(given.rounds):
        for kind in given.kind or ["plain"]:
            for program, every_seconds in itertools.product(programs, given.ask_every or [0.0]):
                cluster = ScriptedCluster(given.nodes, given.placed, PendingPods(given.pending, KINDS[kind]))
                questions = Questions(free_port(), every_seconds)
                run = asyncio.run(measure(cluster, program.split(), questions, is_paged=given.paged))
                print(f"{program}, {kind}: {run}", flush=True)
                runs.append({"kind": kind, **asdict(run)})
    for program in programs if given.fail_over else ():
        for how in (signal.SIGTERM, signal.SIGKILL):
            cluster = ScriptedCluster(given.nodes, given.placed, PendingPods(1, {}))
            found = asyncio.run(fail_over(cluster, program.split(), how))
            print(f"{program}, {how.name}: {found}", flush=True)
            fail_overs.append({"signal": how.name, **asdict(found)})
    content |= {"runs": runs, "fail_overs": fail_overs}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--placed", type=int, default=150_000, help="pods that run already")
    parser.add_argument("--pending", type=int, default=10_000, help="pods that wait")
    parser.add_argument("--kind", choices=KINDS, action="append", help="what they ask for; may be repeated")
    parser.add_argument(
        "--ask-every", type=float, action="append", help="seconds between what-if questions; 0: none; may be repeated"
    )
    parser.add_argument("--paged", action="store_true", help="serve lists in pages only, not as streams")
    parser.add_argument("--rounds", type=int, default=1, help="0: none of this")
    parser.add_argument("--program", action="append", help="how to call another stowplan, to compare; may be repeated")
    parser.add_argument("--fail-over", action="store_true", help="measure how soon another replica takes over as well")
    parser.add_argument("--json", type=Path, default=Path("build/live.json"), help="where the figures go")
    return parser.parse_args()


async def measure(cluster: ScriptedCluster, program: list[str], questions: Questions, *, is_paged: bool) -> Run:
    """Start a scheduler, and end it when all pods are bound and all events written."""
    api = ScriptedApi(cluster, streams_lists=not is_paged)
    await api.start()
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"--config={_configuration(Path(folder), api.url)}", *questions.flags()]
        answered: list[float] = []
        asking: asyncio.Task[None] | None = None
        started = time.monotonic()
        process = await _start(program, flags)
        try:
            await _until(lambda: bool(cluster.bound), process)
            to_first, cpu_first = cluster.bound_at[0] - started, _cpu_seconds(process.pid)
            peak = _memory(process.pid, "VmHWM")
            asking = asyncio.create_task(questions.ask_on(answered))
            await _until(lambda: len(cluster.bound) >= cluster.pending.count, process)
            await _until_told(cluster)
            used = _cpu_seconds(process.pid) - cpu_first
            took = cluster.bound_at[-1] - cluster.bound_at[0]
            resident = _memory(process.pid, "VmRSS")
            p99 = await questions.p99_of_attempts()
        finally:
            if asking is not None:
                asking.cancel()
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()
            await api.stop()
    count = cluster.pending.count
    rate = count / took if took else 0.0
    return Run(to_first, cpu_first, peak, resident, 1000 * used / count, rate, p99, len(answered))


async def fail_over(cluster: ScriptedCluster, program: list[str], how: signal.Signals) -> FailOver:
    """End a scheduler that leads while another stands by; say when the other has bound its first pod, and a hundred."""
    api = ScriptedApi(cluster, streams_lists=True)
    await api.start()
    replicas: list[asyncio.subprocess.Process] = []
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"--config={_configuration(Path(folder), api.url, elects=True)}", "--secure-port=0"]
        try:
            for _ in range(2):
                replicas.append(await _start(program, flags))
                await _until(lambda: bool(cluster.bound) and len(cluster.watchers) == len(replicas), replicas[-1])
            await _until_quiet(replicas[-1].pid)
            ended = time.monotonic()
            replicas[0].send_signal(how)
            await replicas[0].wait()
            cluster.create_pending(100)
            await _until(lambda: len(cluster.bound) == cluster.pending.count, replicas[1])
            first, last = (cluster.bound_at[number] - ended for number in (1, -1))
        finally:
            for process in replicas:
                if process.returncode is None:
                    process.send_signal(signal.SIGTERM)
                await process.wait()
            await api.stop()
    return FailOver(first, last)


async def _start(program: list[str], flags: list[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(*program, "run", *flags, stderr=asyncio.subprocess.DEVNULL)


async def _until_told(cluster: ScriptedCluster) -> None:
    """Wait for all events, or for the last of them: of more than 10,000 that have to wait, some are dropped."""
    seen = -1
    while seen < cluster.events < cluster.pending.count:
        seen = cluster.events
        await asyncio.sleep(1.0)


async def _until_quiet(pid: int) -> None:
    """Wait until a process has nothing to do any more."""
    before = -1.0
    while (used := _cpu_seconds(pid)) - before > 0.05:
        before = used
        await asyncio.sleep(3.0)


def _configuration(folder: Path, url: str, *, elects: bool = False) -> Path:
    kubeconfig, configuration = folder / "kubeconfig", folder / "config.yaml"
    kubeconfig.write_text(
        f"apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: '{url}'}}}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: ''}}]\ncurrent-context: c\n",
        encoding="utf-8",
    )
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"clientConnection: {{kubeconfig: {kubeconfig}, qps: 20000, burst: 20000}}\n"
        f"leaderElection: {{leaderElect: {str(elects).lower()}}}\n",
        encoding="utf-8",
    )
    return configuration


async def _until(holds: Any, process: asyncio.subprocess.Process) -> None:
    while not holds():
        if process.returncode is not None:
            raise SystemExit(f"the scheduler ended with code {process.returncode}; see what it said")
        await asyncio.sleep(_LOOK_SECONDS)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) // _KIBI


if __name__ == "__main__":
    main()
