"""GangScheduling: Kubernetes' own groups, where the feature gate is on."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config.feature_gates import DEFAULT_GATES, parse
from stowplan.framework.contract import Wait
from stowplan.framework.pod_groups import GroupProgress, NotYet
from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod_group import (
    CompositeGangPolicy,
    CompositePodGroup,
    CompositePodGroupSpec,
    CompositeSchedulingPolicy,
)
from stowplan.plugins.gangscheduling import GangScheduling
from stowplan.testing import LocalHandle
from tests.integration.gang_world import GANGS_ON, group, members, on_node, own_group, own_members

TREES_ON = parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true")


def plugin(*objects: Any, gates: Any = GANGS_ON) -> GangScheduling:
    handle = LocalHandle(*objects)
    handle.feature_gates = gates
    return GangScheduling(handle)


def tree(name: str, needed: int, parent: str = "") -> CompositePodGroup:
    policy = CompositeSchedulingPolicy(gang=CompositeGangPolicy(min_group_count=needed))
    spec = CompositePodGroupSpec(scheduling_policy=policy, parent_composite_pod_group_name=parent)
    return CompositePodGroup(metadata=NamespacedMeta(name=name), spec=spec)


def ladder(names: str, above: str = "") -> list[CompositePodGroup]:
    """Make a group of groups for each letter, each a part of the next; the last is a part of `above`."""
    return [tree(name, 1, parent) for name, parent in zip(names, (*names[1:], above), strict=True)]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([], 'waiting for pods\'s pod group "train" to appear in scheduling queue', id="no group"),
        pytest.param(
            [own_group("train", 3), *own_members("train", 2)],
            "waiting for minCount pods from a gang to appear in scheduling queue",
            id="too few pods",
        ),
        pytest.param([own_group("train", 2), *own_members("train", 2)], "", id="complete"),
        pytest.param([own_group("train", None)], "", id="a basic policy waits for nobody"),
    ],
)
def test_a_pod_waits_until_its_gang_is_there(objects: list[Any], expected: str) -> None:
    said = plugin(*objects).pre_enqueue(own_members("train", 1)[0])
    assert (said.reasons[0] if said is not None else "") == expected


def test_without_the_feature_gate_a_group_means_nothing() -> None:
    switched_off = plugin(own_group("train", 2), gates=DEFAULT_GATES)
    assert switched_off.pre_enqueue(own_members("train", 1)[0]) is None
    assert switched_off.permit(own_members("train", 1)[0], "n0") is None


def test_the_label_of_the_other_flavour_means_nothing() -> None:
    assert plugin(group("train", 2)).pre_enqueue(members("train", 1)[0]) is None


@pytest.mark.parametrize(
    ("needed", "progress", "expected"),
    [
        pytest.param(3, GroupProgress(3, 0), None, id="enough"),
        pytest.param(
            3, GroupProgress(1, 2), NotYet("minCount (3) is not yet satisfied: 1 scheduled, 2 remaining"), id="not yet"
        ),
        pytest.param(
            3,
            GroupProgress(1, 1),
            Rejection(("minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",), Code.UNSCHEDULABLE),
            id="never",
        ),
        pytest.param(None, GroupProgress(1, 0), None, id="one is enough for a basic policy"),
        pytest.param(
            None,
            GroupProgress(0, 0),
            Rejection(("minCount (1) cannot be satisfied: 0 scheduled, 0 remaining",), Code.UNSCHEDULABLE),
            id="but one is needed",
        ),
    ],
)
def test_a_group_needs_as_many_as_its_policy_says(needed: int | None, progress: GroupProgress, expected: Any) -> None:
    assert plugin().placement_feasible(own_group("train", needed), progress) == expected


def test_a_pod_is_held_five_minutes_at_most_while_too_few_have_a_node() -> None:
    first, second = own_members("train", 2)
    held = plugin(own_group("train", 2), on_node(first, "n0"), second)
    assert held.permit(first, "n0") == Wait(300.0)


def test_the_last_pod_lets_the_others_go() -> None:
    first, second = own_members("train", 2)
    handle = LocalHandle(own_group("train", 2), on_node(first, "n0"), on_node(second, "n1"))
    handle.feature_gates = GANGS_ON
    waiting = WaitingPod(first, "n0", {"GangScheduling": 300.0})
    handle.waiting_pods.add(waiting)
    assert GangScheduling(handle).permit(second, "n1") is None
    assert waiting.is_decided


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(own_group("train", 3), own_group("train", 2), True, id="fewer are needed"),
        pytest.param(own_group("train", 2), own_group("train", 3), False, id="more are needed"),
        pytest.param(own_group("other", 3), own_group("other", 2), False, id="another group"),
        pytest.param(own_group("train", None), own_group("train", 2), False, id="no gang before"),
    ],
)
def test_a_changed_group_helps_if_it_needs_fewer(old: Any, new: Any, helps: bool) -> None:
    awaited = [one for one in plugin().events() if one.resource == "PodGroup" and one.hint is not None]
    pod = own_members("train", 1)[0]
    assert [bool(one.hint and one.hint(pod, old, new)) for one in awaited][1] is helps


def test_a_new_pod_of_the_group_helps_and_another_does_not() -> None:
    hint = plugin().events()[0].hint
    pod, other = own_members("train", 2)
    assert hint is not None
    assert hint(pod, None, other)
    assert not hint(pod, None, own_members("other", 1)[0])


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [],
            "failed to build hierarchy snapshot: composite pod group object not found in state for "
            "compositepodgroup/default/job",
            id="the group above is not there",
        ),
        pytest.param([tree("job", 2)], 'waiting for composite pod group "job" tree to meet quorum', id="too few"),
        pytest.param([tree("job", 1)], "", id="enough groups"),
    ],
)
def test_a_pod_of_a_tree_waits_until_enough_groups_are_complete(objects: list[Any], expected: str) -> None:
    found = plugin(own_group("train", 1, parent="job"), *own_members("train", 1), *objects, gates=TREES_ON)
    said = found.pre_enqueue(own_members("train", 1)[0])
    assert (said.reasons[0] if said is not None else "") == expected


_MISSING = "failed to build hierarchy snapshot: composite pod group object not found in state for compositepodgroup"
_CIRCLE = "failed to build hierarchy snapshot: cycle detected in composite pod group hierarchy: compositepodgroup"


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        pytest.param(ladder("abc"), "", id="four levels"),
        pytest.param(ladder("abcd"), "", id="five levels, which upstream lets in, too"),
        pytest.param(ladder("abcde"), f"{_MISSING}/default/a", id="six levels are too many"),
        pytest.param(ladder("ab", above="c"), f"{_MISSING}/default/c", id="the one that is missing is named"),
        pytest.param(ladder("a", above="a"), f"{_CIRCLE}/default/a", id="a group that is its own part"),
        pytest.param(ladder("ab", above="a"), f"{_CIRCLE}/default/b", id="a circle of two"),
        pytest.param(ladder("abcd", above="c"), f"{_CIRCLE}/default/d", id="a circle further up"),
        pytest.param(ladder("abcdef", above="e"), f"{_MISSING}/default/a", id="a circle that is too far up to be seen"),
    ],
)
def test_a_tree_is_no_deeper_than_upstream_allows(above: list[Any], expected: str) -> None:
    pod = own_members("train", 1)[0]
    found = plugin(own_group("train", 1, parent="a"), pod, *above, gates=TREES_ON)
    said = found.pre_enqueue(pod)
    assert (said.reasons[0] if said is not None else "") == expected
    held = found.permit(pod, "n0")
    if expected:
        assert held == Rejection((expected,), Code.ERROR)
    else:
        assert isinstance(held, Wait)
