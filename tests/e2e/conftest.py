"""The ground of every end-to-end test: one control plane a session, and an empty cluster for each test.

`pytest --plane real-1.37`, which is the usual one, runs all tests. `--plane real-1.36` runs those whose outcome depends
on the release: they are marked with `each_release`. `--plane embedded` runs on the embedded API server whatever stands
on a plane.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.embedded_plane import EmbeddedPlane
from tests.e2e.kubelets import Kubelets
from tests.e2e.plane import Plane
from tests.e2e.real_plane import RealPlane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan
from tests.e2e.stage import Stage

_TIMINGS = pytest.StashKey[dict[str, float]]()
_KINDS: dict[str, Callable[[Path], Plane]] = {
    "real-1.37": RealPlane,
    "real-1.36": partial(RealPlane, release="1.36"),
    "embedded": EmbeddedPlane,
    "embedded-1.36": partial(EmbeddedPlane, release="1.36"),
}
_USUAL = "real-1.37"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plane", choices=list(_KINDS), default=_USUAL, help="the API server that tests run against")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "each_release: run against the API server of each release")
    config.addinivalue_line("markers", "only_on(*planes): run on these planes alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another plane is there for."""
    kind = _kind(config)
    apart = [item for item in items if not _belongs(item, kind)]
    config.hook.pytest_deselected(items=apart)
    items[:] = [item for item in items if item not in apart]


def _belongs(item: pytest.Item, kind: str) -> bool:
    only = item.get_closest_marker("only_on")
    if only is not None and kind not in only.args:
        return False
    if kind == _USUAL:
        return True
    has_plane = "plane" in getattr(item, "fixturenames", ())
    return has_plane and (kind == "embedded" or item.get_closest_marker("each_release") is not None)


def _kind(config: pytest.Config) -> str:
    # Unknown where the tests are collected from further up.
    return str(config.getoption("--plane", default=_USUAL))


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane; what its programs said stays in pytest's folder of temporary files."""
    plane = _KINDS[_kind(request.config)](tmp_path_factory.mktemp("plane"))
    if not (plane.binaries / "kube-scheduler").exists():
        pytest.fail(f"there is no kube-scheduler in {plane.binaries}; `make e2e` builds it and runs these tests")
    request.config.stash[_TIMINGS] = plane.timings
    try:
        plane.start()
        yield plane
    finally:
        started = time.monotonic()
        plane.stop()
        plane.timings["stopping"] = time.monotonic() - started


@pytest.fixture
def api(plane: Plane) -> Api:
    return plane.api


@pytest.fixture
def kubelets(plane: Plane) -> Iterator[Kubelets]:
    """Kubelets that run whatever is bound to their nodes; the cluster is empty again afterwards."""
    kubelets = Kubelets(plane.api)
    kubelets.start()
    yield kubelets
    kubelets.stop()
    kubelets.clear()


@pytest.fixture
def namespace(plane: Plane, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own, named like it."""
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    # The end tells the variants of a test apart.
    return plane.create_namespace(words[-63:].strip("-"))


@pytest.fixture
def stage(plane: Plane, namespace: str) -> Iterator[Stage]:
    """Objects around nodes and pods; they go when the test ends, and so do the claims of its namespace."""
    stage = Stage(plane.api, namespace)
    yield stage
    stage.clear()


@pytest.fixture(params=[kube_scheduler, stowplan], ids=["kube-scheduler", "stowplan"])
def scheduler(plane: Plane, request: pytest.FixtureRequest) -> Iterator[SchedulerProcess]:
    """The real kube-scheduler with its defaults, and Stowplan in its place: what holds for one holds for the other."""
    scheduler: SchedulerProcess = request.param(plane)
    try:
        seconds = scheduler.start()
        plane.timings.setdefault(request.param.__name__, seconds)
        yield scheduler
    finally:
        scheduler.stop()


@pytest.fixture(scope="module")
def controllers(plane: Plane) -> Iterator[None]:
    """Controllers that work throughout a module."""
    with plane.controllers():
        yield


@pytest.fixture(scope="module", params=[kube_scheduler, stowplan], ids=["kube-scheduler", "stowplan"])
def scheduler_beside_controllers(
    plane: Plane, controllers: None, request: pytest.FixtureRequest
) -> Iterator[SchedulerProcess]:
    """Like `scheduler`, for a whole module in which controllers work."""
    scheduler: SchedulerProcess = request.param(plane, name=f"{request.param.__name__}-beside-controllers")
    try:
        scheduler.start()
        yield scheduler
    finally:
        scheduler.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how long each program took to serve."""
    timings = config.stash.get(_TIMINGS, {})
    if timings:
        words = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in timings.items())
        terminalreporter.write_line(f"control plane: {words}")
