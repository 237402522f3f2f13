"""Which changes may even out the spread of a pod's siblings."""

from __future__ import annotations

import pytest

from stowplan.model import selectors
from stowplan.plugins.podtopologyspread import constraints
from stowplan.plugins.podtopologyspread.constraints import SpreadConstraint
from stowplan.testing import NodeBuilder, PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
RACK = "rack"
WAITING = make_pod("p").label("app", "web")
SIBLING = make_pod("other").label("app", "web")
STRANGER = make_pod("other").label("app", "db")


def constraint(key: str = ZONE, *, honors_taints: bool = False) -> SpreadConstraint:
    return SpreadConstraint(
        key=key,
        max_skew=1,
        min_domains=1,
        honors_affinity=True,
        honors_taints=honors_taints,
        namespace="default",
        selector=selectors.from_labels({"app": "web"}),
    )


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, SIBLING.on("n"), True, id="a sibling comes"),
        pytest.param(None, SIBLING.nominated_to("n"), True, id="a sibling is expected"),
        pytest.param(None, SIBLING, False, id="a sibling without a node"),
        pytest.param(None, STRANGER.on("n"), False, id="somebody else comes"),
        pytest.param(SIBLING.on("n"), None, True, id="a sibling goes"),
        pytest.param(STRANGER.on("n"), None, False, id="somebody else goes"),
        pytest.param(STRANGER.on("n"), SIBLING.on("n"), True, id="somebody becomes a sibling"),
        pytest.param(SIBLING.on("n"), STRANGER.on("n"), True, id="a sibling becomes somebody else"),
        pytest.param(SIBLING.on("n"), SIBLING.label("x").on("n"), False, id="a sibling stays one"),
    ],
)
def test_pods_that_come_change_or_go(old: PodBuilder | None, new: PodBuilder | None, helps: bool) -> None:
    before, after = (None if version is None else version.build() for version in (old, new))
    assert constraints.is_schedulable_after_assigned_pod_change([constraint()], WAITING.build(), before, after) is helps


def test_a_pod_of_another_namespace_is_no_sibling() -> None:
    stranger = make_pod("other", "elsewhere").label("app", "web").on("n").build()
    assert (
        constraints.is_schedulable_after_assigned_pod_change([constraint()], WAITING.build(), None, stranger) is False
    )


def test_a_pod_that_tolerates_more_helps_itself_where_taints_count() -> None:
    old, new = WAITING.build(), WAITING.tolerate("x").build()
    honoring = [constraint(honors_taints=True)]
    assert constraints.is_schedulable_after_target_pod_change(honoring, old, new) is True
    assert constraints.is_schedulable_after_target_pod_change([constraint()], old, new) is False
    placed, tolerant = SIBLING.on("n").build(), SIBLING.on("n").tolerate("x").build()
    assert constraints.is_schedulable_after_assigned_pod_change(honoring, new, placed, tolerant) is False


def test_a_pod_that_is_no_sibling_of_its_own_any_more_helps_itself() -> None:
    old = WAITING.build()
    changed, other = WAITING.label("app", "db").build(), WAITING.label("x").build()
    assert constraints.is_schedulable_after_target_pod_change([constraint()], old, changed) is True
    assert constraints.is_schedulable_after_target_pod_change([constraint()], old, other) is False


IN_A = make_node("n").zone("a")


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, IN_A, True, id="a node in a zone comes"),
        pytest.param(None, make_node("n"), False, id="a node in no zone comes"),
        pytest.param(IN_A, None, True, id="a node in a zone goes"),
        pytest.param(make_node("n"), None, False, id="a node in no zone goes"),
        pytest.param(IN_A, make_node("n").zone("b"), True, id="a node changes zones"),
        pytest.param(make_node("n"), IN_A, True, id="a node joins a zone"),
        pytest.param(IN_A, make_node("n"), True, id="a node leaves its zone"),
        pytest.param(IN_A, IN_A.taint("x"), True, id="a node in a zone has other taints"),
        pytest.param(make_node("n"), make_node("n").taint("x"), False, id="a node in no zone has other taints"),
        pytest.param(IN_A, IN_A.label("x"), False, id="another label changes"),
    ],
)
def test_nodes_that_come_change_or_go(old: NodeBuilder | None, new: NodeBuilder | None, helps: bool) -> None:
    before, after = (None if version is None else version.build() for version in (old, new))
    assert constraints.is_schedulable_after_node_change([constraint()], before, after) is helps


def test_a_node_counts_only_with_the_keys_of_all_constraints() -> None:
    both = [constraint(ZONE), constraint(RACK)]
    assert constraints.is_schedulable_after_node_change(both, None, IN_A.build()) is False
    assert constraints.is_schedulable_after_node_change(both, None, IN_A.label(RACK, "1").build()) is True
