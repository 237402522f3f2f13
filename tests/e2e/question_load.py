"""What questions cost a live scheduler: `python -m tests.e2e.question_load`, on the real API server.

Stowplan places the pods of `throughput.py` several times, by turns left alone and asked one question a second: whether
pods fit, how many do, and what if a node is drained. Prints pods a second and the 99th percentile of an attempt, of
each and as ratios; asserts nothing.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from tests.e2e.access import fetch, post, token
from tests.e2e.contenders import CONFIGURATION, NAMESPACE, Diary, make_administrator, make_scheduler_identity, say
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node
from tests.e2e.plane import Plane
from tests.e2e.real_plane import RealPlane
from tests.e2e.scheduler_process import SchedulerProcess, stowplan
from tests.e2e.throughput import EVENTS_PATH, NODES, PODS, PODS_PATH, Throughput, alike, await_end, total

TURNS = ("alone", "asked", "asked", "alone", "alone", "asked")
_BUCKET = re.compile(
    r'scheduler_scheduling_attempt_duration_seconds_bucket\{(?=[^}]*result="scheduled")[^}]*\ble="([^"]+)"[^}]*\} (\S+)'
)


def main() -> None:
    """Measure both by turns on one control plane."""
    rates: dict[str, list[Throughput]] = {"alone": [], "asked": []}
    tails: dict[str, list[float]] = {"alone": [], "asked": []}
    with tempfile.TemporaryDirectory() as folder:
        plane = RealPlane(Path(folder))
        try:
            plane.start()
            Kubelets(plane.api).register(node(f"node-{n}", {"cpu": "32", "memory": "256Gi"}) for n in range(NODES))
            identity = make_scheduler_identity(plane)
            make_administrator(plane)
            bearer = token(plane, NAMESPACE, "maker")
            for turn, kind in enumerate(TURNS):
                scheduler = stowplan(plane, CONFIGURATION, f"{kind}-{turn}", identity)
                found, tail = measure(plane, scheduler, bearer, is_asked=kind == "asked")
                rates[kind].append(found)
                tails[kind].append(tail)
                say(f"{kind}: {found}; 99 % of attempts within {1000 * tail:.2f} ms")
        finally:
            plane.stop()
    ratio = total(rates["asked"]).rate / total(rates["alone"]).rate
    tail = sum(tails["asked"]) / sum(tails["alone"])
    say(f"asked once a second: {ratio:.3f} of the pods a second, 99th percentile {tail:.2f} times")


def measure(plane: Plane, scheduler: SchedulerProcess, bearer: str, *, is_asked: bool) -> tuple[Throughput, float]:
    """Let the scheduler place all pods, asked meanwhile or not."""
    plane.api.create_all(alike(number) for number in range(PODS))
    diary = Diary(plane.audit_log, "default")
    try:
        scheduler.process.start()
        with _asking(f"{scheduler.url}/debug/stowplan/whatif", bearer if is_asked else ""):
            found = await_end(diary, scheduler.process)
        return found, _percentile(fetch(f"{scheduler.url}/metrics", bearer)[1])
    finally:
        scheduler.stop()
        plane.api.delete(PODS_PATH, gracePeriodSeconds="0")
        plane.api.delete(EVENTS_PATH)


@contextmanager
def _asking(url: str, bearer: str) -> Iterator[None]:
    """Ask one question a second, if there is a token."""
    ended, answers = threading.Event(), list[int]()
    asked = {**alike(0), "metadata": {"name": "asked", "namespace": "default"}}
    asked = {**asked, "spec": {"schedulerName": "default-scheduler", **asked["spec"]}}
    questions = cycle(
        (
            {"fits": {"pods": [asked]}},
            {"headroom": {"mix": [{"pod": asked}], "limit": 1_000_000}},
            {"drain": {"names": ["node-7"]}},
        )
    )

    def ask() -> None:
        while not ended.wait(1.0):
            try:
                answers.append(post(url, {"question": next(questions)}, bearer)[0])
            except OSError:
                # It does not listen yet.
                continue

    asking = threading.Thread(target=ask)
    if bearer:
        asking.start()
    try:
        yield
    finally:
        ended.set()
        if bearer:
            asking.join()
            say(f"  {len(answers)} questions, answered with {sorted(set(answers))}")


def _percentile(metrics: str, share: float = 0.99) -> float:
    """Return the percentile of an attempt's seconds, as a histogram tells it: even within a bucket."""
    counts = sorted((float(upper), float(count)) for upper, count in _BUCKET.findall(metrics))
    wanted, below, seen = counts[-1][1] * share, 0.0, 0.0
    for upper, count in counts:
        if count >= wanted:
            return below + (upper - below) * (wanted - seen) / max(1.0, count - seen)
        below, seen = upper, count
    return below


if __name__ == "__main__":
    main()
