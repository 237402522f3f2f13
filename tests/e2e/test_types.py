"""What the embedded API server knows of the Kubernetes types is what the release says that the other tests build."""

from __future__ import annotations

import gzip

import pytest

from stowplan.embedded.objects.releases import VERSIONS
from stowplan.embedded.openapi import documents as openapi
from stowplan.embedded.types import release
from tests.e2e.plane import Plane
from tools import generate_types


@pytest.fixture(scope="module")
def kubernetes() -> list[generate_types.Release]:
    return [generate_types.Release(generate_types.CONTROL_PLANE / number) for number in VERSIONS]


def test_to_generate_the_types_again_changes_nothing(kubernetes: list[generate_types.Release]) -> None:
    for name, documents in generate_types.files(kubernetes).items():
        kept = gzip.decompress((generate_types.TYPES / name).read_bytes())
        # Too long to be shown.
        assert (kept == b"".join(documents)) is True, f"{name}: run `make types`"


def test_the_types_are_those_of_the_versions_that_are_served(kubernetes: list[generate_types.Release]) -> None:
    assert {each.number: each.version for each in kubernetes} == VERSIONS


@pytest.mark.each_release
@pytest.mark.parametrize(
    "version", ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/resource.k8s.io/v1"]
)
def test_the_api_server_describes_its_types_alike(plane: Plane, version: str) -> None:
    api = plane.api
    served = api.run(api.call("GET", f"/openapi/v3/{version}"))["components"]["schemas"]
    assert len(served) > 20
    for name, schema in served.items():
        known = release.openapi_schema(name, plane.release)
        if openapi.KIND not in known:
            # It lists every group for what every group has.
            schema.pop(openapi.KIND, None)
        assert known == schema, name
