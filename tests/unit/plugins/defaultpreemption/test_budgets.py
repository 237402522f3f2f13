"""Which evictions go over a disruption budget."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.cache.cache import CachedPod
from stowplan.model.kinds import PodDisruptionBudget, PodDisruptionBudgetSpec
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement, NamespacedMeta
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.search import Budgets
from stowplan.table.table import Table
from stowplan.testing import make_pod
from tests.unit.plugins.defaultpreemption.crowded import budget


def web(name: str, **labels: str) -> Pod:
    builder = make_pod(name).label("app", "web")
    for key, value in labels.items():
        builder = builder.label(key, value)
    return builder.build()


WEB = (web("w1"), web("w2"), web("w3"))


def violated(budgets: list[PodDisruptionBudget], pods: tuple[Pod, ...], stops_at_first: bool = True) -> list[bool]:
    table = Table()
    known = Budgets(budgets, stops_at_first=stops_at_first)
    return known.violated_by([CachedPod(pod, table.shape_of(pod), "a", is_assumed=False) for pod in pods])


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        pytest.param([], [False, False, False], id="no budget"),
        pytest.param([budget("b", 2, app="web")], [False, False, True], id="two may go, the third is too many"),
        pytest.param([budget("b", 0, app="web")], [True, True, True], id="none may go"),
        pytest.param([budget("b", 0, app="db")], [False, False, False], id="a budget about others"),
        pytest.param([budget("b", 0)], [False, False, False], id="an empty selector is about nobody"),
        pytest.param(
            [PodDisruptionBudget(metadata=NamespacedMeta(name="b"))], [False, False, False], id="no selector at all"
        ),
        pytest.param(
            [budget("b", 1, ["w1"], app="web")], [False, False, True], id="a pod whose eviction is on record is free"
        ),
        pytest.param(
            [budget("b", 2, app="web"), budget("c", 1, app="web")],
            [False, True, True],
            id="of two budgets the tighter decides",
        ),
        pytest.param(
            [budget("b", 0, ["w1"], app="web"), budget("c", 1, app="web")],
            [False, True, True],
            id="on record in one budget it still counts in the other",
        ),
    ],
)
def test_pods_count_against_their_budgets_in_turn(budgets: list[PodDisruptionBudget], expected: list[bool]) -> None:
    assert violated(budgets, WEB) == expected


@pytest.mark.parametrize(
    ("stops_at_first", "expected"),
    [
        pytest.param(True, [True, True, False], id="a budget after one that is violated is not charged"),
        pytest.param(False, [True, True, True], id="in 1.36 every budget is charged"),
    ],
)
def test_a_violated_budget_ends_the_count(stops_at_first: bool, expected: list[bool]) -> None:
    """Two that are about `red` pods' first budget use up the second one's only eviction, or leave it to the third."""
    pods = (web("w1", tier="red"), web("w2", tier="red"), web("w3"))
    budgets = [budget("none", 0, tier="red"), budget("one", 1, app="web")]
    assert violated(budgets, pods, stops_at_first) == expected


def test_a_budget_is_for_its_namespace() -> None:
    elsewhere = replace(budget("b", 0, app="web"), metadata=NamespacedMeta(name="b", namespace="other"))
    assert violated([elsewhere], WEB) == [False, False, False]


def test_a_pod_without_labels_has_no_budget() -> None:
    absent = LabelSelector(match_expressions=(LabelSelectorRequirement(key="tier", operator="DoesNotExist"),))
    everyone = replace(budget("b", 0, app="web"), spec=PodDisruptionBudgetSpec(selector=absent))
    assert violated([everyone], (make_pod("bare").build(), WEB[0])) == [False, True]


def test_a_wrong_selector_is_about_nobody() -> None:
    wrong = LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="Nearly"),))
    broken = replace(budget("b", 0), spec=PodDisruptionBudgetSpec(selector=wrong))
    assert violated([broken], WEB) == [False, False, False]


def test_every_node_starts_with_the_whole_budget() -> None:
    table, known = Table(), Budgets([budget("b", 1, app="web")], stops_at_first=True)
    pods = [CachedPod(pod, table.shape_of(pod), "a", is_assumed=False) for pod in WEB]
    assert [known.violated_by(pods[:1]), known.violated_by(pods[1:])] == [[False], [False, True]]
