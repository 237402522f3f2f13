"""A scheduler that leads on a cluster where nothing is wrong: what it says of itself fires no alert."""

from __future__ import annotations

import contextlib
import itertools
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.e2e.errands import make_room, ours, repeat_a_refusal, runs
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node
from tests.e2e.plane import Plane
from tests.e2e.promtool.rule_test import assert_firing, promtool
from tests.e2e.scheduler_process import SchedulerProcess, stowplan

TAINT: Final = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
CONFIGURATION: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": True, "resourceNamespace": "kube-system", "resourceName": "scraped"},
    "profiles": [{"schedulerName": "stowplan"}],
}
#: Twenty minutes as the rules see it.
SCRAPES: Final = 40
_PAUSE_SECONDS: Final = 0.25


@contextmanager
def scraped(plane: Plane, scheduler: SchedulerProcess) -> Iterator[list[str]]:
    """Scrape a scheduler over and over, from when it leads to the end of the block."""
    texts: list[str] = []
    is_over = threading.Event()

    def scrape() -> None:
        while not is_over.wait(_PAUSE_SECONDS):
            text = page(plane, scheduler)
            if texts or 'leader_election_master_status{name="scraped"} 1' in text:
                texts.append(text)

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield texts
    finally:
        is_over.set()
        thread.join()


def page(plane: Plane, scheduler: SchedulerProcess) -> str:
    """Return /metrics as the administrator sees it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(plane.admin.certificate, plane.admin.key)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(f"{scheduler.url}/metrics", timeout=30) as response:
        text: str = response.read().decode()
        return text


def test_none_fires_while_pods_are_scheduled(plane: Plane, kubelets: Kubelets, namespace: str, tmp_path: Path) -> None:
    kubelets.register([node("plain", {"pods": "5000"}), node("tainted", taints=[TAINT])])
    numbers = itertools.count()
    scheduler = stowplan(plane, CONFIGURATION, "scraped")
    with contextlib.ExitStack() as parts:
        parts.callback(scheduler.stop)
        scheduler.start()
        texts = parts.enter_context(scraped(plane, scheduler))
        repeat_a_refusal(plane.api, namespace)
        make_room(plane.api, namespace)
        plane.api.delete(f"/api/v1/namespaces/{namespace}/pods/high")
        while len(texts) < SCRAPES:
            name = f"web-{next(numbers)}"
            plane.api.create(ours(namespace, name, {"cpu": "1m"}))
            plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods/{name}", runs)
    assert 'scheduler_schedule_attempts_total{profile="stowplan",result="scheduled"}' in texts[-1]
    assert 'stowplan_watch_silence_seconds{resource="pods"}' in texts[-1]
    assert_firing(tmp_path, {"one": texts}, {minute: [] for minute in range(len(texts) // 2)})
    told = promtool("check", "metrics", given=texts[-1])
    assert "stowplan_" not in told.stdout + told.stderr
