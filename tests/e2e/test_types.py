"""What the embedded API server knows of the Kubernetes types is what the release says that the other tests build."""

from __future__ import annotations

import pytest

from tools import generate_types


@pytest.fixture(scope="module")
def kubernetes() -> generate_types.Release:
    return generate_types.Release(generate_types.CONTROL_PLANE)


def test_to_generate_the_types_again_changes_nothing(kubernetes: generate_types.Release) -> None:
    kept = generate_types.read(generate_types.TYPES / kubernetes.file_name)
    assert kept.keys() == kubernetes.members().keys()
    # Too long to be shown.
    assert all(kept[name] == content for name, content in kubernetes.members().items()), "run `make types`"


def test_the_types_are_those_of_the_release_that_is_served(kubernetes: generate_types.Release) -> None:
    assert kubernetes.file_name == "kubernetes-1.36.zip"
