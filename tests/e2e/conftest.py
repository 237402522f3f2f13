"""The ground of every end-to-end test: one control plane a session, and an empty cluster for each test.

`pytest --plane embedded` puts the tests of the real API server on the embedded one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from tests.e2e.api import Api
from tests.e2e.embedded_plane import EmbeddedPlane
from tests.e2e.kubelets import Kubelets
from tests.e2e.plane import Plane
from tests.e2e.processes import BINARIES
from tests.e2e.real_plane import RealPlane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan
from tests.e2e.stage import Stage

_TIMINGS = pytest.StashKey[dict[str, float]]()
_KINDS: dict[str, type[Plane]] = {"real": RealPlane, "embedded": EmbeddedPlane}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plane", choices=list(_KINDS), default="real", help="the API server that tests run against")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On the embedded plane, leave out what does not stand on a plane."""
    if _kind(config) == "real":
        return
    apart = [item for item in items if "plane" not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=apart)
    items[:] = [item for item in items if item not in apart]


def _kind(config: pytest.Config) -> str:
    # Unknown where the tests are collected from further up.
    return str(config.getoption("--plane", default="real"))


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane; what its programs said stays in pytest's folder of temporary files."""
    if not (BINARIES / "kube-scheduler").exists():
        pytest.fail(f"there is no kube-scheduler in {BINARIES}; `make e2e` builds it and runs these tests")
    plane = _KINDS[_kind(request.config)](tmp_path_factory.mktemp("plane"))
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
