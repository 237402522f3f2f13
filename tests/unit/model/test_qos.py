"""The quality-of-service class of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model.decode import convert
from stowplan.model.pod import Pod
from stowplan.model.requests import qos_class

FULL = {"cpu": "1", "memory": "1Gi"}
GUARANTEED = {"requests": FULL, "limits": FULL}


@pytest.mark.parametrize(
    ("containers", "pod_level", "expected"),
    [
        pytest.param([{}], None, "BestEffort", id="nothing said"),
        pytest.param([{"requests": {"example.com/gpu": "1"}}], None, "BestEffort", id="other resources do not count"),
        pytest.param([{"requests": {"cpu": "0"}}], None, "BestEffort", id="zero is nothing"),
        pytest.param([GUARANTEED, GUARANTEED], None, "Guaranteed", id="everything said and equal"),
        pytest.param([GUARANTEED, {}], None, "Burstable", id="one silent container"),
        pytest.param([{"limits": FULL}], None, "Burstable", id="limits without requests"),
        pytest.param([{"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}], None, "Burstable", id="memory missing"),
        pytest.param([{"requests": {"cpu": "1"}}], GUARANTEED, "Guaranteed", id="the pod speaks for its containers"),
        pytest.param([GUARANTEED], {"requests": {"cpu": "1"}}, "Burstable", id="even when it says less"),
    ],
)
def test_class(containers: list[dict[str, Any]], pod_level: dict[str, Any] | None, expected: str) -> None:
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": resources} for resources in containers]}
    if pod_level is not None:
        spec["resources"] = pod_level
    assert qos_class(convert(Pod, {"spec": spec})) == expected


def test_init_containers_count() -> None:
    spec = {"containers": [{"resources": GUARANTEED}], "initContainers": [{"resources": {}}]}
    assert qos_class(convert(Pod, {"spec": spec})) == "Burstable"
