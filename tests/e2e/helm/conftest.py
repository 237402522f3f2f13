"""One whole cluster for all charts, and a namespace for each test."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.e2e.helm.command import WITHOUT_HOOKS, Helm
from tests.e2e.plane import Plane


@pytest.fixture(scope="package")
def cluster(plane: Plane) -> Iterator[Plane]:
    with plane.whole_cluster():
        yield plane


@pytest.fixture
def helm(cluster: Plane, request: pytest.FixtureRequest) -> Iterator[Helm]:
    """Helm in a namespace that is named like the test, and not there yet; its releases go when the test ends."""
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    helm = Helm(cluster, f"helm-{words}"[:63].strip("-"))
    yield helm
    for release in helm("list", "--all", "--short").split():
        helm("uninstall", release, WITHOUT_HOOKS)
