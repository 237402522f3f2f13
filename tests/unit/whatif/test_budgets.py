"""Disruption budgets as evictions meet them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.what_if import ClusterWorld
from stowplan.model.kinds import PodDisruptionBudget, PodDisruptionBudgetStatus
from stowplan.model.meta import Condition, LabelSelector, LabelSelectorRequirement
from stowplan.model.pod import Pod
from stowplan.whatif.budgets import BudgetBook
from tests.unit.whatif.questions import budget, cluster_of, node, pod

COUNTED = PodDisruptionBudgetStatus(
    observed_generation=1, expected_pods=3, current_healthy=3, desired_healthy=3, disruptions_allowed=0
)
WRONG = LabelSelectorRequirement(key="app", operator="Near", values=("a",))


def book(*objects: PodDisruptionBudget | Pod) -> BudgetBook:
    return BudgetBook(ClusterWorld(cluster_of(node("n", cpu=32), *objects)))


def pods(count: int) -> list[Pod]:
    return [pod(f"web-{number}", on="n") for number in range(count)]


def with_status(one: Pod, phase: str, ready: str = "") -> Pod:
    conditions = (Condition(type="Ready", status=ready),) if ready else (Condition(type="PodScheduled", status="True"),)
    return replace(one, status=replace(one.status, phase=phase, conditions=conditions))


@pytest.mark.parametrize(
    ("rule", "count", "allowed"),
    [
        pytest.param({"min_available": 2}, 3, 1, id="all but those that have to be available"),
        pytest.param({"min_available": 3}, 3, 0, id="nobody, if all have to be"),
        pytest.param({"min_available": 5}, 3, 0, id="nobody, if there are too few already"),
        pytest.param({"min_available": "60%"}, 3, 1, id="a share that has to be available is rounded up"),
        pytest.param({"max_unavailable": 2}, 3, 2, id="as many as may be unavailable"),
        pytest.param({"max_unavailable": "50%"}, 3, 2, id="a share that may be unavailable is rounded up, too"),
        pytest.param({"max_unavailable": 0}, 3, 0, id="nobody, if none may be unavailable"),
        pytest.param({"max_unavailable": "many"}, 3, 0, id="nobody, if what is written is no number"),
        pytest.param({}, 3, 0, id="nobody, if it does not say"),
    ],
)
def test_a_budget_that_no_controller_has_counted_lets_go(rule: dict[str, Any], count: int, allowed: int) -> None:
    found, placed = book(budget("web", **rule), *pods(count)), pods(count)
    gone = 0
    while gone < count and not found.in_the_way(placed[gone]):
        found.go(placed[gone])
        gone += 1
    assert gone == allowed


def test_pods_that_are_going_already_are_not_healthy() -> None:
    first, *others = pods(3)
    going = replace(first, metadata=replace(first.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    found = book(budget("web", min_available=2), going, *others)
    assert found.in_the_way(others[0]) == ["default/web"]


def test_what_a_controller_has_counted_is_believed() -> None:
    found = book(budget("web", status=replace(COUNTED, disruptions_allowed=1), min_available=3), *pods(3))
    first, second, _ = pods(3)
    assert found.in_the_way(first) == []
    found.go(first)
    assert found.in_the_way(second) == ["default/web"]


@pytest.mark.parametrize(
    ("phase", "ready", "status", "policy", "is_held"),
    [
        pytest.param("Running", "True", COUNTED, "", True, id="is ready: it counts"),
        pytest.param("Pending", "", COUNTED, "", False, id="does not run yet"),
        pytest.param("Running", "False", COUNTED, "", False, id="is not ready, and the others are enough"),
        pytest.param(
            "Running", "False", replace(COUNTED, current_healthy=2), "", True, id="is not ready, nor enough others"
        ),
        pytest.param(
            "Running",
            "False",
            replace(COUNTED, current_healthy=2),
            "AlwaysAllow",
            False,
            id="is not ready, and may always go then",
        ),
        pytest.param(
            "Running", "False", replace(COUNTED, desired_healthy=0, current_healthy=0), "", True, id="none has to be"
        ),
    ],
)
def test_a_budget_with_nothing_to_spare_holds_a_pod_that(
    phase: str, ready: str, status: PodDisruptionBudgetStatus, policy: str, is_held: bool
) -> None:
    one = with_status(pod("web-0", on="n"), phase, ready)
    found = book(budget("web", status=status, min_available=3, unhealthy_pod_eviction_policy=policy), one)
    assert bool(found.in_the_way(one)) is is_held


def test_who_goes_without_being_counted_leaves_the_budget_as_it_is() -> None:
    pending = with_status(pod("web-0", on="n"), "Pending")
    ready = with_status(pod("web-1", on="n"), "Running", "True")
    found = book(budget("web", status=replace(COUNTED, disruptions_allowed=1)), pending, ready)
    found.go(pending)
    assert found.in_the_way(ready) == []


def test_nobody_evicts_a_pod_that_several_budgets_are_about() -> None:
    found = book(budget("web", min_available=0), budget("app", LabelSelector(), min_available=0), *pods(2))
    assert sorted(found.in_the_way(pods(1)[0])) == ["default/app", "default/web"]
    assert sorted(found.about(pods(1)[0])) == ["default/app", "default/web"]


def test_whoever_does_not_run_goes_though_several_budgets_are_about_it() -> None:
    found = book(budget("web", max_unavailable=0), budget("app", LabelSelector(), max_unavailable=0), *pods(1))
    assert found.in_the_way(with_status(pods(1)[0], "Pending")) == []


def test_a_budget_that_a_controller_could_not_count_lets_nobody_go() -> None:
    failed = Condition(
        type="DisruptionAllowed", status="False", reason="SyncFailed", message='found no controllers for pod "a"'
    )
    found = book(budget("web", status=PodDisruptionBudgetStatus(conditions=(failed,)), max_unavailable=1), *pods(3))
    assert found.in_the_way(pods(1)[0]) == ["default/web"]
    assert found.why(pods(1)[0]) == (
        'nobody can evict it: default/web cannot be counted, found no controllers for pod "a"'
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(LabelSelector(), ["default/b"], id="an empty selector is about all"),
        pytest.param(LabelSelector(match_labels={"app": "web"}), ["default/b"], id="one that matches"),
        pytest.param(LabelSelector(match_labels={"app": "db"}), [], id="one that does not"),
        pytest.param(LabelSelector(match_expressions=(WRONG,)), [], id="one that is wrong protects nobody"),
    ],
)
def test_a_budget_is_about_a_pod_by_its_selector(selector: LabelSelector, expected: list[str]) -> None:
    assert book(budget("b", selector, max_unavailable=0), *pods(1)).in_the_way(pods(1)[0]) == expected


def test_a_budget_without_a_selector_is_about_nobody() -> None:
    found = budget("web", max_unavailable=0)
    without = replace(found, spec=replace(found.spec, selector=None))
    assert book(without, *pods(1)).about(pods(1)[0]) == []


def test_a_budget_is_about_pods_of_its_namespace() -> None:
    found = budget("web", max_unavailable=0)
    elsewhere = replace(found, metadata=replace(found.metadata, namespace="other"))
    assert book(elsewhere, *pods(1)).about(pods(1)[0]) == []
