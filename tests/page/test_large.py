"""10,000 nodes and 100,000 pods: the cluster view keeps up while 500 pods a second are placed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.integration.up.up_process import Up, running
from tests.limits import LIMIT_SECONDS
from tests.page import world
from tests.page.tab import Tab, context_of

_NODES: Final = 10_000
_PODS: Final = 100_000
_A_SECOND: Final = 500
_SECONDS: Final = 10
_MOST_MS: Final = 100
#: The page notes its own work in each frame in which it draws; this, how long the long ones took in all.
_WATCH: Final = """
window.longFrames = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longFrames.push(entry.duration);
}).observe({ type: "long-animation-frame", buffered: true });
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("large")
    with running(folder, *world.write_large(folder, _NODES, _PODS)) as up:
        yield up


@contextmanager
def coming(up: Up) -> Iterator[threading.Event]:
    """Have a Deployment grow by so many pods a second while the block runs; the event is set when it is done."""
    path = "/apis/apps/v1/namespaces/shop/deployments"
    assert up.send("POST", path, deployment())[0] == 201
    done, given_up = threading.Event(), threading.Event()

    def grow() -> None:
        for step in range(1, 2 * _SECONDS + 1):
            patch = {"spec": {"replicas": step * _A_SECOND // 2}}
            headers = {"Content-Type": "application/merge-patch+json"}
            assert up.send("PATCH", f"{path}/burst", patch, **headers)[0] == 200
            if given_up.wait(0.5):
                return
        done.set()

    thread = threading.Thread(target=grow, daemon=True)
    thread.start()
    try:
        yield done
    finally:
        given_up.set()
        thread.join()


def deployment() -> world.Object:
    labels = {"app": "burst"}
    template = world.pod("shop", "unnamed", {"cpu": "100m", "memory": "64Mi"})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "burst", "namespace": "shop"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


def test_the_cluster_view_keeps_up(browser: Browser, large: Up, figures: list[str]) -> None:
    with context_of(browser) as context:
        context.add_init_script(_WATCH)
        tab = Tab(context.new_page(), large.scheduler)
        began = time.monotonic()
        tab.open()
        opened = time.monotonic() - began
        assert tab.figure("nodes") == "10,000"
        assert tab.figure("pods placed") == "100,000"
        tab.page.evaluate("window.stowplanFrames.length = window.longFrames.length = 0")
        began = time.monotonic()
        with coming(large) as done:
            # The page goes on by itself meanwhile.
            assert done.wait(LIMIT_SECONDS)
            tab.expect_figure("pods placed", f"{_PODS + _A_SECOND * _SECONDS:,}")
        seconds = time.monotonic() - began
        frames: list[float] = tab.page.evaluate("window.stowplanFrames")
        long_frames: list[float] = tab.page.evaluate("window.longFrames")
    p50, p95 = np.percentile(frames, (50, 95))
    figures.append(
        f"10,000 nodes, 100,000 pods: open after {opened:.1f} s; for {seconds:.0f} s "
        f"{_A_SECOND * _SECONDS / seconds:.0f} pods a second placed and shown: {len(frames)} frames drawn, "
        f"{p50:.1f} ms (p50), {p95:.1f} ms (p95), {max(frames):.1f} ms (max)"
    )
    figures.append(
        f"  with layout and painting, while the machine schedules beside, {len(long_frames)} frames took above 50 ms, "
        f"the longest {max(long_frames, default=0):.0f} ms"
    )
    assert len(frames) > _SECONDS
    assert p95 < _MOST_MS


def test_its_other_views_answer(browser: Browser, large: Up, figures: list[str]) -> None:
    with context_of(browser) as context:
        tab = Tab(context.new_page(), large.scheduler)
        for name, address in {"a pod": "#/pods/shop/old-000042", "a node": "#/nodes/node-00042"}.items():
            began = time.monotonic()
            tab.open(address)
            figures.append(f"10,000 nodes: {name} is there after {time.monotonic() - began:.1f} s")
        tab.open("#/pods/shop/old-000042")
        expect(tab.page.get_by_role("grid", name="Nodes and plugins")).to_have_attribute("aria-rowcount", "10001")
        assert tab.faults == []
