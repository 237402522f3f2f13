"""Horizontal pod autoscalers are the same objects in autoscaling/v1 and v2, each in its own form."""

from __future__ import annotations

import copy
import json

import pytest

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import APPLY_PATCH, MERGE_PATCH, Patch
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.stored import keep
from tests.unit.embedded.admission.doorstep import NOW, create, new_api, refusal_of_change, refusal_of_new
from tests.unit.embedded.given import resource

FIRST = resource("horizontalpodautoscalers.autoscaling", "v1")
SECOND = resource("horizontalpodautoscalers.autoscaling", "v2")
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CARRIED = "autoscaling.alpha.kubernetes.io/"
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
REQUESTS = {
    "type": "Object",
    "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
        "metric": {"name": "requests"},
        "target": {"type": "Value", "value": "10"},
    },
}
BEHAVIOR = {
    "scaleUp": {
        "stabilizationWindowSeconds": 5,
        "selectPolicy": "Min",
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    },
    "scaleDown": {"selectPolicy": "Disabled", "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]},
}


def autoscaler(annotations: Object | None = None, **spec: object) -> Object:
    metadata = {"name": "web", **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 5, **spec}}


def cpu(percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def second(api: Api) -> Object:
    return api.get(SECOND, "default", "web")


def first(api: Api) -> Object:
    return api.get(FIRST, "default", "web")


def test_the_share_of_the_first_version_is_a_metric_of_the_second() -> None:
    api = new_api()
    create(api, FIRST, autoscaler(targetCPUUtilizationPercentage=60), field_validation="Strict")
    shown = second(api)
    assert shown["apiVersion"] == "autoscaling/v2"
    assert shown["spec"] == {"scaleTargetRef": REFERENCE, "minReplicas": 1, "maxReplicas": 5, "metrics": [cpu(60)]}


def test_the_metric_of_the_second_version_is_the_share_of_the_first() -> None:
    api = new_api()
    create(api, SECOND, autoscaler(metrics=[cpu(70)]), field_validation="Strict")
    shown = first(api)
    assert shown["apiVersion"] == "autoscaling/v1"
    assert shown["spec"] == {
        "scaleTargetRef": REFERENCE,
        "minReplicas": 1,
        "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 70,
    }
    assert "annotations" not in shown["metadata"]


@pytest.mark.parametrize("of", [FIRST, SECOND], ids=["v1", "v2"])
def test_whoever_aims_at_nothing_aims_at_eighty_percent(of: Resource) -> None:
    api = new_api()
    create(api, of, autoscaler())
    assert second(api)["spec"]["metrics"] == [cpu(80)]
    assert first(api)["spec"]["targetCPUUtilizationPercentage"] == 80


def test_what_the_first_version_does_not_know_is_carried_in_annotations() -> None:
    api = new_api()
    create(api, SECOND, autoscaler(metrics=[MEMORY, REQUESTS, cpu(70)], behavior=BEHAVIOR))
    annotations = first(api)["metadata"]["annotations"]
    assert json.loads(annotations[f"{CARRIED}metrics"]) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
        {
            "type": "Object",
            "object": {
                "target": {"apiVersion": "v1", "kind": "Service", "name": "web"},
                "metricName": "requests",
                "targetValue": "10",
            },
        },
    ]
    assert json.loads(annotations[f"{CARRIED}behavior"])["ScaleDown"] == {
        "SelectPolicy": "Disabled",
        "Policies": [{"Type": "Percent", "Value": 10, "PeriodSeconds": 60}],
    }


def test_a_change_by_the_first_version_loses_nothing_of_the_second() -> None:
    api = new_api()
    create(api, SECOND, autoscaler(metrics=[MEMORY, REQUESTS, cpu(70)], behavior=BEHAVIOR))
    changed = first(api)
    changed["spec"]["targetCPUUtilizationPercentage"] = 50
    api.replace(Target(FIRST, "default", "web"), changed, Options(field_validation="Strict"))
    shown = second(api)
    assert shown["spec"]["metrics"] == [MEMORY, REQUESTS, cpu(50)]
    assert shown["spec"]["behavior"] == BEHAVIOR
    assert "annotations" not in shown["metadata"]


@pytest.mark.parametrize("media_type", [APPLY_PATCH, MERGE_PATCH])
def test_the_first_version_is_applied_strictly_over_the_second(media_type: str) -> None:
    api = new_api()
    create(api, SECOND, autoscaler(metrics=[cpu(70)]), field_manager="maker")
    wanted = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    wanted |= autoscaler(targetCPUUtilizationPercentage=50)
    patch = Patch(
        media_type, json.dumps(wanted).encode(), "applier", force=True if media_type == APPLY_PATCH else None, time=NOW
    )
    options = Options(field_validation="Strict", field_manager="applier")
    api.amend(Target(FIRST, "default", "web"), patch, options)
    assert second(api)["spec"]["metrics"] == [cpu(50)]


def test_what_is_measured_is_the_same_in_both() -> None:
    api = new_api()
    create(api, FIRST, autoscaler())
    told = first(api) | {"status": {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40}}
    api.replace(Target(FIRST, "default", "web", "status"), told, Options(field_validation="Strict"))
    assert second(api)["status"] == {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40}}}],
    }
    assert first(api)["status"]["currentCPUUtilizationPercentage"] == 40


@pytest.mark.parametrize(
    ("key", "carried"),
    [
        ("metrics", ""),
        ("metrics", "{"),
        ("metrics", "[1]"),
        ("metrics", '[{"type":5}]'),
        ("metrics", '[{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"much"}}]'),
        ("metrics", '[{"type":"Object","object":{"target":"x","targetValue":{}}}]'),
        ("behavior", "[]"),
        ("behavior", '{"a":' * 700 + "1" + "}" * 700),
        ("metrics", '[{"type":' + "[" * 700 + "]" * 700 + "}]"),
        ("behavior", '{"ScaleUp":1}'),
        ("current-metrics", '[{"type":"Resource","resource":{"currentAverageUtilization":"x"}}]'),
        ("conditions", "[1]"),
    ],
)
def test_an_annotation_that_carries_nonsense_counts_nothing(key: str, carried: str) -> None:
    api = new_api()
    annotations = {"a": "b", f"{CARRIED}{key}": carried}
    create(api, FIRST, autoscaler(annotations, targetCPUUtilizationPercentage=60))
    shown = second(api)
    assert (shown["spec"]["metrics"], "behavior" in shown["spec"]) == ([cpu(60)], False)
    assert shown["metadata"]["annotations"] == {"a": "b"}


def test_what_an_annotation_carries_is_checked_when_only_that_changes() -> None:
    api = new_api()
    create(api, FIRST, autoscaler())
    wrong = json.dumps([{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "-1"}}])
    error = refusal_of_change(api, FIRST, "web", {"metadata": {"annotations": {f"{CARRIED}metrics": wrong}}})
    assert error.message.endswith('spec.metrics[0].resource.target.averageValue: Invalid value: "-1": must be positive')


def test_a_share_of_nothing_is_refused_where_the_second_version_has_it() -> None:
    error = refusal_of_new(new_api(), FIRST, autoscaler(targetCPUUtilizationPercentage=-1))
    assert error.message.endswith(
        "spec.metrics[0].resource.target.averageUtilization: Invalid value: -1: must be greater than 0"
    )


def test_one_that_was_kept_in_the_first_version_is_shown_in_the_second() -> None:
    kept: Object = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    kept |= copy.deepcopy(autoscaler(targetCPUUtilizationPercentage=60))
    kept["metadata"]["resourceVersion"] = "5"
    assert conversion.to_serve(SECOND, keep(FIRST, kept))["spec"]["metrics"] == [cpu(60)]
