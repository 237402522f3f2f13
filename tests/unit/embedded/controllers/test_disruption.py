"""PodDisruptionBudgets say how many of their pods may be evicted."""

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import (
    BUDGETS,
    DEPLOYMENTS,
    SmallCluster,
    condition,
    tell,
    template,
)
from tests.unit.embedded.given import PODS


def deployment(replicas: int) -> Object:
    return {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(app="web")}


def budget(**limit: Any) -> Object:
    return {"selector": {"matchLabels": {"app": "web"}}, **limit}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param({"minAvailable": 3}, (4, 3, 4, 1), id="a number that must stay"),
        pytest.param({"minAvailable": "50%"}, (4, 2, 4, 2), id="a share that must stay"),
        pytest.param({"maxUnavailable": 1}, (4, 3, 4, 1), id="a number that may go"),
        pytest.param({"maxUnavailable": "30%"}, (4, 2, 4, 2), id="a share that may go, rounded up"),
        pytest.param({"minAvailable": "100%"}, (4, 4, 4, 0), id="nothing may go"),
    ],
)
def test_what_is_allowed(limit: Object, expected: tuple[int, int, int, int]) -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DEPLOYMENTS, "web", deployment(4))
        cluster.create(BUDGETS, "web", budget(**limit))
        await cluster.pass_time(3)
        status = cluster.get(BUDGETS, "web")["status"]
        names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
        assert tuple(status[name] for name in names) == expected
        assert status["observedGeneration"] == 1
        allowed = condition(cluster.get(BUDGETS, "web"), "DisruptionAllowed")
        reason = "SufficientPods" if expected[3] else "InsufficientPods"
        assert (allowed["status"], allowed["reason"]) == (str(bool(expected[3])), reason)

    tell(story)


def test_a_pod_that_goes_counts_at_once() -> None:
    async def story(cluster: SmallCluster) -> None:
        for name in ("a", "b"):
            cluster.create(PODS, name, template()["spec"], labels={"app": "web"})
        cluster.create(BUDGETS, "web", budget(minAvailable=1))
        await cluster.pass_time(3)
        assert cluster.get(BUDGETS, "web")["status"]["disruptionsAllowed"] == 1
        cluster.delete(PODS, "a")
        await cluster.pass_time(1)
        assert cluster.get(BUDGETS, "web")["status"]["disruptionsAllowed"] == 0

    tell(story)


def test_a_pod_whose_eviction_was_allowed_but_never_began_counts_again_after_two_minutes() -> None:
    async def story(cluster: SmallCluster) -> None:
        for name in ("a", "b"):
            cluster.create(PODS, name, template()["spec"], labels={"app": "web"})
        cluster.create(BUDGETS, "web", budget(minAvailable=1))
        await cluster.pass_time(3)
        noted = cluster.get(BUDGETS, "web")
        noted["status"] |= {"disruptedPods": {"a": "2026-01-01T12:00:03Z"}, "disruptionsAllowed": 0}
        cluster.api.update(BUDGETS, "default", "web", noted, subresource="status")
        await cluster.pass_time(10)
        assert cluster.get(BUDGETS, "web")["status"]["currentHealthy"] == 1
        await cluster.pass_time(130)
        status = cluster.get(BUDGETS, "web")["status"]
        assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
        assert "disruptedPods" not in status

    tell(story)


def test_pods_of_nobody_have_no_scale_to_take_a_share_of() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(PODS, "a", template()["spec"], labels={"app": "web"})
        cluster.create(BUDGETS, "web", budget(maxUnavailable="50%"))
        await cluster.pass_time(3)
        assert cluster.get(BUDGETS, "web")["status"]["disruptionsAllowed"] == 0
        assert len(cluster.events("UnmanagedPods")) == 1

    tell(story)
