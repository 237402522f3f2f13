"""A pod goes if its disruption budget can spare it."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.pod_subresources import evict
from stowplan.embedded.requests.request import Options, Target
from tests.unit.embedded.admission.doorstep import change, create, new_api, pod
from tests.unit.embedded.given import PODS, resource

BUDGETS = resource("poddisruptionbudgets.policy")
TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."


def with_running_pod(*, is_ready: bool = True) -> Api:
    api = new_api()
    create(api, PODS, pod(metadata={"labels": {"a": "b"}}, nodeName="n"))
    conditions = [{"type": "Ready", "status": str(is_ready)}]
    change(api, PODS, "p", {"status": {"phase": "Running", "conditions": conditions}}, "status")
    return api


def add_budget(api: Api, name: str = "one", policy: str = "", **status: Any) -> None:
    spec: Object = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    create(api, BUDGETS, {"metadata": {"name": name}, "spec": spec})
    if status:
        change(api, BUDGETS, name, {"status": {"observedGeneration": 1, **status}}, "status")


def evicted(api: Api, eviction: Object | None = None, **options: Any) -> Object:
    obj = eviction or {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "default"}}
    return evict(api, Target(PODS, "default", "p", "eviction"), obj, Options(**options))


def refusal(api: Api, eviction: Object | None = None) -> StatusError:
    with pytest.raises(StatusError) as refused:
        evicted(api, eviction)
    return refused.value


def is_going(api: Api) -> bool:
    return "deletionTimestamp" in api.get(PODS, "default", "p")["metadata"]


def test_a_pod_without_a_budget_goes_and_says_why() -> None:
    api = with_running_pod()
    granted = evicted(api, {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 7}})
    assert granted == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    found = api.get(PODS, "default", "p")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 7
    assert found["status"]["conditions"][-1] == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }


def test_an_eviction_is_taken_from_the_budget() -> None:
    api = with_running_pod()
    add_budget(api, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
    evicted(api)
    assert is_going(api)
    assert api.get(BUDGETS, "default", "one")["status"] == {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
        "disruptedPods": {"p": "2026-01-01T12:00:00Z"},
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "False",
                "reason": "InsufficientPods",
                "message": "",
                "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T12:00:00Z",
            }
        ],
    }


@pytest.mark.parametrize(
    ("status", "cause", "retry"),
    [
        pytest.param(
            {"disruptionsAllowed": 0, "currentHealthy": 3, "desiredHealthy": 3},
            "The disruption budget one needs 3 healthy pods and has 3 currently",
            None,
            id="just enough pods",
        ),
        pytest.param(
            {"disruptionsAllowed": 0, "currentHealthy": 4, "desiredHealthy": 3},
            "The disruption budget one does not allow evicting pods currently",
            None,
            id="a disruption that is counted already",
        ),
        pytest.param({}, "The disruption budget one is still being processed by the server.", 10, id="not counted yet"),
    ],
)
def test_a_budget_that_is_used_up_refuses(status: dict[str, Any], cause: str, retry: int | None) -> None:
    api = with_running_pod()
    add_budget(api, **status)
    error = refusal(api)
    assert (error.code, error.reason, error.message) == (429, "TooManyRequests", TOO_MANY)
    assert error.details is not None
    assert error.details["causes"] == [{"reason": "DisruptionBudget", "message": cause}]
    assert error.details.get("retryAfterSeconds") == retry
    assert not is_going(api)


def test_a_pod_that_does_not_run_yet_goes_whatever_its_budget() -> None:
    api = new_api()
    create(api, PODS, pod(metadata={"labels": {"a": "b"}}))
    add_budget(api, disruptionsAllowed=0)
    evicted(api)
    assert api.list(PODS, "default") == []


@pytest.mark.parametrize(
    ("policy", "healthy", "goes"),
    [
        pytest.param("", 3, True, id="while enough others are"),
        pytest.param("", 2, False, id="not while too few others are"),
        pytest.param("AlwaysAllow", 2, True, id="always, if the budget says so"),
    ],
)
def test_a_pod_that_is_not_ready_may_go(policy: str, healthy: int, goes: bool) -> None:
    api = with_running_pod(is_ready=False)
    add_budget(api, policy=policy, disruptionsAllowed=0, currentHealthy=healthy, desiredHealthy=3)
    if goes:
        evicted(api)
    else:
        refusal(api)
    assert is_going(api) is goes


def test_two_budgets_are_one_too_many() -> None:
    api = with_running_pod()
    add_budget(api, "one", disruptionsAllowed=1)
    add_budget(api, "two", disruptionsAllowed=1)
    assert refusal(api).status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        "code": 500,
    }


def test_a_dry_run_changes_neither_pod_nor_budget() -> None:
    api = with_running_pod()
    add_budget(api, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    before = api.store.version
    evicted(api, is_dry_run=True)
    evicted(api, {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}})
    assert api.store.version == before


@pytest.mark.parametrize(
    ("eviction", "code", "message"),
    [
        pytest.param(
            {"metadata": {"name": "q"}}, 400, "name in URL does not match name in Eviction object", id="another name"
        ),
        pytest.param({"x": 1}, 400, "name in URL does not match name in Eviction object", id="no name"),
    ],
)
def test_an_eviction_is_refused_for(eviction: Object, code: int, message: str) -> None:
    error = refusal(with_running_pod(), eviction)
    assert (error.code, error.message) == (code, message)


def test_an_eviction_of_another_pod_of_that_name_costs_nothing() -> None:
    api = with_running_pod()
    add_budget(api, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    error = refusal(api, {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": "x"}}})
    assert error.code == 409
    assert api.get(BUDGETS, "default", "one")["status"]["disruptionsAllowed"] == 1


def test_a_pod_that_is_not_there_is_not_found() -> None:
    assert refusal(new_api()).code == 404
