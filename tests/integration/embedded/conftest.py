"""One cluster for the tests of a file that only need a server; each test calls it by its own connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.embedded.running import Cluster, running
from tests.integration.embedded.talking import Caller


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running() as cluster:
        yield cluster


@pytest.fixture
def caller(cluster: Cluster) -> Iterator[Caller]:
    caller = Caller(cluster.port)
    yield caller
    caller.close()
