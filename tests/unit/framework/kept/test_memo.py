"""Kept answers: found by signature, dropped with the layout, bounded by memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import Score
from stowplan.framework.kept import memo as memo_module
from stowplan.framework.kept.memo import Kept, Memo
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import PodBuilder, make_node, make_pod
from tests.unit.framework.stand import Stand, nodes

WEB = make_pod("web").requests(cpu="1")


class Quiet(Score):
    def sign(self, pod: Pod) -> str:
        return pod.status.phase

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)


def find(stand: Stand, builder: PodBuilder) -> Kept:
    pod = builder.build()
    return stand.field.memo.find(stand.profile, pod, stand.cache.table.shape_of(pod))


def keep(stand: Stand, builder: PodBuilder) -> Kept:
    """Find the answer twice: what comes again is kept."""
    find(stand, builder)
    return find(stand, builder)


def glimpse_others(stand: Stand) -> None:
    """Find answers for so many others that those seen once before are gone."""
    for number in range(memo_module.MOST_FAMILIES):
        find(stand, WEB.priority(number + 1))


def test_alike_pods_find_the_same_answer() -> None:
    stand = Stand(nodes("a"), Quiet())
    kept = find(stand, WEB)
    assert find(stand, WEB.name("other")) is kept


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(WEB.requests(cpu="2"), id="another shape"),
        pytest.param(WEB.on("a"), id="a node of its own"),
        pytest.param(WEB.annotation("note", "x"), id="annotations that a foreign plugin may read"),
        pytest.param(WEB.phase("Running"), id="what a foreign plugin signs"),
        pytest.param(WEB.gate("wait"), id="a part of the spec that only foreign plugins read"),
    ],
)
def test_other_pods_find_another(other: PodBuilder) -> None:
    stand = Stand(nodes("a"), Quiet())
    kept = keep(stand, WEB)
    assert find(stand, other) is not kept
    assert find(stand, WEB) is kept


def test_an_in_tree_plugin_may_tell_pods_apart() -> None:
    stand = Stand(nodes("a"), Quiet())
    stand.profile = replace(stand.profile, foreign=(), signing=(Quiet(),))
    kept = keep(stand, WEB)
    assert find(stand, WEB.annotation("note", "x")) is kept
    assert find(stand, WEB.phase("Running")) is not kept


def test_a_signature_is_kept_from_its_second_pod_on() -> None:
    stand = Stand(nodes("a"), Quiet())
    first = find(stand, WEB)
    glimpse_others(stand)
    second = find(stand, WEB)
    assert second is not first
    glimpse_others(stand)
    assert find(stand, WEB) is second


def test_what_differs_in_requests_alone_takes_over_an_answer() -> None:
    stand = Stand(nodes("a"))
    assert find(stand, WEB.requests(cpu="2")) is find(stand, WEB)
    assert find(stand, WEB.requests(cpu="3").priority(1)) is not find(stand, WEB)


def test_what_comes_again_keeps_the_answer_that_it_took_over() -> None:
    stand = Stand(nodes("a"))
    find(stand, WEB)
    of_two = keep(stand, WEB.requests(cpu="2"))
    assert find(stand, WEB.requests(cpu="3")) is not of_two
    assert find(stand, WEB.requests(cpu="2")) is of_two


def test_annotations_do_not_matter_where_all_plugins_are_in_tree() -> None:
    stand = Stand(nodes("a"))
    assert find(stand, WEB.annotation("note", "x")) is find(stand, WEB)


def test_an_answer_outlives_nodes_that_change_come_and_go() -> None:
    stand = Stand(nodes("a"), Quiet())
    kept = find(stand, WEB)
    stand.cache.add_node(make_node("a").label("disk", "ssd").build())
    stand.cache.add_node(make_node("b").build())
    stand.cache.remove_node("a")
    assert find(stand, WEB) is kept


def test_what_is_forgotten_is_not_found_again() -> None:
    stand = Stand(nodes("a"), Quiet())
    kept, pod = find(stand, WEB), WEB.build()
    stand.field.memo.forget(stand.profile, pod, stand.cache.table.shape_of(pod))
    assert find(stand, WEB) is not kept


def test_a_memo_that_is_off_keeps_nothing() -> None:
    stand = Stand(nodes("a"), Quiet(), keep_answers=False)
    assert find(stand, WEB) is not find(stand, WEB)
    assert isinstance(stand.field.memo, Memo)


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        # One node, five cells for a profile with one score.
        pytest.param("KEPT_CELLS", 15, id="room for three in memory"),
        pytest.param("MOST_KEPT", 3, id="no more than three, however few nodes there are"),
    ],
)
def test_the_least_recently_used_go_first(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    stand = Stand(nodes("a"), Quiet())
    monkeypatch.setattr(memo_module, bound, value)
    first, second, third = (keep(stand, WEB.priority(number)) for number in range(3))
    assert find(stand, WEB.priority(0)) is first
    keep(stand, WEB.priority(3))
    assert find(stand, WEB.priority(0)) is first
    assert find(stand, WEB.priority(2)) is third
    assert find(stand, WEB.priority(1)) is not second
