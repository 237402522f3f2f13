"""The pytest plugin: fixtures for a cluster from a snapshot and for the cluster in one process.

pytest loads it wherever the package is installed, so nothing else is imported before a fixture is asked for.
`docs/assertions.md` has its options, markers and fixtures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

# Type checkers take this name for true; the rest is to be imported by whoever uses a fixture.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from stowplan.assertions.snapshot_cluster import SnapshotCluster
    from stowplan.local.local_cluster import ClusterInThread

_SNAPSHOT = "stowplan_snapshot"
_CONFIG = "stowplan_config"
_LOCAL = "stowplan_cluster"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("stowplan", "stowplan: clusters to assert something about")
    group.addoption(
        "--stowplan-snapshot",
        action="append",
        metavar="FILE",
        help="Snapshot for the fixture snapshot_cluster; wins over the ini option. Can be given several times.",
    )
    group.addoption("--stowplan-config", metavar="FILE", help="KubeSchedulerConfiguration for snapshot_cluster.")
    parser.addini(_SNAPSHOT, "Snapshots for the fixture snapshot_cluster, from the root folder on.", type="args")
    parser.addini(_CONFIG, "KubeSchedulerConfiguration for snapshot_cluster, from the root folder on.", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_SNAPSHOT}(*paths): the snapshot that snapshot_cluster is read from")
    config.addinivalue_line("markers", f"{_LOCAL}(*manifests, **options): what local_cluster is made from")


@pytest.fixture(scope="session")
def _read_snapshot(request: pytest.FixtureRequest) -> Callable[[tuple[str, ...]], SnapshotCluster]:
    """Read each snapshot once."""
    found: dict[tuple[str, ...], SnapshotCluster] = {}

    def read(paths: tuple[str, ...]) -> SnapshotCluster:
        from stowplan.app.configuration import SourceError
        from stowplan.assertions.snapshot_cluster import SnapshotCluster
        from stowplan.config.errors import ConfigError

        if paths not in found:
            config = _config(request.config)
            try:
                found[paths] = SnapshotCluster.read(*paths, config=config or None)
            except (SourceError, ConfigError, OSError, ValueError) as error:
                raise pytest.fail.Exception(f"snapshot_cluster: {error}", pytrace=False) from None
        return found[paths]

    return read


@pytest.fixture
def snapshot_cluster(
    request: pytest.FixtureRequest, _read_snapshot: Callable[[tuple[str, ...]], SnapshotCluster]
) -> Iterator[SnapshotCluster]:
    """Return the cluster of a snapshot; whatever a test does to it is taken back afterwards."""
    with _read_snapshot(_paths(request)).suppose() as world:
        yield world  # type: ignore[misc]


@pytest.fixture
def local_cluster(request: pytest.FixtureRequest) -> Iterator[ClusterInThread]:
    """Return a cluster in this process, with an API for kubectl; the marker stowplan_cluster says what is in it."""
    from stowplan.local.local_cluster import LocalCluster, LocalClusterError

    marker = request.node.get_closest_marker(_LOCAL)
    manifests, options = (marker.args, marker.kwargs) if marker is not None else ((), {})
    with ExitStack() as open_until_the_end:
        try:
            cluster = open_until_the_end.enter_context(LocalCluster.in_thread(*manifests, **options))
        except LocalClusterError as error:
            raise pytest.fail.Exception(f"local_cluster: {error}", pytrace=False) from None
        yield cluster


def _paths(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the snapshot: of the marker, the command line or the ini file, whichever is nearest."""
    config = request.config
    marker = request.node.get_closest_marker(_SNAPSHOT)
    if marker is not None:
        return tuple(str(config.rootpath / str(path)) for path in marker.args)
    given = config.getoption(_SNAPSHOT)
    if given:
        return tuple(str(config.invocation_params.dir / path) for path in given)
    named = config.getini(_SNAPSHOT)
    if not named:
        remedy = f"name one with --stowplan-snapshot, {_SNAPSHOT} in the ini file, or @pytest.mark.{_SNAPSHOT}(path)"
        pytest.fail(f"snapshot_cluster: there is no snapshot; {remedy}", pytrace=False)
    return tuple(str(config.rootpath / path) for path in named)


def _config(config: pytest.Config) -> Path | None:
    given, named = config.getoption(_CONFIG), config.getini(_CONFIG)
    if given:
        return config.invocation_params.dir / str(given)
    return config.rootpath / str(named) if named else None
