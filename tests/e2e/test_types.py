"""What the embedded API server knows of the Kubernetes types is what the release says that the other tests build."""

from __future__ import annotations

import gzip

import pytest

from stowplan.embedded.openapi import documents
from stowplan.embedded.types import release
from tests.e2e.api import Api
from tools import generate_types


@pytest.fixture(scope="module")
def kubernetes() -> generate_types.Release:
    return generate_types.Release(generate_types.CONTROL_PLANE)


def test_to_generate_the_types_again_changes_nothing(kubernetes: generate_types.Release) -> None:
    kept = gzip.decompress((generate_types.TYPES / kubernetes.file_name).read_bytes())
    # Too long to be shown.
    assert (kept == b"".join(kubernetes.documents())) is True, "run `make types`"


def test_the_types_are_those_of_the_release_that_is_served(kubernetes: generate_types.Release) -> None:
    assert kubernetes.file_name == "kubernetes-1.36.json.gz"


@pytest.mark.parametrize(
    "version", ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/resource.k8s.io/v1"]
)
def test_the_api_server_describes_its_types_alike(api: Api, version: str) -> None:
    served = api.run(api.call("GET", f"/openapi/v3/{version}"))["components"]["schemas"]
    assert len(served) > 20
    for name, schema in served.items():
        known = release.openapi_schema(name)
        if documents.KIND not in known:
            # It lists every group for what every group has.
            schema.pop(documents.KIND, None)
        assert known == schema, name
