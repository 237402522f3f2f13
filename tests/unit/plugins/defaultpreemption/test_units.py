"""Who is evicted as one: how far up a tree of groups counts, and how far down."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.cache.cache import Cache
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod_group import CompositePodGroup, CompositePodGroupSpec, DisruptionMode, WholeDisruption
from stowplan.plugins.defaultpreemption.units import Units
from stowplan.testing import make_node
from tests.integration.gang_world import on_node, own_group, own_members


def ladder(names: str, above: str = "", whole: str = "") -> list[CompositePodGroup]:
    """Make a group of groups for each letter, each a part of the next; those in `whole` go as a whole.

    The priority of a group is its number, from 1.
    """
    return [
        CompositePodGroup(
            metadata=NamespacedMeta(name=name),
            spec=CompositePodGroupSpec(
                parent_composite_pod_group_name=parent,
                priority=number,
                disruption_mode=DisruptionMode(all=WholeDisruption()) if name in whole else None,
            ),
        )
        for number, (name, parent) in enumerate(zip(names, (*names[1:], above), strict=True), 1)
    ]


@pytest.mark.parametrize(
    ("above", "together", "priority"),
    [
        pytest.param(ladder("abc", whole="c"), 2, 3, id="the third group above counts"),
        pytest.param(ladder("abcd", whole="d"), 1, 3, id="the fourth does not"),
        pytest.param(ladder("ab", above="a", whole="b"), 2, 2, id="a circle of groups ends somewhere"),
        pytest.param(ladder("a", above="a", whole="a"), 2, 1, id="a pod counts once in the smallest circle"),
    ],
)
def test_units_reach_as_far_as_a_tree_is_deep(above: list[Any], together: int, priority: int) -> None:
    pods = [on_node(pod, "n0") for pod in own_members("train", 2)]
    cache = Cache()
    cache.add_node(make_node("n0").build())
    for group in (own_group("train", 1, parent="a"), *above):
        cache.groups.put(group)
    for pod in pods:
        cache.add_pod(pod)
    units = Units(cache, cache.groups, has_trees=True).of(cache.pods())
    assert [(len(unit.pods), unit.priority) for unit in units] == [(together, priority)] * (2 // together)
