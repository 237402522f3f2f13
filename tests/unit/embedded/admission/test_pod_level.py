"""Resources of a pod as a whole that follow from those of its containers, in both releases."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.admission import pod_level
from stowplan.embedded.admission.pod_level import FIXED
from tests.unit.embedded.admission.doorstep import new_api
from tests.unit.embedded.given import PODS

HUGE = "hugepages-2Mi"


def container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "c", "resources": dict(resources)}


@pytest.mark.parametrize(
    ("whole", "containers", "before", "fixed"),
    [
        pytest.param(
            {"limits": {"cpu": "2"}},
            [container(requests={"cpu": "500m"}), container(requests={"cpu": "250m", "memory": "1Gi"})],
            {"limits": {"cpu": "2"}, "requests": {"cpu": "750m", "memory": "1Gi"}},
            {"limits": {"cpu": "2"}, "requests": {"cpu": "750m", "memory": "1Gi"}},
            id="requests are those of the containers",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [],
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "1"}},
            id="a pod without containers, which is refused later, has no limits",
        ),
        pytest.param(
            {"limits": {"memory": "2Gi"}},
            [container()],
            {"limits": {"memory": "2Gi"}, "requests": {"memory": "2Gi"}},
            {"limits": {"memory": "2Gi"}, "requests": {"memory": "2Gi"}},
            id="or else the limit",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [container(requests={"memory": "1Gi"})],
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "1", "memory": "1Gi"}},
            id="requests alone are completed since 1.37",
        ),
        pytest.param(
            {"requests": {"cpu": "3"}},
            [container(limits={"cpu": "1"}), container(limits={"cpu": "1"})],
            {"requests": {"cpu": "3"}},
            {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}},
            id="a limit is not below the request",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [container(limits={"cpu": "1"}), container(limits={"cpu": "2"})],
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            id="a limit that all containers have is their sum",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [container(limits={"cpu": "1"}), container()],
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "1"}},
            id="one that not all have is none",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [container(limits={HUGE: "4Mi"}), container(limits={HUGE: "2Mi"})],
            {"requests": {"cpu": "1", HUGE: "6Mi"}, "limits": {HUGE: "6Mi"}},
            {"requests": {"cpu": "1", HUGE: "6Mi"}, "limits": {HUGE: "6Mi"}},
            id="huge pages are limited to what the containers have",
        ),
    ],
)
def test_what_a_pod_says_in_part_is_completed(
    whole: dict[str, Any], containers: list[dict[str, Any]], before: dict[str, Any], fixed: dict[str, Any]
) -> None:
    for is_fixed, expected in ((False, before), (True, fixed)):
        spec = {"containers": containers, "resources": {key: dict(value) for key, value in whole.items()}}
        pod_level.complete(spec, is_fixed=is_fixed)
        assert spec["resources"] == expected


def test_a_pod_that_says_nothing_of_the_whole_gets_nothing() -> None:
    spec = {"containers": [container(limits={"cpu": "1"})]}
    pod_level.complete(spec, is_fixed=True)
    assert spec == {"containers": [container(limits={"cpu": "1"})]}


@pytest.mark.parametrize(
    ("gates", "limits"),
    [
        pytest.param(frozenset({FIXED}), {"cpu": "1"}, id="with the gate"),
        pytest.param(frozenset(), None, id="without"),
    ],
)
def test_the_server_completes_a_new_pod_by_its_gate(gates: frozenset[str], limits: dict[str, str] | None) -> None:
    api = new_api(gates)
    spec = {
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}],
        "resources": {"requests": {"cpu": "1"}},
    }
    created = api.create(PODS, "default", {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    assert created["spec"]["resources"].get("limits") == limits
