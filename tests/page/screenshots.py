"""Takes the pictures of the page that README.md shows: `make page-screenshots`.

They are of a cluster that looks like one: nodes of two sizes in three zones, unevenly full, to which pods come, most of
which fit.
"""

from __future__ import annotations

import argparse
import ssl
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np
from playwright.sync_api import Browser, expect, sync_playwright

from tests.chromium.program import FLAGS, find
from tests.e2e.api import Api
from tests.integration.up.up_process import Up, running
from tests.page import world
from tests.page.tab import tab_of

_NODES: Final = 600
_LARGE_EVERY: Final = 10
_APPS: Final = (("web", "500m", "1Gi"), ("api", "1", "2Gi"), ("cache", "500m", "8Gi"), ("batch", "2", "4Gi"))
_SMALL: Final = {"cpu": "16", "memory": "64Gi", "pods": "110"}
_LARGE: Final = {"cpu": "64", "memory": "256Gi", "pods": "110", world.GPU: "8"}
_BURSTS: Final = 12
_MOST_BYTES: Final = 200_000
#: Who waits in the pictures, and why.
_WAITING: Final = (
    world.pod("shop", "report", {"cpu": "62", "memory": "60Gi"}),
    world.pod("shop", "index", {"cpu": "61", "memory": "90Gi"}, nodeSelector={world.ZONE: "zone-b"}),
    world.pod("shop", "import", {"cpu": "1"}, schedulingGates=[{"name": "example.com/data-is-ready"}]),
    *(world.pod("train", f"train-large-{number}", {"cpu": "61", world.GPU: "8"}) for number in range(4)),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.page.screenshots")
    parser.add_argument("folder", type=Path, help="where they go")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=find(), headless=True, args=list(FLAGS))
        with running(folder, *write(folder)) as up:
            create(up)
            given.folder.mkdir(exist_ok=True)
            take(browser, up, "#/", given.folder / "page-cluster.png")
            take(browser, up, "#/pods/shop/report", given.folder / "page-pod.png")
        browser.close()


def take(browser: Browser, up: Up, address: str, path: Path) -> None:
    """Take one picture, on a desk and in daylight."""
    with tab_of(browser, up.scheduler, color_scheme="light", device_scale_factor=1) as tab:
        tab.open(address)
        tab.expect_connection("Live")
        expect(tab.page.locator(".loading")).to_have_count(0)
        path.write_bytes(tab.page.screenshot())
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise SystemExit(f"{path} has {size} bytes, and README.md is to load fast: at most {_MOST_BYTES}")


def write(folder: Path) -> tuple[str, ...]:
    """Write what the cluster begins with, and return the options of `stowplan up` for it."""
    generator = np.random.default_rng(7)
    objects: list[world.Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("shop", "train")
    ]
    for number in range(_NODES):
        is_large = number % _LARGE_EVERY == 0
        name, zone = f"{'gpu' if is_large else 'node'}-{number:03d}", f"zone-{'abc'[number % 3]}"
        made = world.node(name, zone, _LARGE if is_large else _SMALL)
        made["spec"] = {"unschedulable": True} if number % 97 == 3 else {}
        objects += [made, *pods_on(name, is_large, generator)]
    dump = folder / "dump.json"
    world.write_objects(dump, objects)
    return "--from", str(dump)


def pods_on(name: str, is_large: bool, generator: np.random.Generator) -> list[world.Object]:
    """Describe what runs on a node: between nothing and as much as there is room for."""
    found: list[world.Object] = []
    left = generator.beta(2.5, 1.5) * (56 if is_large else 16)
    while True:
        app, cpu, memory = _APPS[int(generator.integers(len(_APPS)))]
        left -= 0.5 if cpu.endswith("m") else int(cpu)
        if left < 0:
            break
        found.append(world.running("shop", f"{app}-{name}-{len(found)}", name, {"cpu": cpu, "memory": memory}))
    if is_large:
        gpus = str(int(generator.integers(9)))
        found.append(world.running("train", f"train-{name}", name, {"cpu": "4", world.GPU: gpus}))
    return found


def create(up: Up) -> None:
    """Have pods come in bursts, so that there is something to see over time."""
    api = Api(up.url, ssl.create_default_context())
    try:
        api.create_all(_WAITING)
        for burst in range(_BURSTS):
            apps = [_APPS[number % len(_APPS)] for number in range(20 + 60 * (burst % 4))]
            made = [(f"{app}-{burst:02d}-{number:03d}", cpu, memory) for number, (app, cpu, memory) in enumerate(apps)]
            api.create_all(world.pod("shop", name, {"cpu": cpu, "memory": memory}) for name, cpu, memory in made)
            time.sleep(1)
        api.wait_for("/api/v1/pods?fieldSelector=spec.nodeName=", lambda found: len(found["items"]) == len(_WAITING))
    finally:
        api.close()


if __name__ == "__main__":
    main()
