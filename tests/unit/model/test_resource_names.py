"""The families of resource names."""

from __future__ import annotations

import pytest

from stowplan.model.requests import is_extended, is_pod_level, is_scalar


@pytest.mark.parametrize(
    ("name", "extended", "scalar", "pod_level"),
    [
        pytest.param("cpu", False, False, True, id="cpu"),
        pytest.param("ephemeral-storage", False, False, False, id="ephemeral storage is no scalar"),
        pytest.param("example.com/gpu", True, True, False, id="a vendor's device"),
        pytest.param("kubernetes.io/thing", False, True, False, id="Kubernetes' own domain"),
        pytest.param("requests.example.com/gpu", False, False, False, id="what looks like a quota"),
        pytest.param("example.com/" + "g" * 64, False, False, False, id="a name too long for quotas"),
        pytest.param("hugepages-2Mi", False, True, True, id="huge pages"),
        pytest.param("attachable-volumes-aws-ebs", False, True, False, id="attachable volumes"),
        pytest.param("pods", False, False, False, id="pods"),
    ],
)
def test_families(name: str, extended: bool, scalar: bool, pod_level: bool) -> None:
    assert (is_extended(name), is_scalar(name), is_pod_level(name)) == (extended, scalar, pod_level)
