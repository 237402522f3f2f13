"""Limit ranges: defaults for containers, and the least and most of containers, pods and claims."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from tests.unit.embedded.admission.doorstep import asking, create, new_api, refusal_of_new
from tests.unit.embedded.given import PODS, resource

LIMIT_RANGES = resource("limitranges")
CLAIMS = resource("persistentvolumeclaims")
CONTAINER = {
    "type": "Container",
    "max": {"cpu": "2", "memory": "2Gi"},
    "min": {"cpu": "100m"},
    "default": {"cpu": "1"},
    "defaultRequest": {"cpu": "500m"},
    "maxLimitRequestRatio": {"cpu": "3"},
}


def limited(*items: Object) -> Api:
    api = new_api()
    create(api, LIMIT_RANGES, {"metadata": {"name": "l"}, "spec": {"limits": list(items)}})
    return api


def test_a_silent_container_gets_the_defaults_and_a_note_says_so() -> None:
    created = create(limited(CONTAINER), PODS, asking())
    assert created["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "2Gi"},
        "limits": {"cpu": "1", "memory": "2Gi"},
    }
    assert created["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu, memory limit for container c"
    }


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param(
            asking({"cpu": "50m", "memory": "1Gi"}),
            "[minimum cpu usage per Container is 100m, but request is 50m, "
            "cpu max limit to request ratio per Container is 3, but provided ratio is 20.000000]",
            id="too little, and too far below its limit",
        ),
        pytest.param(
            asking({"cpu": "1", "memory": "3Gi"}, {"cpu": "3", "memory": "3Gi"}),
            "[maximum cpu usage per Container is 2, but limit is 3, "
            "maximum memory usage per Container is 2Gi, but limit is 3Gi]",
            id="too much of two things",
        ),
    ],
)
def test_a_container_outside_the_bounds_is_refused(obj: Object, problem: str) -> None:
    error = refusal_of_new(limited(CONTAINER), PODS, obj)
    assert (error.code, error.message) == (403, f'pods "p" is forbidden: {problem}')


def test_a_pod_counts_as_a_whole_sidecars_included() -> None:
    limits = {"limits": {"cpu": "2"}}
    obj = asking(None, {"cpu": "2"})
    obj["spec"]["initContainers"] = [
        {"name": "i", "image": "i", "resources": limits},
        {"name": "s", "image": "i", "restartPolicy": "Always", "resources": limits},
    ]
    error = refusal_of_new(limited({"type": "Pod", "max": {"cpu": "3"}}), PODS, obj)
    assert error.message == 'pods "p" is forbidden: maximum cpu usage per Pod is 3, but limit is 4'


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        pytest.param(
            "500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi", id="small"
        ),
        pytest.param(
            "50Gi", "maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 50Gi", id="large"
        ),
    ],
)
def test_a_claim_outside_the_bounds_is_refused(size: str, problem: str) -> None:
    api = limited({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    error = refusal_of_new(api, CLAIMS, {"metadata": {"name": "x"}, "spec": spec})
    assert error.message == f'persistentvolumeclaims "x" is forbidden: {problem}'


def test_the_most_allowed_is_the_default() -> None:
    api = new_api()
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}
    created = create(api, LIMIT_RANGES, {"metadata": {"name": "l"}, "spec": {"limits": [item]}})
    assert created["spec"]["limits"] == [{**item, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}}]


def test_a_limit_range_that_contradicts_itself_is_refused() -> None:
    item = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}
    error = refusal_of_new(new_api(), LIMIT_RANGES, {"metadata": {"name": "l"}, "spec": {"limits": [item]}})
    assert error.message == (
        'LimitRange "l" is invalid: spec.limits[0].defaultRequest[cpu]: Invalid value: "2": '
        "default request value 2 is greater than default limit value 1"
    )
